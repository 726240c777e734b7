"""Steps that happened, given as columns."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.coverage import BLOCKS, LARGEST_BLOCK, Block, Coverage, Steps, list_entries
from plaudit.errors import InputError, MissingField, ShapeMismatch
from plaudit.reward.reward import Reward
from plaudit.targets.numpy import convert_column
from plaudit.terminal import format_count

FEWEST_STEPS = 2 * BLOCKS
FEWEST_EPISODES = 10
"""Intervals that are drawn from fewer are rough."""


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
        rng = np.random.default_rng([self.seed, 2])
        for rows in self.groups:
            chosen = rng.integers(len(self.steps), size=self.means)
            yield Block(self.steps.take(rows), self.steps.take(chosen))


def read_transitions(
    rewards: Sequence[Reward], columns: Mapping[str, Any], episodes: Any, *, means: int, seed: int, text: str = ""
) -> Coverage:
    """Return steps that were given as columns: `prev.x` and `curr.x` or `x` of each field, and the action."""
    given: dict[str, dict[str, NDArray[Any]]] = {"before": {}, "after": {}}
    size = None
    terminal = None
    for name, entry in list_entries(rewards).items():
        for record, spellings in (("after", (f"curr.{name}", name)), ("before", (f"prev.{name}",))):
            spelling = next((each for each in spellings if each in columns), None)
            if spelling is None:
                if record == "after" or entry.before:
                    raise MissingField(f"transitions= lacks {spellings[0]!r}, what {name} is {record} each step.")
                continue
            column, _ = convert_column(rewards[0].name, spelling, entry.declared, columns[spelling])
            if column.ndim != 1 or size not in (None, len(column)):
                raise ShapeMismatch(f"transitions={{{spelling!r}: ...}}: all columns must have one length.")
            size = len(column)
            given[record][name] = column
    if size is None or size < FEWEST_STEPS:
        raise InputError(f"{size or 0} transitions are too few to compare rewards on; {FEWEST_STEPS} are needed.")
    if "terminal" in columns:
        terminal = np.asarray(columns["terminal"]).astype(bool)
    numbers = None
    if episodes is not None:
        _, numbers = np.unique(np.asarray(episodes), return_inverse=True)
        if len(numbers) != size:
            raise ShapeMismatch(f"episodes= has {len(numbers):,} entries, and there are {size:,} transitions.")
    remarks: tuple[str, ...] = ()
    if numbers is not None and numbers.max() + 1 < FEWEST_EPISODES:
        remarks = (f"Only {numbers.max() + 1} episodes: intervals are drawn from them, and are rough.",)
    text = text or format_count(size, "transition") + " that were given"
    return Coverage(
        text, remarks=remarks, blocks=Given(Steps(given["before"], given["after"], terminal), numbers, means, seed)
    )
