"""An interval: all numbers from one to another, with its two readings for a flag."""

import math
import sys
from typing import NamedTuple

from plaudit.language.field import Field

LARGEST = sys.float_info.max


class Interval(NamedTuple):
    """All numbers from `low` to `high`."""

    low: float
    high: float

    @property
    def finite(self) -> bool:
        """Whether neither end is infinite or NaN."""
        return -math.inf < self.low <= self.high < math.inf


ANYTHING = Interval(-math.inf, math.inf)
"""Also the interval of whatever may be NaN: inf - inf, 0 * inf, an input that is not checked."""
FLAG = Interval(0.0, 1.0)
YES = Interval(1.0, 1.0)
NO = Interval(0.0, 0.0)


def of_field(field: Field) -> Interval:
    """Return the interval of what a field can hold once its range has been checked."""
    if field.kind == "flag":
        return FLAG
    if field.kind == "category":
        return Interval(0.0, float(len(field.labels) - 1))
    if field.numbers:
        return Interval(min(field.numbers), max(field.numbers))
    anything = field.outside != "error"
    low = -LARGEST if anything or field.low is None else float(field.low)
    high = LARGEST if anything or field.high is None else float(field.high)
    return Interval(low, math.inf if field.infinite else high)


def hull(left: Interval, right: Interval) -> Interval:
    """Return the smallest interval that holds both."""
    return Interval(min(left.low, right.low), max(left.high, right.high))
