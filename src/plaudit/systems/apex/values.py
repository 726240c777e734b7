"""Values from outside: each function returns the value of a key as its type, or says what is wrong with it."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from plaudit.errors import NotFinite, OutOfRange, WrongType
from plaudit.language.field import to_float

Quantity = TypeVar("Quantity", int, float)


def parse_number(key: str, value: Any) -> float:
    """Return a finite number as a float; one of NumPy will do."""
    plain = to_float(value)
    if plain is None:
        raise WrongType(f"key {key!r}: {value!r} is not a number.")
    if not math.isfinite(plain):
        raise NotFinite(f"key {key!r}: {plain!r} is not a finite number.")
    return plain


def parse_integer(key: str, value: Any) -> int:
    """Return an integer; 50.0 is one."""
    if parse_number(key, value) % 1:
        raise WrongType(f"key {key!r}: {value!r} is not an integer.")
    return int(value)


def parse_positive_integer(key: str, value: Any) -> int:
    """Return an integer from 1 up."""
    return _require_at_least(1, key, parse_integer(key, value))


def parse_nonnegative_integer(key: str, value: Any) -> int:
    """Return an integer from 0 up."""
    return _require_at_least(0, key, parse_integer(key, value))


def parse_nonnegative(key: str, value: Any) -> float:
    """Return a number from 0 up."""
    return _require_at_least(0, key, parse_number(key, value))


def parse_share(key: str, value: Any) -> float:
    """Return a number from 0 to 1."""
    if not 0 <= parse_number(key, value) <= 1:
        raise OutOfRange(f"key {key!r}: {value!r} is not from 0 to 1.")
    return float(value)


def _require_at_least(low: int, key: str, value: Quantity) -> Quantity:
    if value < low:
        raise OutOfRange(f"key {key!r}: {value!r} is below {low}.")
    return value


def parse_bool(key: str, value: Any) -> bool:
    """Return a bool."""
    if not isinstance(value, bool):
        raise WrongType(f"key {key!r}: {value!r} is neither true nor false.")
    return value


def parse_string(key: str, value: Any) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise WrongType(f"key {key!r}: {value!r} is not a string.")
    return value


def parse_shares(key: str, value: Any) -> tuple[float, ...]:
    """Return numbers from 0 to 1."""
    if not isinstance(value, list | tuple):
        raise WrongType(f"key {key!r}: {value!r} is not a list of numbers.")
    return tuple(parse_share(key, each) for each in value)


def parse_names(key: str, names: object) -> tuple[str, ...]:
    """Return the strings of a list; WrongType where it is none."""
    if isinstance(names, Iterable) and not isinstance(names, str):
        found = tuple(names)
        if all(isinstance(name, str) for name in found):
            return found
    raise WrongType(f"{key}={names!r:.80} must be a list of strings.")


def find_repeated(names: Sequence[str]) -> str | None:
    """Return the first name that stands there a second time."""
    return next((name for at, name in enumerate(names) if name in names[:at]), None)
