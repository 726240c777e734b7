"""Steps that happened: given as columns, or recorded in a ledger."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.compare.coverage import BLOCKS, LARGEST_BLOCK, Block, Coverage, Entry, Steps, list_entries
from plaudit.checks.solver.ranges import strip_step_end
from plaudit.errors import InputError, MissingField, ShapeMismatch
from plaudit.ledger.history import History
from plaudit.ledger.record import Page
from plaudit.ledger.summary.returns import Classes, join_classes, read_episodes
from plaudit.reward.reward import Reward
from plaudit.targets.numpy import convert_column
from plaudit.terminal import format_count

FEWEST_STEPS = 2 * BLOCKS
FEWEST_EPISODES = 10
"""Intervals that are drawn from fewer are rough."""


@dataclass(frozen=True, slots=True)
class Transitions:
    """Steps to compare rewards on.

    >>> Transitions({"prev.x": [0.0, 1.0], "curr.x": [1.0, 2.0]}, episodes=[0, 0]).columns["curr.x"]
    [1.0, 2.0]
    """

    columns: Mapping[str, Any]
    """`prev.x` and `curr.x` or `x` of each field, and the action, by name."""
    episodes: Any = None
    """The episode of each."""
    text: str = ""
    """What they are, for people: "10,000 steps of CartPole-v1 under its random policy"."""


@dataclass(frozen=True)
class Given:
    """Steps that happened, cut into groups that are independent of one another: episodes, or stretches of rows."""

    steps: Steps
    episodes: NDArray[np.int64] | None
    """The number of the episode of each step."""
    means: int
    seed: int

    @cached_property
    def groups(self) -> list[NDArray[np.int64]]:
        """The rows of each group."""
        if self.episodes is None:
            count = max(BLOCKS, math.ceil(len(self.steps) / LARGEST_BLOCK))
            return np.array_split(np.arange(len(self.steps)), min(count, len(self.steps)))
        order = np.argsort(self.episodes, kind="stable")
        starts = np.flatnonzero(np.diff(self.episodes[order])) + 1
        whole = np.split(order, starts)
        if len(whole) <= 4 * BLOCKS:
            return whole
        return [np.concatenate(whole[at :: 4 * BLOCKS]) for at in range(4 * BLOCKS)]

    def __iter__(self) -> Iterator[Block]:
        # One sample for all blocks: canonical rewards are then apart by the same constant in each of them.
        chosen = np.random.default_rng([self.seed, 2]).permutation(len(self.steps))[: self.means]
        means = self.steps.take(chosen)
        for rows in self.groups:
            yield Block(self.steps.take(rows), means)


def read_transitions(rewards: Sequence[Reward], transitions: Transitions, *, means: int, seed: int) -> Coverage:
    """Return steps that were given as columns: `prev.x` and `curr.x` or `x` of each field, and the action."""
    columns, episodes = transitions.columns, transitions.episodes
    given: dict[str, dict[str, NDArray[Any]]] = {"before": {}, "after": {}}
    size = None
    terminal = None
    for name, entry in list_entries(rewards).items():
        for record, spellings in (("after", (f"curr.{name}", name)), ("before", (f"prev.{name}",))):
            spelling = next((each for each in spellings if each in columns), None)
            if spelling is None:
                if record == "after" or entry.before:
                    raise MissingField(f"transitions= lacks {spellings[0]!r}, the value of {name} {record} each step.")
                continue
            column, _ = convert_column(rewards[0].name, spelling, entry.declared, columns[spelling])
            if column.ndim != 1 or size not in (None, len(column)):
                raise ShapeMismatch(f"transitions={{{spelling!r}: ...}}: all columns must have the same length.")
            size = len(column)
            given[record][name] = column
    if size is None or size < FEWEST_STEPS:
        raise InputError(f"{size or 0} transitions are too few to compare rewards; at least {FEWEST_STEPS} are needed.")
    if "terminal" in columns:
        terminal = np.asarray(columns["terminal"]).astype(bool)
    numbers = None
    if episodes is not None:
        _, numbers = np.unique(np.asarray(episodes), return_inverse=True)
        if len(numbers) != size:
            raise ShapeMismatch(f"episodes= has {len(numbers):,} entries, but there are {size:,} transitions.")
    remarks: tuple[str, ...] = ()
    if numbers is not None and numbers.max() + 1 < FEWEST_EPISODES:
        count = format_count(int(numbers.max()) + 1, "episode")
        remarks = (f"Only {count}: intervals are rough or missing.",)
    text = transitions.text or format_count(size, "given transition")
    return Coverage(
        text, remarks=remarks, blocks=Given(Steps(given["before"], given["after"], terminal), numbers, means, seed)
    )


def read_ledger(rewards: Sequence[Reward], history: History, name: str, *, means: int, seed: int) -> Coverage:
    """Return the recorded steps that hold everything that the rewards read; the rest is counted."""
    entries = list_entries(rewards)
    wanted = {f"prev.{each}" for each, entry in entries.items() if entry.before}
    parts: list[dict[str, NDArray[Any]]] = []
    episodes: list[Classes] = []
    lacking: Counter[str] = Counter()
    for page in history.pages():
        rows = page.positions()
        with page.report_damage():
            given, gaps = page.layout.split_columns(page.inputs[rows]), page.layout.find_gaps(page.inputs[rows])
            labels, codes = read_episodes(page.row, rows)
        missing = sorted(wanted - given.keys())
        missing += [each for each in entries if f"curr.{each}" not in given and each not in given]
        if missing:
            lacking[", ".join(missing)] += len(rows)
            continue
        read = {name: gap for name, gap in gaps.items() if name in wanted or name.removeprefix("curr.") in entries}
        if read:
            lost = np.logical_or.reduce(list(read.values()))
            lacking[", ".join(read)] += int(np.count_nonzero(lost))
            codes, given = codes[~lost], {name: column[~lost] for name, column in given.items()}
        parts.append({each: _translate(column, page, each, entries) for each, column in given.items()})
        episodes.append(Classes(labels, codes))
    if not parts:
        why = "; ".join(f"{count:,} lack {names}" for names, count in lacking.items()) or "there are none"
        raise MissingField(f"{name}: no record can be used for the comparison: {why}.")
    shared = set.intersection(*(set(part) for part in parts))
    columns = {each: np.concatenate([part[each] for part in parts]) for each in shared}
    labels, codes = join_classes(episodes)
    known = all(labels[at][-1] is not None for at in np.unique(codes))
    chosen = codes if known else None
    text = f"{format_count(len(codes), 'step')} recorded in {name}"
    found = read_transitions(rewards, Transitions(columns, chosen, text), means=means, seed=seed)
    left_out = [f"{format_count(count, 'record')} excluded for lack of {names}." for names, count in lacking.items()]
    return replace(found, remarks=(*found.remarks, *left_out))


def _translate(column: NDArray[Any], page: Page, name: str, entries: Mapping[str, Entry]) -> NDArray[Any]:
    """Return a column with the positions that categories have in the rewards that are compared; -1 for none."""
    entry = entries.get(strip_step_end(name))
    labels = page.layout.scored.program.inputs[name].labels
    if entry is None or not labels or labels == entry.declared.labels:
        return column
    known = {label: at for at, label in enumerate(entry.declared.labels)}
    translated: NDArray[Any] = np.asarray([known.get(label, -1) for label in labels])[column.astype(np.intp)]
    return translated
