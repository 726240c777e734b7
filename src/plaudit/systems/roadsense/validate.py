"""Settings are validated: numbers, Python's and NumPy's alike but no bools, and values that may be given by name."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, TypeVar

import numpy as np

from plaudit.errors import DefinitionError, did_you_mean

Value = TypeVar("Value")


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer.

    >>> is_integer(3), is_integer(np.int64(3)), is_integer(3.0), is_integer(True)
    (True, True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether a value is a number."""
    return is_integer(value) or isinstance(value, float | np.floating)


def validate_number(name: str, value: Any, low: float, high: float, unit: str = "") -> None:
    """Raise DefinitionError where a setting is not a number from `low` to `high`."""
    if is_number(value) and low <= value <= high:
        return
    unit = f" {unit}" if unit else ""
    given = f"{value!r}{unit}" if is_number(value) else repr(value)
    ends = f"from {low:g} to {high:g}{unit}" if high < inf else f"of {low:g}{unit} or more"
    raise DefinitionError(f"{name}={given} must be a number {ends}.")


def validate_pair(name: str, value: Any, low: float, high: float, unit: str = "") -> None:
    """Raise DefinitionError where a setting is not a pair of numbers from `low` to `high`, the lowest first."""
    if not (isinstance(value, tuple) and len(value) == 2):
        raise DefinitionError(f"{name}={value!r} must be a pair, the lowest and the highest value.")
    for end in value:
        validate_number(name, end, low, high, unit)
    if value[0] > value[1]:
        raise DefinitionError(f"{name}={value!r} must be a pair, the lowest value first.")


def validate_count(name: str, given: Any, least: int) -> int:
    """Return a number of steps; an error where it is no integer of `least` or more."""
    if not is_integer(given) or given < least:
        raise DefinitionError(f"{name}={given!r} must be an integer of {least} or more.")
    return int(given)


def validate_switch(name: str, given: Any) -> bool:
    """Return a setting that is on or off; an error where it is not a bool, since every string would be on.

    >>> validate_switch("assist", "no")
    Traceback (most recent call last):
    ...
    plaudit.errors.DefinitionError: assist='no' must be True or False.
    """
    if not isinstance(given, bool | np.bool_):
        raise DefinitionError(f"{name}={given!r:.60} must be True or False.")
    return bool(given)


def find_named(
    setting: str, given: Any, kind: type[Value], table: Mapping[str, Value], *, others: Sequence[str] = ()
) -> Value:
    """Return a setting that is a `kind` already, or the entry of `table` that goes by its name.

    `others` are names that the caller knows besides; the error names them too.

    >>> find_named("speed", "slwo", float, {"slow": 1.0, "fast": 2.0})
    Traceback (most recent call last):
    ...
    plaudit.errors.DefinitionError: speed='slwo': give a float, or one of slow, fast. Did you mean 'slow'?
    """
    if isinstance(given, kind):
        return given
    if isinstance(given, str) and given in table:
        return table[given]
    names = (*others, *table)
    near = did_you_mean(str(given), names)
    raise DefinitionError(f"{setting}={given!r}: give a {kind.__name__}, or one of {', '.join(names)}.{near}")
