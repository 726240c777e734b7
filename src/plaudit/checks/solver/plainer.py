"""Numbers that a person would write, for rows that a solver found: 61 for 60.00000000000001."""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TypeVar

from plaudit.checks.solver.ranges import NEAR, declared_range, is_unlimited, value_at_rest
from plaudit.language.field import Field

REACH = 0.1
"""How far a number may move for fewer digits, as a share of its declared range or, without one, of itself."""
LEVELS = 6
"""How many digits more than the fewest are tried."""
MOST_TRIES = 400
FEW = 8
"""Up to this many numbers are tried one by one before all of them together."""
LARGE = (100.0, 1000.0, NEAR)

_Key = TypeVar("_Key", bound=Hashable)


def is_plain(value: float) -> bool:
    """Return whether a number is one that a person would write.

    >>> is_plain(0.125), is_plain(0.00025), is_plain(5e-324), is_plain(40.00000000000001)
    (True, True, False, False)
    """
    if math.isinf(value):
        return True
    short = value == round(value, 3) or (abs(value) >= 1e-9 and value == float(f"{value:.3g}"))
    return short and abs(value) <= NEAR


def simplify_numbers(
    values: Mapping[_Key, float],
    fields: Mapping[_Key, Field],
    accept: Callable[[Mapping[_Key, float]], bool],
    *,
    near: bool = False,
) -> dict[_Key, float]:
    """Return values that `accept` still takes, with as few digits as can be found; those that are plain stay.

    Each number is tried alone; what is tied to others, or one of many, together with them. With `near`, a number
    stays close to what it was; without, it may also be at rest, or merely large.

    >>> simplify_numbers({"x": 60.00000000000001}, {"x": Field("x", low=0, high=200)}, lambda row: row["x"] > 60)
    {'x': 61.0}
    """
    found = dict(values)
    odd = [name for name in values if _is_odd(fields[name], values[name])]
    options = {name: list(_list_plainer(fields[name], values[name], near)) for name in odd}
    alone = [[name] for name in odd]
    tries = 0
    for names in [*alone, odd, *alone] if len(odd) <= FEW else [odd, *alone]:
        left = [name for name in names if not is_plain(found[name])]
        for at in range(max((len(options[name]) for name in left), default=0)):
            tries += 1
            if tries > MOST_TRIES:
                return found
            changed = {name: options[name][at] for name in left if at < len(options[name])}
            if accept(found | changed):
                found |= changed
                break
    return found


def _is_odd(field: Field, value: float) -> bool:
    return field.kind == "number" and not field.numbers and not is_plain(value)


def _list_plainer(field: Field, value: float, near: bool) -> Iterator[float]:
    """Yield numbers that a person would write instead, those with the fewest digits first."""
    rest = [] if near else [value_at_rest(field)]
    rounded, large = list(_list_rounded(field, value)), [sign * size for size in LARGE for sign in (1.0, -1.0)]
    wanted = [*rest, *large, *rounded] if abs(value) > NEAR else [*rest, *rounded, *([] if near else large)]
    yield from (each for each in dict.fromkeys(wanted) if field.holds(each) and each != value)


def _list_rounded(field: Field, value: float) -> Iterator[float]:
    """Yield a number rounded, up and down, to ever more digits."""
    if is_unlimited(value):
        return
    low, high = declared_range(field)
    reach = REACH * (high - low) if not is_unlimited(high - low) else max(1.0, REACH * abs(value))
    first = -math.floor(math.log10(reach)) if reach > 0 else 0
    if abs(value) <= NEAR:
        first = max(first, 0)
    for digits in range(first, first + LEVELS + 1):
        nearest, step = round(value, digits), 10.0**-digits
        for each in (nearest, round(nearest + step, digits), round(nearest - step, digits)):
            if abs(each - value) <= reach:
                yield each + 0.0
