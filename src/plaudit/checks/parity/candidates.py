"""The values that are worth sending: the thresholds of the expression."""

import math
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import NamedTuple

from plaudit.checks.solver.breakpoints import find_breakpoints, list_values_to_try
from plaudit.checks.trace import list_neighbours, to_float32
from plaudit.language.field import Field
from plaudit.reward.reward import Reward
from plaudit.rows.row import Value


class Pool(NamedTuple):
    """The values of one input that are worth trying."""

    field: Field
    values: tuple[Value, ...]
    """Simplest first."""
    cuts: tuple[Value, ...]
    """Values at which a comparison, a clamp or a kink changes, and infinity."""
    marks: tuple[float, ...]
    """The finite numbers among them, in order: what lies between two of them is worth trying too. Empty where only the
    listed values are allowed."""


def build_pools(reward: Reward, *, single: bool = False) -> dict[str, Pool]:
    """Return a pool for each input; with `single`, of 32-bit floats."""
    program = reward.program.bind()
    wanted, cut = (
        {name: list(values) for name, values in list_values_to_try(program).items()},
        find_breakpoints(program),
    )
    for name, values in list_values_to_try(reward._bound.facts_program).items():
        wanted.get(name, []).extend(values)
    if single:
        for name, field in program.inputs.items():
            if _is_open(field):
                numbers = [*map(to_float32, map(float, wanted[name])), *list_neighbours(cut[name], single=True)]
                wanted[name] = [number for number in numbers if field.holds(number)]
                cut[name] = tuple(map(to_float32, cut[name]))
    found = {}
    for name, field in reward.program.inputs.items():
        ordered = sorted(dict.fromkeys(wanted[name]), key=partial(_oddness_key, field))
        marks = sorted(value for value in ordered if not isinstance(value, str) and math.isfinite(value))
        sharp = tuple(value for value in ordered if value in (*cut[name], math.inf))
        found[name] = Pool(field, tuple(ordered), sharp, tuple(marks) if _is_open(field) else ())
    return found


def _is_open(field: Field) -> bool:
    return field.kind == "number" and not field.numbers


def _oddness_key(field: Field, value: Value) -> tuple[float, ...]:
    """Return a key by which simple values come first: at rest, then small whole numbers, then short ones."""
    if isinstance(value, str):
        return (value != field.at_rest, field.labels.index(value))
    return (value != field.at_rest, not float(value).is_integer(), len(repr(value)), abs(value), value < 0)


def simpler_values(pool: Pool, value: Value) -> Iterator[Value]:
    """Yield values that are simpler than `value`, the simplest first."""
    if value in pool.values:
        yield from pool.values[: pool.values.index(value)]
        return
    yield from pool.values
    rounded = (round(float(value), digits) for digits in range(4))
    yield from (number for number in rounded if pool.field.holds(number) and number != value)


def draw_value(pool: Pool, chance: Random) -> Value:
    """Return a random value: one worth trying, one at which something changes, or any between."""
    kind, marks = chance.randrange(10), pool.marks
    if len(marks) < 2 or kind < 3:
        return chance.choice(pool.values)
    if kind < 5 and pool.cuts:
        return chance.choice(pool.cuts)
    if kind < 8:
        at = chance.randrange(len(marks) - 1)
        return chance.uniform(marks[at], marks[at + 1])
    return chance.uniform(marks[0], marks[-1])


def list_odd_values(field: Field, *, single: bool = False) -> list[float]:
    """Return values at the ends of the range of a field, next to them and beyond; with `single`, 32-bit floats.

    >>> list_odd_values(Field("phase", values=("plan", "code")))
    [-1.0, 2.0]
    """
    if field.kind == "flag":
        return []
    if field.kind == "category":
        return [-1.0, float(len(field.labels))]
    ends = [float(end) for end in (field.low, field.high, *field.numbers) if end is not None]
    return [*dict.fromkeys(list_neighbours(ends, single=single)), math.nan, math.inf, -math.inf]
