"""The overview: every ledger, run and reward."""

from collections.abc import Sequence
from datetime import UTC, datetime

from plaudit import __version__
from plaudit.page.documents.values import Document, format_time, to_plain
from plaudit.page.sources import LedgerSource, Listing, RewardIds, Source

FORMAT = 1


def build_index(sources: Sequence[Source], rewards: RewardIds, *, live: bool) -> Document:
    """Return every ledger with its runs, and every reward."""
    return {
        "format": FORMAT,
        "title": ", ".join(source.name for source in sources),
        "made": format_time(datetime.now(UTC).replace(microsecond=0)),
        "plaudit": __version__,
        "live": live,
        "sources": [_describe_source(source, rewards) for source in sources],
        "embedded": None,
    }


def _describe_source(source: Source, rewards: RewardIds) -> Document:
    about: Document = {"id": source.id, "kind": source.kind, "name": source.name}
    if not isinstance(source, LedgerSource):
        return about | {"rewards": [_describe_reward(source.reward_id, rewards)]}
    known = source.list_rewards().values()
    return about | {
        "records": sum(map(source.count_records, source.runs)),
        "runs": [_describe_run(source, run, listing) for run, listing in source.runs.items()],
        "rewards": [_describe_reward(each, rewards) for each in dict.fromkeys(known)],
    }


def _describe_run(source: LedgerSource, run: str | None, listing: Listing) -> Document:
    records = source.count_records(run)
    returns = [each.total for each in listing.finished]
    shown = {"mean": sum(returns) / len(returns), "min": min(returns), "max": max(returns)} if returns else None
    return {
        "run": run,
        "episodes": len(listing),
        "unfinished": listing.unfinished,
        "steps": listing.steps if len(listing) else records,
        "records": records,
        "masked": source.records[run].masked,
        "return": to_plain(shown),
        "first": format_time(min(each.began for each in listing.episodes)) if len(listing) else None,
        "last": format_time(max(each.latest for each in listing.episodes)) if len(listing) else None,
        "rewards": list(dict.fromkeys(map(source.find_reward_id, listing.episodes))),
    }


def _describe_reward(reward: str, rewards: RewardIds) -> Document:
    found = rewards[reward]
    return {"id": reward, "name": found.name, "version": found.version, "fingerprint": found.fingerprint}
