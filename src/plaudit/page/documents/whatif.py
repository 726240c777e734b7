"""What if a knob had another value: episodes to rescore in the browser, and a whole run rescored by the server."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from plaudit.ledger.summary.episodes import Episode, find_unfinished
from plaudit.ledger.summary.returns import EpisodeReturns
from plaudit.page.addresses import UnknownDocument, format_address
from plaudit.page.documents.columns import drop_masked, score_run
from plaudit.page.documents.episodes import rank_episodes
from plaudit.page.documents.values import Document, to_plain
from plaudit.page.sources import LedgerSource, Listing, RewardIds

MOST_STEPS = 50_000
"""Steps that a browser rescores while a slider is dragged."""
MOST_RANKED = 200
"""Episodes of a ranking that are sent: those that move farthest."""


def build_whatif(source: LedgerSource, name: str, *, live: bool, embedded: Collection[int] | None = None) -> Document:
    """Return the finished episodes of a run to rescore in the browser; in a report, the `embedded` ones."""
    run, listing = source.find_run(name)
    if not len(listing):
        raise UnknownDocument(f"the run {name[:60]!r} of {source.name} has no episodes to rescore.")
    reward = source.find_reward_id(listing.episodes[-1])
    paid = [at for at, each in enumerate(listing.episodes) if source.find_reward_id(each) == reward and each.finished]
    allowed = set(paid) if embedded is None else set(paid).intersection(embedded)
    chosen = _choose_within(listing, allowed, MOST_STEPS)
    return {
        "run": run,
        "source": source.id,
        "reward": reward,
        "episodes": [
            {"episode": listing.ids[at], "address": format_address("episode", source.id, run, listing.ids[at])}
            for at in chosen
        ],
        "shown": len(chosen),
        "of": len(paid),
        "unfinished": listing.unfinished,
        "steps": sum(listing.episodes[at].length for at in chosen),
        "of_steps": sum(listing.episodes[at].length for at in paid),
        "whole": live,
        "note": None if paid else "No finished episodes yet. Only finished episodes have a return.",
    }


def _choose_within(listing: Listing, allowed: set[int], steps: int) -> list[int]:
    """Return the positions of the most useful episodes with at most `steps` steps in total; at least one."""
    chosen: list[int] = []
    for at in rank_episodes(listing):
        if at in allowed and (not chosen or listing.episodes[at].length <= steps):
            chosen.append(at)
            steps -= listing.episodes[at].length
    return sorted(chosen)


def rescore_run(
    source: LedgerSource,
    rewards: RewardIds,
    name: str,
    settings: Mapping[str, Any],
    go_on: Callable[[], None] = lambda: None,
) -> Document:
    """Rescore a whole run with other knobs, weights and clamps; nothing is written.

    `go_on` is called repeatedly meanwhile; an exception from it stops the work.

    Raises:
        UnknownParameter: The reward of the run has no such knob.
        DefinitionError: A knob cannot have such a value.
    """
    run, listing = source.find_run(name)
    if not len(listing):
        raise UnknownDocument(f"the run {name[:60]!r} of {source.name} has no episodes to rescore.")
    last = listing.episodes[-1]
    before = rewards[source.find_reward_id(last)]
    after = before.with_params(settings)
    returns, sums, steps, masked, refused = EpisodeReturns(), np.zeros((2, len(before.program.terms))), 0, 0, 0
    returns.unfinished = find_unfinished(listing.episodes)
    for every in score_run(source.ledger, run, (before, after), reward=last.reward, version=last.version):
        go_on()
        batch = drop_masked(every)
        old, new = batch.scores
        kept = ~(np.isnan(old.total) | np.isnan(new.total))
        steps += len(every.numbers)
        masked += len(every.numbers) - len(kept)
        refused += int(np.count_nonzero(~kept))
        for side, scores in enumerate((old, new)):
            for at, term in enumerate(before.program.terms):
                if term in scores.values:  # the end of an episode, recorded on its own, has only terminal terms
                    sums[side, at] += scores.values[term].sum(where=kept)
        if batch.episodes is not None:
            returns.add(batch.episodes, old.total, new.total)
    return {
        "steps": steps,
        "masked": masked,
        "refused": refused,
        "broken": len(returns.broken),
        "unfinished": listing.unfinished,
        "return": {"before": _mean(returns.old), "after": _mean(returns.new)},
        "ranking": _rank(returns, listing, last),
        "rank_correlation": returns.rank_correlation,
        "terms": {
            term: {"before": to_plain(sums[0, at]), "after": to_plain(sums[1, at])}
            for at, term in enumerate(before.program.terms)
        },
    }


def _mean(returns: np.ndarray) -> Any:
    return to_plain(returns.mean()) if len(returns) else None


def _rank(returns: EpisodeReturns, listing: Listing, last: Episode) -> list[Document]:
    """Return the episodes that change rank, those that move farthest first."""
    before, after = returns.ranks
    far = np.argsort(-np.abs(after - before), kind="stable")[:MOST_RANKED]
    keys = returns.keys
    ids = {
        (each.actor, each.episode): listing.ids[at]
        for at, each in enumerate(listing.episodes)
        if (each.reward, each.version) == (last.reward, last.version)
    }
    return [
        {
            "episode": ids.get(keys[at][1:]),
            "before": to_plain(returns.old[at]),
            "after": to_plain(returns.new[at]),
            "rank_before": float(before[at]),
            "rank_after": float(after[at]),
        }
        for at in far.tolist()
    ]
