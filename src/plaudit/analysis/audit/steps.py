"""Recorded steps in batches of columns, those of an episode side by side, as the detectors of an audit take them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.audit.episodes import EpisodeTable
from plaudit.language import nodes as n
from plaudit.language.program import Program, find_reachable
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.record import Page
from plaudit.ledger.storage.codec import RecordLayout, Rows
from plaudit.ledger.storage.texts import FEATURES
from plaudit.ledger.summary.returns import read_episodes, read_original_rewards
from plaudit.targets.numpy import NumpyReward

BATCH = 32_768
"""Records to look at together."""
_ROLLOUT = f'"{FEATURES}":"text:'
"""How the context of a rollout names its features."""

Numbers = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True)
class StepBatch:
    """Steps of one reward; those of an episode follow one another, in the order in which they were recorded."""

    layout: RecordLayout
    numbers: NDArray[np.int64]
    """The numbers of the records."""
    episodes: Positions
    """Which row of the `EpisodeTable` each step belongs to; -1 where it belongs to no episode."""
    inputs: Rows
    outputs: Rows
    original: Numbers | None
    """What the environment itself paid; None if it was not recorded."""
    names_texts: bool = False
    """Whether some of them are rollouts of language models, whose contexts name texts."""

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def columns(self) -> Mapping[str, NDArray[np.generic]]:
        """The inputs by name: numbers, flags, and the positions of categories."""
        return self.layout.split_columns(self.inputs)

    @cached_property
    def totals(self) -> Numbers:
        """What each step was paid."""
        return np.ascontiguousarray(self.outputs[:, 0])

    @cached_property
    def values(self) -> Rows:
        """What each term, then each adjustment, added: a row for each, its steps side by side."""
        return np.ascontiguousarray(self.outputs[:, 2::2].T)

    @cached_property
    def scores(self) -> Rows:
        """The score of each term before clamp and weight, likewise."""
        return np.ascontiguousarray(self.outputs[:, 1::2].T)

    @cached_property
    def starts(self) -> Positions:
        """Where in the batch each of its episodes begins."""
        return np.concatenate([[0], np.flatnonzero(self.episodes[1:] != self.episodes[:-1]) + 1])


def read_batches(
    ledger: Ledger,
    layouts: Sequence[RecordLayout],
    table: EpisodeTable,
    query: Mapping[str, Any],
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[StepBatch]:
    """Yield the steps of some rewards that are there now; what is recorded meanwhile is left for another time."""
    labels = dict.fromkeys((each.reward.name, each.reward.version) for each in layouts)
    histories = [ledger.history(**{**query, "reward": name, "version": version}) for name, version in labels]
    ends = [history.find_last() for history in histories]
    total = sum(history.count() for history in histories) if progress is not None else 0
    done = 0
    for history, end in zip(histories, ends, strict=True):
        for pages in history.read_batches(BATCH):
            last = next((at for at, page in enumerate(pages) if page.holds(end)), None)
            wanted = [page for page in pages[: None if last is None else last + 1] if page.layout in layouts]
            for layout in dict.fromkeys(page.layout for page in wanted):
                batch = _build_batch([page for page in wanted if page.layout is layout], table)
                if len(batch):
                    yield batch
            done += sum(page.row.records for page in pages)
            if progress is not None:
                progress(min(done, total), total)
            if last is not None:
                break


def _build_batch(pages: Sequence[Page], table: EpisodeTable) -> StepBatch:
    """Return pages of one reward as a batch, without masked steps; LedgerBroken where one is damaged."""
    layout = pages[0].layout
    label = (layout.reward.name, layout.reward.version)
    with pages[0].report_damage():
        episodes = np.concatenate([_find_episodes(page, label, table) for page in pages])
        numbers = np.concatenate([page.row.first + page.positions() for page in pages])
        sides = [np.concatenate([_take(page, getattr(page, side)) for page in pages]) for side in ("inputs", "outputs")]
        original = _join_original([read_original_rewards(page.row, page.chosen) for page in pages])
        names_texts = any(_ROLLOUT in (page.row.contexts or "") for page in pages)
    scored = ~np.isnan(sides[1][:, 0])
    if not scored.all():
        episodes, numbers, sides = episodes[scored], numbers[scored], [side[scored] for side in sides]
        original = None if original is None else original[scored]
    if len(episodes) and not _lie_together(episodes):
        near = episodes - episodes.min()
        order = np.argsort(
            near.astype(np.uint16) if near.max() < 1 << 16 else near, kind="stable"
        )  # few are soon sorted
        episodes, numbers = episodes[order], numbers[order]
        sides = [side[order] for side in sides]
        original = None if original is None else original[order]
    return StepBatch(layout, numbers, episodes, sides[0], sides[1], original, names_texts)


def _take(page: Page, rows: Rows) -> Rows:
    return rows if page.chosen is None else rows[page.chosen]


def _find_episodes(page: Page, label: tuple[str, str], table: EpisodeTable) -> Positions:
    classes = read_episodes(page.row, page.chosen)
    places = np.array([table.find((*key, *label)) for key in classes.labels], np.intp)
    found: Positions = places[classes.codes]
    return found


def _join_original(parts: Sequence[Numbers | None]) -> Numbers | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _lie_together(episodes: Positions) -> bool:
    begins = episodes[np.flatnonzero(np.diff(episodes, prepend=-2))]
    return len(np.unique(begins)) == len(begins)


class FlagProgram:
    """Some flags of a Program, computed for whole batches: a goal, facts, the places that a term reaches."""

    def __init__(self, program: Program, flags: Mapping[str, int]) -> None:
        self.names = tuple(flags)
        nodes = (program.nodes[at] for at in find_reachable(program.nodes, flags.values()))
        read = {node.name for node in nodes if isinstance(node, n.Input)}
        self._inputs = tuple(read)
        opened = replace(
            program.with_terms({f"f{at}": node for at, node in enumerate(flags.values())}),
            inputs={name: field for name, field in program.inputs.items() if name in read},
        )
        self._compiled = NumpyReward(opened.prune(), guard=False, on_bad="mask")

    def find_unknown(self, batch: StepBatch) -> NDArray[np.bool_]:
        """Return the steps that lack something that a flag reads."""
        gaps = batch.layout.find_gaps(batch.inputs)
        unknown = np.zeros(len(batch), np.bool_)
        for name in self._inputs:
            unknown |= gaps.get(name, False)
        return unknown

    def evaluate(self, batch: StepBatch) -> dict[str, NDArray[np.bool_]]:
        """Return where in a batch each flag is true."""
        found = self._compiled({name: batch.columns[name] for name in self._inputs}).values.values()
        return {name: np.broadcast_to(flags != 0, len(batch)) for name, flags in zip(self.names, found, strict=True)}
