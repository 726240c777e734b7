"""What every learner checks of its own definition: the names of its actions and features, and its numbers."""

import math
from collections.abc import Iterable
from operator import index
from typing import Any

from plaudit.errors import DefinitionError
from plaudit.learn.explore import Explore, SquareCB


def checked_actions(actions: Any, explore: Explore) -> None:
    """Refuse actions that are no different names, and a floor that so many cannot all have."""
    checked_names("actions", actions)
    if len(actions) < 2:
        raise DefinitionError(f"actions={actions!r} must be two or more: there is nothing to choose.")
    if isinstance(explore, SquareCB):
        floor_of(explore.floor, len(actions))


def checked_names(what: str, names: Any) -> None:
    """Refuse what is not a tuple of different texts."""
    if not isinstance(names, tuple) or not all(isinstance(name, str) and name for name in names):
        raise DefinitionError(f"{what}={names!r:.80} must be a tuple of names.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DefinitionError(f"{what} names {twice!r} twice.")


def named(features: int | Iterable[str]) -> tuple[str, ...]:
    """Return the names of features, x0, x1 … where only their number is given.

    >>> named(2)
    ('x0', 'x1')
    """
    try:
        return tuple(f"x{at}" for at in range(index(features)))  # type: ignore[arg-type]
    except TypeError:
        return listed("features", features)


def listed(what: str, names: Any) -> tuple[str, ...]:
    """Return names as a tuple; a single text is refused, for its letters are not meant.

    >>> listed("actions", ["stay", "go"])
    ('stay', 'go')
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise DefinitionError(f"{what}={names!r:.80} must be names, such as ('small', 'large').")
    return tuple(names)


def floor_of(floor: float | None, count: int) -> float:
    """Return the least probability of an action; unless given, 2 %, and so little that a fifth is random at most."""
    chosen = min(0.02, 0.2 / count) if floor is None else floor
    if not 0 <= chosen * count <= 1:
        raise DefinitionError(f"floor={chosen!r} must be from 0 to 1/{count}: {count} actions share one probability.")
    return chosen


def checked_number(name: str, value: Any, *, above: float | None = None) -> None:
    """Refuse what is not a finite number from 0 up, or above the bound that is given."""
    fine = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not fine or value < 0 or (above is not None and value <= above):
        span = "from 0 up" if above is None else f"above {above:g}"
        raise DefinitionError(f"{name}={value!r} must be a finite number {span}.")
