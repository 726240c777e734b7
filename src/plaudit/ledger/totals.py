"""What the totals of many records are like: how many there are, their mean, the lowest and the highest."""

import math
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plaudit.terminal import format_value


@dataclass(frozen=True, slots=True)
class Totals:
    """How many records there are of a kind, and what their totals are like."""

    records: int = 0
    mean: float = 0.0
    low: float = float("inf")
    high: float = float("-inf")
    masked: int = 0
    """How many more there are that could not be scored and so have no total."""
    estimated: float | None = None
    """An estimate of how many there are with those that were not sampled; None where all are recorded."""

    @property
    def sum(self) -> float:
        """What they add up to; where episodes were sampled, an unbiased estimate of what all of them add up to."""
        return self.mean * (self.records if self.estimated is None else self.estimated)

    def to_dict(self) -> dict[str, float | None]:
        """Return the numbers as plain data for JSON; None where there is no total."""
        numbers = {"mean": self.mean, "low": self.low, "high": self.high}
        known = numbers if self.records else dict.fromkeys(numbers)
        estimates = {} if self.estimated is None else {"estimated": self.estimated, "sum": self.sum}
        return {"records": self.records, **known, "masked": self.masked, **estimates}

    def format_cells(self) -> tuple[str, str, str, str]:
        """Return how many there are, their mean, the lowest and the highest for a table: dashes where there is none."""
        numbers = (self.mean, self.low, self.high)
        mean, low, high = (format_value(number) if self.records else "-" for number in numbers)
        return f"{self.records:,}", mean, low, high


_MOST_SUMS = 65_536
"""Sums to keep apart before they become one: memory stays flat, and each of many is rounded once more."""


@dataclass(slots=True)
class Tally:
    """Adds up totals, block by block, in flat memory; rounding errors do not grow with their number.

    What was recorded with a probability counts as much more often: by the weights 1/rate of Horvitz and Thompson
    (1952), sums and counts are unbiased. This is the one place that weighs.
    """

    records: int = 0
    count: float = 0
    """How many there are, each of a sample counted 1/rate times."""
    low: float = float("inf")
    high: float = float("-inf")
    sums: list[float] = field(default_factory=list)
    masked: int = 0

    def add_sum(self, records: int, total: float, low: float, high: float) -> None:
        """Take in a block that was summed when it was written."""
        self.records += records
        self.count += records
        self.sums.append(total)
        if low < self.low:
            self.low = low
        if high > self.high:
            self.high = high
        if len(self.sums) > _MOST_SUMS:
            self._add_up()

    def add(self, totals: NDArray[np.float64], *, rate: float | None = None) -> None:
        """Take in totals one by one; those that are NaN are of records that could not be scored."""
        scored = totals[~np.isnan(totals)]
        self.masked += len(totals) - len(scored)
        if len(scored):
            ends = float(scored.min()), float(scored.max())
            self._extend(len(scored), (len(scored), scored.tolist()), *ends, rate)

    def join(self, other: "Tally", *, rate: float | None = None) -> None:
        """Take in what another has added up, which was recorded at this rate."""
        self.masked += other.masked
        self._extend(other.records, (other.count, other.sums), other.low, other.high, rate)

    def _extend(
        self, records: int, weighed: tuple[float, list[float]], low: float, high: float, rate: float | None
    ) -> None:
        count, sums = weighed
        self.records += records
        self.count += count if rate is None else count / rate
        self.sums += sums if rate is None else [each / rate for each in sums]
        self.low, self.high = min(self.low, low), max(self.high, high)
        if len(self.sums) > _MOST_SUMS:
            self._add_up()

    def _add_up(self) -> None:
        """Make one sum of all; those whose sum is no number stay apart."""
        with suppress(OverflowError):
            self.sums = [math.fsum(self.sums)]

    def finish(self) -> Totals:
        """Return what the totals are like."""
        if not self.records:
            return Totals(masked=self.masked)
        try:
            mean = math.fsum(self.sums) / self.count
        except OverflowError:  # the mean is a number although the sum is none
            mean = math.fsum(each / self.count for each in self.sums)
        estimated = None if self.count == self.records else self.count
        return Totals(self.records, mean, self.low, self.high, self.masked, estimated)
