"""Recorded steps as other rewards would have paid them, in batches; nothing is written."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.ledger.history import History
from plaudit.ledger.query import Query
from plaudit.ledger.record import Page
from plaudit.ledger.rescore.replay import LedgerReplay, needs_replay
from plaudit.ledger.rescore.translation import (
    NO_TERMINAL_TERM,
    Carried,
    Translation,
    carry_states,
    find_translation,
    join_known,
)
from plaudit.ledger.storage.codec import RecordLayout, Rows
from plaudit.ledger.storage.store import Store
from plaudit.ledger.summary.returns import Classes, Numbers, join_classes, read_steps
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal

_BATCH = 32_768
"""Records to score together."""


class RewardScores(NamedTuple):
    """What one reward makes of a batch."""

    total: Numbers
    """NaN where it cannot score a row, or the row lacks an input that it reads there."""
    values: Mapping[str, Numbers]
    """What each term adds to the total, then what the gate, the clamp and overrides do to it."""
    explain: Callable[[int], Signal | None]
    """Returns the signal of a row that it can score; None where it pays nothing, at the end of an episode."""


@dataclass(frozen=True, slots=True)
class ScoredBatch:
    """Steps, scored by several rewards."""

    numbers: NDArray[np.int64]
    """The number of each record, or of each row of a file from 0 on."""
    episodes: Classes | None
    """The run, actor and episode of each step; None where nothing says it."""
    steps: Numbers | None
    decision_class: Classes
    scores: tuple[RewardScores, ...]
    """In the order in which the rewards were given."""


def score_history(store: Store, rewards: Sequence[Reward], query: Query) -> Iterator[ScoredBatch]:
    """Yield recorded steps as each of `rewards` scores them in float64, those that have every input of all of them.

    At the end of an episode, a reward without terminal terms pays nothing.
    """
    sources = [source for source, _ in History(store, query).counts()]
    layouts = [store.specs.get_layout(reward) for reward in rewards]
    replayed = [needs_replay(reward, sources) for reward in rewards]
    replays = [LedgerReplay(reward) if again else None for reward, again in zip(rewards, replayed, strict=True)]
    ways: dict[RecordLayout, list[Translation | tuple[str, ...]]] = {}  # each is compiled once, not for every batch
    for pages in History(store, query).read_batches(_BATCH):
        carried = [carry_states(store.specs, *each, pages) for each in zip(layouts, replays, strict=True)]
        groups: dict[tuple[RecordLayout, str], list[Page]] = {}
        for page in pages:
            groups.setdefault((page.layout, page.row.target), []).append(page)
        for (source, target), group in groups.items():
            if source not in ways:
                ways[source] = [
                    find_translation(store.specs, source, layout, replayed=again)
                    for layout, again in zip(layouts, replayed, strict=True)
                ]
            found = ways[source]
            if not all(isinstance(each, Translation) or each == NO_TERMINAL_TERM for each in found):
                continue
            if not any(isinstance(each, Translation) for each in found):
                continue
            with group[0].report_damage():
                positions = [page.positions() for page in group]
                rows = np.concatenate([p.inputs[at] for p, at in zip(group, positions, strict=True)])
                scores = tuple(
                    _score(way, rows, target, states, group) for way, states in zip(found, carried, strict=True)
                )
                batch = ScoredBatch(*_read_context(group, positions), scores)
            yield batch


def _score(
    way: Translation | tuple[str, ...], rows: Rows, target: str, carried: Carried | None, pages: Sequence[Page]
) -> RewardScores:
    if not isinstance(way, Translation):
        return RewardScores(np.zeros(len(rows)), {}, lambda row: None)
    computation = way.find_computation(target, as_recorded=False)
    inputs, outputs = way.score(rows, computation, join_known(way, carried, pages))
    layout = way.layout
    return RewardScores(
        outputs[:, 0],
        {name: outputs[:, at] for name, at in zip(layout.frame.terms, layout.frame.values, strict=True)},
        lambda row: layout.build_signal(inputs[row].tolist(), outputs[row].tolist()),
    )


def _read_context(
    pages: Sequence[Page], positions: Sequence[NDArray[np.intp]]
) -> tuple[NDArray[np.int64], Classes, Numbers, Classes]:
    """Return the numbers, episodes, steps and decision classes of the records of some pages."""
    parts = [read_steps(page.row, page.chosen) for page in pages]
    classes = [
        Classes([page.row.decision_class], np.zeros(len(at), np.intp))
        for page, at in zip(pages, positions, strict=True)
    ]
    numbers = np.concatenate([page.row.first + at for page, at in zip(pages, positions, strict=True)])
    return (
        numbers,
        join_classes([episodes for episodes, _ in parts]),
        np.concatenate([steps for _, steps in parts]),
        join_classes(classes),
    )
