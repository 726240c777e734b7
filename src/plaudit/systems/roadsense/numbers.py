"""Numbers that settings are made of, checked at the door: Python's and NumPy's alike, and no flags."""

from math import inf
from typing import Any

import numpy as np

from plaudit.errors import DefinitionError


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number.

    >>> is_whole(3), is_whole(np.int64(3)), is_whole(3.0), is_whole(True)
    (True, True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether a value is a number."""
    return is_whole(value) or isinstance(value, float | np.floating)


def check_number(name: str, value: Any, low: float, high: float, unit: str = "") -> None:
    """Raise where a setting is no number from `low` to `high`."""
    if is_number(value) and low <= value <= high:
        return
    unit = f" {unit}" if unit else ""
    given = f"{value!r}{unit}" if is_number(value) else repr(value)
    ends = f"from {low:g} to {high:g}{unit}" if high < inf else f"of {low:g}{unit} or more"
    raise DefinitionError(f"{name}={given}: it is a number {ends}.")


def check_pair(name: str, value: Any, low: float, high: float, unit: str = "") -> None:
    """Raise where a setting is no pair of numbers, the lowest and the highest, from `low` to `high`."""
    if not (isinstance(value, tuple) and len(value) == 2):
        raise DefinitionError(f"{name}={value!r}: it is a pair, the lowest and the highest value.")
    for end in value:
        check_number(name, end, low, high, unit)
    if value[0] > value[1]:
        raise DefinitionError(f"{name}={value!r}: it is a pair, the lowest and the highest value, in this order.")
