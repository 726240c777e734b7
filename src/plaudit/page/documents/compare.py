"""Two rewards on the same history, and the distances between many."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from plaudit.analysis.compare.compare import compare
from plaudit.analysis.compare.comparison import TITLES, Comparison
from plaudit.analysis.diff.definitions import DefinitionChanges, compare_definitions
from plaudit.analysis.diff.effect import Effect, StepChange
from plaudit.errors import PlauditError
from plaudit.ledger.rescore.scored import ScoredBatch
from plaudit.ledger.summary.episodes import find_unfinished
from plaudit.ledger.summary.ranks import Reservoir
from plaudit.page.addresses import format_address
from plaudit.page.documents.columns import drop_masked, score_episode, score_run
from plaudit.page.documents.steps import choose_evenly
from plaudit.page.documents.values import Document, to_column, to_plain
from plaudit.page.sources import LedgerSource, Listing
from plaudit.reward.reward import Reward

MOST_STEPS = 300_000
"""Steps of a run that both rewards score; of a longer run, episodes spread over it."""
MOST_EPISODES = 100
MOST_POINTS = 4000
"""Points of a scatter."""
SAMPLES = 20_000
"""Steps that a distance is measured on: the page is waiting."""
SEED = 0


def build_comparison(source: LedgerSource, name: str, ids: Sequence[str], rewards: Sequence[Reward]) -> Document:
    """Return the differences between two rewards, and their effect on the steps of a run."""
    run, listing = source.find_run(name)
    definition = compare_definitions(*rewards)
    effect, sample = Effect(definition.renamed, source.name), Reservoir(MOST_POINTS, seed=SEED)
    effect.changes.episodes.unfinished = find_unfinished(listing.episodes)
    shown = masked = 0
    for every in _score(source, run, listing, rewards):
        batch = drop_masked(every)
        effect.add(batch)
        old, new = (scores.total for scores in batch.scores)
        both = ~(np.isnan(old) | np.isnan(new))
        sample.add(old[both], new[both])
        shown += len(batch.numbers)
        masked += len(every.numbers) - len(batch.numbers)
    remarks = list(effect.remarks) if shown else _explain_nothing(source, run, rewards)
    returns, changes = effect.changes.episodes, effect.changes
    x, y = sample.pairs
    return {
        "a": ids[0],
        "b": ids[1],
        "run": run,
        "source": source.id,
        "definitions": list(_list_changes(definition)),
        "scatter": {"x": to_column(x), "y": to_column(y), "shown": len(x), "of": shown},
        "scored": {"steps": shown, "of": source.count_records(run), "masked": masked},
        "steps": {"pearson": _correlate(x, y), "spearman": to_plain(changes.rank_correlation)},
        "returns": {
            "x": to_column(returns.old),
            "y": to_column(returns.new),
            "ids": [listing.name(listing.locate(*key[1:])) for key in returns.keys],
            "spearman": to_plain(returns.rank_correlation),
            "unfinished": listing.unfinished,
            "broken": len(returns.broken),
        },
        "flips": {
            "share": changes.flipped / changes.records if changes.records else 0.0,
            "count": changes.flipped,
            "of": changes.records,
        },
        "ranks": [
            {
                "episode": listing.name(listing.locate(*each.episode[1:])),
                "before": each.rank_before,
                "after": each.rank_after,
            }
            for each in effect.moved[:100]
        ],
        "largest": [_describe_step(source, run, listing, step) for step in effect.steps],
        "remarks": remarks,
        **_measure_distances(rewards),
    }


def _score(source: LedgerSource, run: str | None, listing: Listing, rewards: Sequence[Reward]) -> Iterator[ScoredBatch]:
    """Yield the steps of a run as both rewards score them; of a long one, those of episodes spread over it."""
    if source.count_records(run) <= MOST_STEPS:
        yield from score_run(source.ledger, run, rewards)
        return
    for at in choose_evenly(listing, MOST_EPISODES, MOST_STEPS):
        yield from score_episode(source.ledger, listing.episodes[at], rewards)


def _explain_nothing(source: LedgerSource, run: str | None, rewards: Sequence[Reward]) -> list[str]:
    """Return why no step of a run can be scored by both rewards."""
    chosen: dict[str, Any] = {} if run is None else {"run": run}
    plans = [source.ledger.plan_rescore(reward, **chosen) for reward in rewards]
    lacking = dict.fromkeys(str(each) for plan in plans for each in plan.lacking)
    return [f"No step of this run can be scored by both rewards: {each}." for each in lacking]


def _correlate(x: Any, y: Any) -> float | None:
    """Return Pearson's correlation of a sample; None where one side does not vary."""
    if len(x) < 2 or x.std() == 0 or y.std() == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _list_changes(definition: DefinitionChanges) -> Iterator[Document]:
    for each in definition.functions:
        yield {"kind": each.kind, "name": each.name, "what": each.what, "before": each.before, "after": each.after}
    for kind, values in (("number", definition.numbers), ("field", definition.inputs), ("declared", definition.steps)):
        for value in values:
            yield {
                "kind": kind,
                "name": value.name,
                "what": "changed",
                "before": to_plain(value.before),
                "after": to_plain(value.after),
            }


def _describe_step(source: LedgerSource, run: str | None, listing: Listing, step: StepChange) -> Document:
    _, actor, name = step.episode or (None, None, None)
    episode = listing.name(listing.locate(actor, name, step.number))
    address = None
    if episode is not None:
        address = format_address("step", source.id, run, episode, f"record-{step.number}")
    return {
        "record": step.number,
        "address": address,
        "episode": episode,
        "step": step.step,
        "before": to_plain(step.totals[0]),
        "after": to_plain(step.totals[1]),
        "why_before": "" if step.before is None else step.before.explain(),
        "why_after": "" if step.after is None else step.after.explain(),
    }


@lru_cache(maxsize=64)
def _compare(*rewards: Reward) -> Comparison:
    """Return the distances between rewards: the same for every run and page, and a third of the time of a report."""
    return compare(*rewards, samples=SAMPLES, means=64, fields="all", seed=SEED)


def _measure_distances(rewards: Sequence[Reward]) -> Document:
    """Return every distance between two rewards over their declared fields, with the sample that was used."""
    try:
        found = _compare(*rewards)
    except PlauditError as error:
        return {"distances": [], "distances_note": str(error)}
    measured = [
        {"measure": TITLES[name], **{part: _to_number(getattr(found[name], part)) for part in ("value", "low", "high")}}
        for name in found.measures
    ]
    left = [f"{TITLES.get(name, name)}: {why}" for name, why in found.left_out.items()]
    text = f"On {found.coverage.text}."
    return {
        "distances": [{**each, "note": text} for each in measured],
        "distances_note": " ".join(
            [text, *found.remarks, *(["Not measured: " + "; ".join(left) + "."] if left else [])]
        ),
    }


def _to_number(value: float) -> float | None:
    return None if value != value else to_plain(value)


def build_matrix(rewards: Sequence[Reward]) -> Document:
    """Return the EPIC distances between all pairs of rewards; of several names, those with the most versions."""
    by_name: dict[str, list[Reward]] = {}
    for reward in rewards:
        by_name.setdefault(reward.name, []).append(reward)
    alike = max(by_name.values(), key=len, default=[])
    names = [f"{reward.name}@{reward.version}" for reward in alike]
    empty: Document = {"names": names, "measure": TITLES["epic"], "values": [], "low": [], "high": []}
    if len(alike) < 2:
        return empty | {"note": "This page has only one version of each reward; add another to compare."}
    try:
        found = _compare(*alike)
    except PlauditError as error:
        return empty | {"note": str(error)}
    measured = found.measures["epic"]
    tables = {
        part: [[_to_number(float(cell)) for cell in row] for row in getattr(measured, name)]
        for part, name in (("values", "value"), ("low", "low"), ("high", "high"))
    }
    return empty | tables | {"note": " ".join([f"On {found.coverage.text}.", *found.remarks])}
