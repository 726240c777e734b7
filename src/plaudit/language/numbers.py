"""Numbers as plain Python: which objects are one, and which a float holds exactly."""

import math
import numbers


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


def exact(value: float) -> bool:
    """Return whether `value` is a number that a float holds exactly."""
    try:
        return not math.isnan(value) and float(value) == value
    except OverflowError:
        return False
