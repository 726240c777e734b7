"""Rows added up by group: sums have the same bits on every machine, in whatever order the rows are.

The highest bits of the numbers of a group are cut off, at the same place of all, and so few of them that their sum
needs no rounding; then those that follow, and so on (Rump, Ogita and Oishi: Accurate Floating-Point Summation, SIAM J.
Sci. Comput. 31, 2008). What is left is far below the last bit of the largest number, and is dropped.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]
_TOGETHER = 65_536
"""Numbers to add up at a time: as many as stay in a processor's cache."""
_LARGE = 2.0**1000
"""Numbers below it have sums that are floats."""


class Groups:
    """Rows by their codes: those with the same code are a group."""

    def __init__(self, codes: Integers, rows: Integers | None = None) -> None:
        """Bring the rows of each group together: of all, or of those at some positions."""
        chosen = codes if rows is None else codes[rows]
        low, high = (int(chosen.min()), int(chosen.max())) if len(chosen) else (0, 0)
        starts = _find_starts(chosen)
        self._lie_together = len(starts) <= high - low + 1 and len(np.unique(chosen[starts])) == len(starts)
        order = np.arange(len(chosen))
        if not self._lie_together:
            keys = (chosen - low).astype(np.uint16) if high - low < 1 << 16 else chosen  # short integers sort sooner
            order = np.argsort(keys, kind="stable")
            chosen = chosen[order]
            starts = _find_starts(chosen)
        self._lie_together &= rows is None
        self.order: Integers = order if rows is None else rows[order]
        """The rows, group by group; within one, as they came."""
        self.starts: Integers = starts
        """Where in that order each group begins."""
        self.codes: Integers = chosen[starts]
        """The code of each group."""
        self.sizes: Integers = np.diff(starts, append=len(order))
        self._bits = int(self.sizes.max(initial=0) + 1).bit_length()  # by which a sum can be longer than a number
        self._cuts = 2 if self._bits <= 8 else 3

    def __len__(self) -> int:
        """Return how many groups there are."""
        return len(self.starts)

    @property
    def firsts(self) -> Integers:
        """The first row of each group."""
        return self.order[self.starts]

    @property
    def lasts(self) -> Integers:
        """The last row of each group."""
        found: Integers = self.order[self.starts + self.sizes - 1]
        return found

    @property
    def numbers(self) -> Integers:
        """For each row, which group it is in; all rows have to be in one."""
        found: Integers = np.empty_like(self.order)
        found[self.order] = np.repeat(np.arange(len(self)), self.sizes)
        return found

    def find_bounds(self, lows: Integers, highs: Integers | None = None) -> tuple[Integers, Integers]:
        """Return the lowest entry of each group, and the highest: of another column, if one is given."""
        low = lows[self.order]
        high = low if highs is None else highs[self.order]
        return np.minimum.reduceat(low, self.starts), np.maximum.reduceat(high, self.starts)

    def add_up(self, columns: Sequence[Numbers], masked: NDArray[np.bool_] | None = None) -> Numbers:
        """Return the sums of each column, a row each; what is `masked` adds nothing.

        They are infinite where they are too large for a float, and NaN where all rows of a group are masked.
        """
        sums = np.zeros((len(columns), len(self)))
        if not len(self):
            return sums
        nothing = None if masked is None or not masked.any() else masked[self.order]
        step = max(1, min(len(columns), _TOGETHER // len(self.order)))
        room = np.empty((2, step, len(self.order)))
        for at in range(0, len(columns), step):
            some = columns[at : at + step]
            rest, high = room[:, : len(some)]
            for row, column in zip(rest, some, strict=True):
                if self._lie_together:
                    row[:] = column
                else:
                    np.take(column, self.order, out=row, mode="clip")
            if nothing is not None:
                rest[:, nothing] = 0.0
            sums[at : at + step] = self._add_rows(rest, high)
        if nothing is not None:
            sums[:, np.logical_and.reduceat(nothing, self.starts)] = np.nan
        return sums

    def _add_rows(self, rest: Numbers, high: Numbers) -> Numbers:
        """Return the sums of rows, which are overwritten like the room for what is in between."""
        np.abs(rest, out=high)
        tops = np.maximum.reduceat(high, self.starts, axis=1)
        if not tops.max() < _LARGE:
            return np.array([[add_up(part.tolist()) for part in np.split(row, self.starts[1:])] for row in rest])
        if len(self) == len(self.order):  # a group is one row
            return rest + 0.0
        edge = np.repeat(np.ldexp(1.0, np.frexp(tops)[1] + self._bits), self.sizes, axis=1)
        cuts = []
        for left in reversed(range(self._cuts)):
            np.add(rest, edge, out=high)
            high -= edge
            cuts.append(np.add.reduceat(high, self.starts, axis=1))  # nothing is rounded: the order is all the same
            if left:
                rest -= high
                edge *= 2.0 ** (self._bits - 53)
        found: Numbers = cuts[0] + (cuts[1] if len(cuts) == 2 else cuts[1] + cuts[2])
        return found


def _find_starts(codes: Integers) -> Integers:
    """Return where another code begins."""
    return np.flatnonzero(np.concatenate((np.ones(min(len(codes), 1), np.bool_), codes[1:] != codes[:-1])))


def add_up(numbers: Sequence[float]) -> float:
    """Return a sum that is rounded once, in whatever order; infinite where it is too large for a float."""
    try:
        found = math.fsum(numbers)
    except OverflowError:
        found = math.fsum(number * 2.0**-64 for number in numbers) * 2.0**64
    except ValueError:  # infinities of both signs
        return math.nan
    return found if found == found else math.nan  # of all NaN that there are, one
