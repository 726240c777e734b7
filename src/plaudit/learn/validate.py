"""What learners check of their arguments: names of actions and features, settings, and numbers from outside."""

import math
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

from plaudit.errors import DefinitionError, NotFinite, ShapeMismatch, UnknownCategory, WrongType, did_you_mean
from plaudit.language.field import to_float
from plaudit.learn.explore import Explore, SquareCB


def validate_actions(actions: Any, explore: Explore) -> None:
    """Refuse actions that are not two or more different names, and a floor that so many cannot all have."""
    validate_names("actions", actions)
    if len(actions) < 2:
        raise DefinitionError(f"actions={actions!r} must name two or more actions.")
    if isinstance(explore, SquareCB):
        resolve_floor(explore.floor, len(actions))


def validate_names(what: str, names: Any) -> None:
    """Refuse anything that is not a tuple of different strings."""
    if not isinstance(names, tuple) or not all(isinstance(name, str) and name for name in names):
        raise DefinitionError(f"{what}={names!r:.80} must be a tuple of names.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DefinitionError(f"{what} names {twice!r} twice.")


def validate_number(name: str, value: Any, *, above: float | None = None) -> None:
    """Refuse anything that is not a finite number from 0 up, or above the bound that is given."""
    fine = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not fine or value < 0 or (above is not None and value <= above):
        span = ", 0 or more" if above is None else f" above {above:g}"
        raise DefinitionError(f"{name}={value!r} must be a finite number{span}.")


def resolve_floor(floor: float | None, count: int) -> float:
    """Return the least probability of an action; unless given, 2 %, and so little that a fifth is random at most."""
    chosen = min(0.02, 0.2 / count) if floor is None else floor
    if not 0 <= chosen * count <= 1:
        raise DefinitionError(f"floor={chosen!r} must be from 0 to 1/{count}: {count} actions share one probability.")
    return chosen


def name_features(features: int | Iterable[str]) -> tuple[str, ...]:
    """Return the names of features, x0, x1 … where only their number is given.

    >>> name_features(2)
    ('x0', 'x1')
    """
    try:
        return tuple(f"x{at}" for at in range(index(features)))  # type: ignore[arg-type]
    except TypeError:
        return parse_names("features", features)


def parse_names(what: str, names: Any) -> tuple[str, ...]:
    """Return names as a tuple; a single string is refused, for its letters are not meant.

    >>> parse_names("actions", ["stay", "go"])
    ('stay', 'go')
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise DefinitionError(f"{what}={names!r:.80} must be names, such as ('small', 'large').")
    return tuple(names)


def parse_numbers(values: Any, name: str, length: int | None = None) -> tuple[float, ...]:
    """Return finite numbers as floats; an error says which one is not a number, or how many there should be."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise WrongType(f"{name}={values!r:.60} is not a list of numbers.")
    if length is not None and len(values) != length:
        raise ShapeMismatch(f"{name} has {len(values)} numbers, but {length} are expected.")
    return tuple(parse_number(value, f"{name}[{at}]") for at, value in enumerate(values))


def parse_number(value: Any, name: str) -> float:
    """Return a finite number as a float.

    >>> parse_number(1, "reward")
    1.0
    """
    plain = to_float(value)
    if plain is None:
        raise WrongType(f"{name}={value!r:.60} is not a number.")
    if not math.isfinite(plain):
        raise NotFinite(f"{name}={plain!r} is not a finite number.")
    return plain


def unknown_action(action: object, actions: Sequence[str], where: str = "") -> UnknownCategory:
    """Return the error for an action that is not among `actions`; `where` is put before the message."""
    hint = did_you_mean(action, actions) if isinstance(action, str) else ""
    return UnknownCategory(f"{where}action {action!r:.60} is none of {', '.join(actions)}.{hint}")
