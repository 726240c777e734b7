"""The steps that rewards are compared on, as columns: what each field was before a step, and what it is after it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import DefinitionError
from plaudit.reward.reward import Reward
from plaudit.reward.task.bound import TaskField, narrow
from plaudit.targets.inputs import list_slots

Columns = Mapping[str, NDArray[Any]]

BLOCKS = 32
"""Minimum number of blocks that steps are divided into; intervals resample them."""
LARGEST_BLOCK = 32_768


@dataclass(frozen=True, slots=True)
class Steps:
    """Some steps: what each entry of a field was before and is after them; categories by position."""

    before: Columns
    after: Columns
    terminal: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(next(iter(self.after.values())))

    def take(self, rows: Any) -> "Steps":
        """Return some of them."""
        before, after = ({name: column[rows] for name, column in each.items()} for each in (self.before, self.after))
        return Steps(before, after, None if self.terminal is None else self.terminal[rows])


@dataclass(frozen=True, slots=True)
class Block:
    """Steps, and a sample of them for means over actions and next states."""

    steps: Steps
    means: Steps


@dataclass(frozen=True)
class Coverage:
    """A distribution of steps under a name that says what it is."""

    text: str
    exact: bool = False
    """Whether these are all the steps there are, so that nothing is left to chance."""
    rejected: float = 0.0
    """The share of draws that break a fact; they were left out."""
    remarks: tuple[str, ...] = ()
    blocks: Iterable[Block] = field(default=(), repr=False)
    keeps_facts: Callable[[Steps], NDArray[np.bool_]] | None = field(default=None, repr=False)
    """Tells which steps could happen, where they were not given by somebody who knows."""

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a field that some reward reads: a column of steps."""

    name: str
    """`speed`, `torque[3]`."""
    declared: TaskField
    before: bool
    """Whether some reward reads what it was before the step."""

    @property
    def choices(self) -> NDArray[Any] | None:
        """Everything that it can be, where that is listed."""
        if self.declared.kind == "flag":
            return np.array([False, True])
        if self.declared.kind == "category":
            return np.arange(len(self.declared.labels))
        return np.array(self.declared.numbers) if self.declared.numbers else None


def select_inputs(reward: Reward, before: Columns, after: Columns, terminal: Any = False) -> dict[str, Any]:
    """Return the columns that a reward reads, by the names of its inputs."""
    found: dict[str, Any] = {}
    for slot in list_slots(reward.program):
        if slot.name == "terminal":
            found[slot.name] = terminal
        else:
            found[slot.name] = (before if slot.record == "prev" else after)[slot.plain]
    return found


def list_entries(rewards: Sequence[Reward]) -> dict[str, Entry]:
    """Return every entry that some reward reads; where they declare it differently, what all of them allow."""
    found: dict[str, Entry] = {}
    for reward in rewards:
        for slot in list_slots(reward.program):
            if slot.name == "terminal":
                continue
            earlier = found.get(slot.plain)
            own = reward._bound.view(slot.field)
            declared = own if earlier is None else _intersect(earlier.declared, own)
            read = slot.record == "prev" or (earlier is not None and earlier.before)
            found[slot.plain] = Entry(slot.plain, declared, read)
    return found


def _intersect(one: TaskField, other: TaskField) -> TaskField:
    if one.kind != other.kind or one.labels != other.labels or one.shape != other.shape:
        raise DefinitionError(f"{one.name!r} is declared differently by the rewards, so they cannot be compared.")
    if one.kind != "number" or one == other:
        return one
    if one.numbers or other.numbers:
        listed, limits = (one, other) if one.numbers else (other, one)
        kept = tuple(number for number in listed.numbers if limits.holds(number))
        if not kept:
            raise DefinitionError(f"{one.name!r}: no number satisfies the declarations of all rewards.")
        return narrow(listed, values=kept, monotone=None, step=None)
    low, high = (
        choose((each for each in ends if each is not None), default=None)
        for choose, ends in ((max, (one.low, other.low)), (min, (one.high, other.high)))
    )
    if low is not None and high is not None and low > high:
        raise DefinitionError(f"{one.name!r}: no number satisfies the declarations of all rewards.")
    return narrow(one, low=low, high=high)


def join_steps(parts: Sequence[Steps]) -> Steps:
    """Return steps one after the other."""
    before, after = (
        {name: np.concatenate([getattr(part, record)[name] for part in parts]) for name in getattr(parts[0], record)}
        for record in ("before", "after")
    )
    return Steps(before, after)


def keep_shared_terms(
    rewards: Sequence[Reward], read: Callable[[Reward], set[str]]
) -> tuple[tuple[Reward, ...], tuple[tuple[str, ...], ...]]:
    """Return rewards with only the terms that read what all of them read, and the names of the others of each.

    What one reads is told by `read`: its inputs, where all must take the same rows; its fields, where each gets what a
    field was before a step and is after it.

    Raises:
        DefinitionError: Nothing is left of one of them.
    """
    common = set.intersection(*map(read, rewards))
    kept, left_out = [], []
    for reward in rewards:
        names = [term.name for term in reward.terms if read(reward.select_terms(term.name)) <= common]
        if not names:
            raise DefinitionError(
                f"every term of {reward.name}@{reward.version}, or the way its total is composed, reads inputs that "
                "not "
                f"all rewards read: {', '.join(sorted(read(reward) - common))}. There is nothing to compare."
            )
        kept.append(reward.select_terms(*names))
        left_out.append(tuple(term.name for term in reward.terms if term.name not in names))
    return tuple(kept), tuple(left_out)
