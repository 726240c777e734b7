"""What an input can be, as the checker sees it: the declared range, whatever `outside` lets pass."""

import math
from collections.abc import Mapping
from itertools import pairwise

from plaudit.language.field import Field
from plaudit.language.intervals import LARGEST, Interval
from plaudit.reward.task.bound import TaskField, narrow

HUGE = 1e100
"""A number beyond this stands for one without bound: no range was declared that keeps it smaller."""
NEAR = 1e6
"""A witness is told in numbers up to this where that makes no difference."""

NumericRow = dict[str, float]
"""A value for each input: categories by position, flags as 1 or 0."""


def strip_step_end(name: str) -> str:
    """Return an input's name without the end of the step that it is read at.

    >>> strip_step_end("prev.torque[2]"), strip_step_end("distance")
    ('torque[2]', 'distance')
    """
    return name.removeprefix("prev.").removeprefix("curr.")


def list_choices(field: Field) -> tuple[float, ...]:
    """Return the only values a field can have, where they can be counted; else an empty tuple.

    >>> list_choices(Field("phase", values=("plan", "code")))
    (0.0, 1.0)
    """
    if field.kind == "flag":
        return (0.0, 1.0)
    if field.kind == "category":
        return tuple(float(at) for at in range(len(field.labels)))
    return tuple(sorted(field.numbers))


def declared_range(field: Field) -> Interval:
    """Return the declared range of the finite values of a field."""
    if listed := list_choices(field):
        return Interval(listed[0], listed[-1])
    return Interval(
        -LARGEST if field.low is None else float(field.low), LARGEST if field.high is None else float(field.high)
    )


def encode_value(field: Field, value: float | bool | str) -> float:
    """Return a value as the checker computes with it."""
    return float(field.labels.index(value)) if isinstance(value, str) else float(value)


def decode_value(field: Field, value: float) -> float | bool | str:
    """Return a value as a person gives it to the reward."""
    if field.kind == "category":
        return field.labels[int(value)]
    return bool(value) if field.kind == "flag" else value


def value_at_rest(field: Field) -> float:
    """Return the value of a field when nothing happens."""
    return encode_value(field, field.at_rest)


def decode_row(row: Mapping[str, float], fields: Mapping[str, Field]) -> dict[str, float | bool | str]:
    """Return a row as a person gives it to the reward."""
    return {name: decode_value(fields[name], value) for name, value in row.items() if name in fields}


def is_unlimited(value: float) -> bool:
    """Return whether a bound is none."""
    return math.isnan(value) or abs(value) >= HUGE


def limit_range(field: Field, end: float = NEAR) -> Field:
    """Return a field with an `end` where it has none, so that a witness is told in numbers people can read.

    >>> limit_range(Field("distance", low=0)).high
    1000000.0
    """
    if field.kind != "number" or field.numbers or (field.low is not None and field.high is not None):
        return field
    low, high = field.low, field.high
    if low is None:
        low = -end if high is None or high > -end else high - end
    if high is None:
        high = end if low < end else low + end
    return narrow(field, low=low, high=high)


def list_plain_values(field: Field, breakpoints: tuple[float, ...] = ()) -> tuple[float, ...]:
    """Return some values of a number: at rest, its ends, where it is compared, the middles; each a step further too."""
    low, high = declared_range(limit_range(field))
    edges = sorted({low, high, *breakpoints})
    wanted = [value_at_rest(field), low, high, *breakpoints, *((a + b) / 2 for a, b in pairwise(edges))]
    if isinstance(field, TaskField) and field.step is not None:
        wanted = [value + field.step * k for value in wanted for k in (0, 1, -1)]
    inside = [value for value in dict.fromkeys(wanted) if low <= value <= high]
    return tuple(inside)
