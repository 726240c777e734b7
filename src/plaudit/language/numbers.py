"""Numbers as plain Python: which objects are one, and which a float holds exactly."""

import math
import numbers
from typing import Any


def constant_number(value: object) -> int | float | None:
    """Return a known number or flag as plain Python, or None if `value` is neither.

    >>> constant_number(True), constant_number(3), constant_number("3")
    (True, 3, None)
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return None


def as_float(value: Any) -> float | None:
    """Return a single number as a float, infinite where none is large enough; None for a flag and for what is none.

    >>> as_float(3), as_float(True), as_float("3"), as_float(10**400)
    (3.0, None, None, inf)
    """
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:
        value = value.item()  # of NumPy
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def exact(value: float) -> bool:
    """Return whether `value` is a number that a float holds exactly."""
    try:
        return not math.isnan(value) and float(value) == value
    except OverflowError:
        return False
