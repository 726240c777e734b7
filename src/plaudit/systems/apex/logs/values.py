"""What the keys of a log may hold: each function returns the value of a key as its type, or says what is wrong."""

import math
from typing import Any, TypeVar

from plaudit.errors import NotFinite, OutOfRange, UnknownCategory, WrongType
from plaudit.language.numbers import as_float

STAY = "stay"
"""The action that leaves the topology as it is; asking for the active topology by name is the same."""

ACTIONS = (STAY, "star", "chain", "flat")
"""What a decision may ask for: leave the topology as it is, or change it."""

FEATURES = 8
"""How many numbers a decision is made on."""

Quantity = TypeVar("Quantity", int, float)


def number(key: str, value: Any) -> float:
    """Return a finite number as a float; one of NumPy will do."""
    plain = as_float(value)
    if plain is None:
        raise WrongType(f"key {key!r}: {value!r} is not a number.")
    if not math.isfinite(plain):
        raise NotFinite(f"key {key!r}: {plain!r} is not a finite number.")
    return plain


def whole(key: str, value: Any) -> int:
    """Return a whole number as an int; 50.0 is one."""
    if number(key, value) % 1:
        raise WrongType(f"key {key!r}: {value!r} is not a whole number.")
    return int(value)


def count(key: str, value: Any) -> int:
    """Return a whole number from 1 up."""
    return _at_least(1, key, whole(key, value))


def count_from_0(key: str, value: Any) -> int:
    """Return a whole number from 0 up."""
    return _at_least(0, key, whole(key, value))


def from_0(key: str, value: Any) -> float:
    """Return a number from 0 up."""
    return _at_least(0, key, number(key, value))


def share(key: str, value: Any) -> float:
    """Return a number from 0 to 1."""
    if not 0 <= number(key, value) <= 1:
        raise OutOfRange(f"key {key!r}: {value!r} is not from 0 to 1.")
    return float(value)


def _at_least(low: int, key: str, value: Quantity) -> Quantity:
    if value < low:
        raise OutOfRange(f"key {key!r}: {value!r} is below {low}.")
    return value


def flag(key: str, value: Any) -> bool:
    """Return a flag."""
    if not isinstance(value, bool):
        raise WrongType(f"key {key!r}: {value!r} is neither true nor false.")
    return value


def text(key: str, value: Any) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise WrongType(f"key {key!r}: {value!r} is not a text.")
    return value


def action(key: str, value: Any) -> str:
    """Return one of the actions."""
    if value not in ACTIONS:
        raise UnknownCategory(f"key {key!r}: {value!r} is none of {', '.join(ACTIONS)}.")
    return str(value)


def shares(key: str, value: Any) -> tuple[float, ...]:
    """Return numbers from 0 to 1."""
    if not isinstance(value, list | tuple):
        raise WrongType(f"key {key!r}: {value!r} is not a list of numbers.")
    return tuple(share(key, each) for each in value)


def features(key: str, value: Any) -> tuple[float, ...]:
    """Return the numbers that a decision was made on."""
    if not isinstance(value, list | tuple) or len(value) != FEATURES:
        raise WrongType(f"key {key!r}: {value!r} is not a list of {FEATURES} numbers.")
    return tuple(number(key, each) for each in value)
