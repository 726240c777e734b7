"""Steps sorted by what can be learned from them: numbers, flags, categories, and where episodes begin and end."""

import keyword
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.observe.transitions import Column, Mask, Transitions

Numbers = NDArray[np.float64]
SINGLE_PRECISION = 2.0**-24
"""The relative rounding error of float32, in which most environments hand out what they computed in float64."""
DOUBLE_PRECISION = 2.0**-52
UNSAID = ("abs",)
"""Names that mean something else in the functions that facts are."""
FEWEST_JUMPS = 100
FEW = 12
"""The most values of a field of integers that are listed one by one."""


@dataclass(frozen=True)
class Steps:
    """Transitions in an order of episodes that does not depend on the order in which they were played.

    Vectors, and fields whose names cannot be parameters of a function, have a range and nothing else.
    """

    transitions: Transitions
    numbers: Mapping[str, Numbers]
    """After the step; fields with a value that is not finite are left out."""
    flags: Mapping[str, Mask]
    categories: Mapping[str, Column]
    starts: NDArray[np.int64]
    """The first row of each episode."""
    is_copy: NDArray[np.bool_]
    """Whether an episode is step by step the one before it, and so says nothing new."""

    def __len__(self) -> int:
        return len(self.transitions)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The number of steps of each episode."""
        return np.diff(np.append(self.starts, len(self)))

    @cached_property
    def number(self) -> NDArray[np.int64]:
        """The number of each row's episode, from 0."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    @cached_property
    def position(self) -> NDArray[np.int64]:
        """The number of each step in its episode, from 1."""
        return np.arange(len(self)) - np.repeat(self.starts, self.lengths) + 1

    @cached_property
    def last(self) -> Mask:
        """The last row of each episode."""
        return np.asarray(self.position == np.repeat(self.lengths, self.lengths))

    @cached_property
    def fresh(self) -> Mask:
        """Rows of episodes that are not copies of others."""
        return np.repeat(~self.is_copy, self.lengths)

    @property
    def scalars(self) -> dict[str, Column]:
        """Every field that holds one value in a step."""
        return {**self.numbers, **self.flags, **self.categories}

    @cached_property
    def changing(self) -> dict[str, Numbers]:
        """The numbers that take more than one value."""
        return {name: column for name, column in self.numbers.items() if column.size and np.ptp(column) > 0}

    @cached_property
    def is_whole(self) -> dict[str, bool]:
        """Whether a field of numbers held integers only."""
        return {name: bool((column == np.rint(column)).all()) for name, column in self.numbers.items()}

    @cached_property
    def is_few(self) -> dict[str, bool]:
        """Whether a field of numbers held a few integers only."""
        return {name: whole and len(np.unique(self.numbers[name])) <= FEW for name, whole in self.is_whole.items()}

    @cached_property
    def precision(self) -> dict[str, float]:
        """The relative rounding error that a field's numbers have at least."""
        return {
            name: 0.0 if self.is_whole[name] else SINGLE_PRECISION if _is_single(column) else DOUBLE_PRECISION
            for name, column in self.numbers.items()
        }

    def find_before(self, name: str) -> tuple[Column, Mask]:
        """Return what a field was before each step, and in which rows that is known."""
        after = self.transitions.after[name]
        if name in self.transitions.before:
            return self.transitions.before[name], self.transitions.knows_before(name)
        return np.concatenate((after[:1], after[:-1])), self.position > 1

    @cached_property
    def idle(self) -> Mask:
        """Rows in which the action was the one of the idle policy, whatever was played."""
        idling: Mask = self.transitions.policy == "idle"
        actions = self.transitions.actions
        if actions is None or not idling.any():
            return idling
        rows = actions.reshape(len(self), -1)
        chosen = rows[idling]
        if (chosen != chosen[0]).any():
            return idling
        return np.asarray((rows == chosen[0]).all(axis=1))

    @cached_property
    def jumped(self) -> Mask:
        """Rows whose action is quite another than the one before; all but first rows where there are too few.

        What goes on from the row before such a row goes on by itself, not because the agent goes on with what it does.
        """
        later: Mask = self.position > 1
        actions = self.transitions.actions
        if actions is None or not len(self):
            return later
        rows = actions.reshape(len(self), -1)
        previous = np.concatenate((rows[:1], rows[:-1]))
        if rows.dtype.kind in "biuf":
            rows, previous = rows.astype(np.float64), previous.astype(np.float64)
            far = (np.abs(rows - previous) >= 0.25 * np.ptp(rows, axis=0)) & (rows != previous)
        else:
            far = rows != previous
        jumped = later & far.any(axis=1)
        return jumped if jumped.sum() >= FEWEST_JUMPS else later

    def count_episodes(self, rows: Mask) -> int:
        """Return in how many episodes one of `rows` is."""
        return len(np.unique(self.number[rows]))


def sort_steps(transitions: Transitions) -> Steps:
    """Return the steps for learning; the same whatever order the episodes stand in."""
    transitions, is_copy = _sort_episodes(transitions)
    numbers: dict[str, Numbers] = {}
    flags, categories = {}, {}
    for name, column in transitions.after.items():
        if column.ndim > 1 or keyword.iskeyword(name) or name in UNSAID:
            continue
        if column.dtype.kind == "b":
            flags[name] = column
        elif column.dtype.kind in "US":
            categories[name] = column
        elif column.dtype.kind in "fiu":
            number = column.astype(np.float64)
            if np.isfinite(number).all():
                numbers[name] = number
    starts = np.flatnonzero(transitions.first)
    return Steps(transitions, numbers, flags, categories, starts, is_copy)


def _sort_episodes(transitions: Transitions) -> tuple[Transitions, Mask]:
    """Return the episodes sorted by what happened in them, and which are copies of the one before."""
    starts = np.flatnonzero(transitions.first)
    ends = np.append(starts[1:], len(transitions))
    names = sorted(transitions.after)
    keys = [
        (int(b - a), *(transitions.after[name][a:b].tobytes() for name in names))
        for a, b in zip(starts, ends, strict=True)
    ]
    order = sorted(range(len(starts)), key=keys.__getitem__)
    if not order:
        return transitions, np.zeros(0, bool)
    is_copy = np.array([False, *(keys[a] == keys[b] for a, b in pairwise(order))])
    rows = np.concatenate([np.arange(starts[at], ends[at]) for at in order])

    def sort(columns: Mapping[str, Any]) -> dict[str, Any]:
        return {name: columns[name][rows] for name in sorted(columns)}

    lengths = [int(ends[at] - starts[at]) for at in order]
    made = replace(
        transitions,
        before=sort(transitions.before),
        after=sort(transitions.after),
        actions=None if transitions.actions is None else transitions.actions[rows],
        episode=np.repeat(np.arange(len(order)), lengths),
        policy=transitions.policy[rows],
        terminated=transitions.terminated[rows],
        truncated=transitions.truncated[rows],
    )
    return made, is_copy


def _is_single(column: Numbers) -> bool:
    with np.errstate(over="ignore"):
        return bool((column.astype(np.float32) == column).all())
