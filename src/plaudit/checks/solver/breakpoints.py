"""Breakpoints: where an expression changes sides, the values worth trying there, and rows drawn from them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, product
from typing import TYPE_CHECKING, NamedTuple

from plaudit.checks.solver.ranges import declared_range, decode_value, limit_range, list_choices, value_at_rest
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.reward.task.bound import TaskField

if TYPE_CHECKING:
    import numpy as np  # a program that draws no rows loads no NumPy

MOST_FORMS = 8
MOST_VALUES = 32
COMPARISONS = (n.Lt, n.Le, n.Gt, n.Ge, n.Eq, n.Ne, n.Min, n.Max)


class Line(NamedTuple):
    """A node that is a straight line in one input: `scale * input + offset`."""

    input: str
    scale: float
    offset: float


def find_breakpoints(
    program: Program, *, comparing: tuple[type[n.Node], ...] = COMPARISONS
) -> dict[str, tuple[float, ...]]:
    """Return for each input the values at which a comparison, a clamp or a kink of the expression changes sides.

    Only what a straight line in a single input tells: `abs(x) > 3` cuts x at -3 and 3, `x - y > 0` cuts nothing.
    """
    lines, constants = _find_forms(program)
    found: dict[str, set[float]] = {name: set() for name in program.inputs}
    for node in program.nodes:
        if comparing is COMPARISONS:
            for edge, line in product(node.edges, lines.get(n.operands(node)[0], ()) if node.edges else ()):
                found[line.input].add((edge - line.offset) / line.scale)
        for left, right in _compared_operands(node, comparing):
            for line in lines.get(left, ()) if left >= 0 else ():
                for value in constants.get(right, ()) if right >= 0 else (0.0,):
                    found[line.input].add((value - line.offset) / line.scale)
                for other in lines.get(right, ()):
                    if other.input == line.input and other.scale != line.scale:
                        found[line.input].add((other.offset - line.offset) / (line.scale - other.scale))
            for line in lines.get(right, ()):
                for value in constants.get(left, ()):
                    found[line.input].add((value - line.offset) / line.scale)
    return {name: tuple(sorted(_keep_declared(values, program.inputs[name]))) for name, values in found.items()}


def list_values_to_try(program: Program) -> dict[str, tuple[float | bool | str, ...]]:
    """Return for each input the values worth trying, all of them within its declared range.

    >>> from plaudit import Reward, term
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> list_values_to_try(reaching.program.bind())
    {'distance': (0.0, 5e-324, 1.0, 1.9999999999999998, 2.0, 2.0000000000000004, 5.5, 8.999999999999998, 9.0)}
    """
    cut = find_breakpoints(program)
    return {
        name: tuple(decode_value(field, value) for value in list_numbers_to_try(field, cut[name]))
        for name, field in program.inputs.items()
    }


def list_numbers_to_try(field: Field, at: Iterable[float]) -> tuple[float, ...]:
    """Return the values worth trying of an input that changes sides `at` these."""
    if listed := list_choices(field):
        return listed
    low, high = declared_range(limit_range(field))
    wanted = {low, high, value_at_rest(field)}
    places = sorted({low, high, *at})
    for place in at:
        wanted |= {place, math.nextafter(place, -math.inf), math.nextafter(place, math.inf)}
    wanted |= {(a + b) / 2 for a, b in pairwise(places)}
    if isinstance(field, TaskField) and field.step is not None:
        wanted |= {place + field.step * k for place in tuple(wanted) for k in (-1, 1)}
    inside = _keep_declared(wanted, field)
    return tuple(sorted(inside | {math.inf})) if field.infinite else tuple(sorted(inside))


def sample_columns(fields: Mapping[str, Field], programs: Sequence[Program], count: int) -> "dict[str, np.ndarray]":
    """Return `count` rows as columns, each value drawn from those worth trying; the same rows every time."""
    import numpy as np

    chance = np.random.default_rng(0)
    breakpoints: dict[str, set[float]] = {name: set() for name in fields}
    for program in programs:
        for name, at in find_breakpoints(program).items():
            breakpoints.get(name, breakpoints.get(f"curr.{name}", set())).update(at)
    return {
        name: to_column(chance.choice(list_numbers_to_try(field, breakpoints[name]), count), field)
        for name, field in fields.items()
    }


def to_column(values: "np.ndarray", field: Field) -> "np.ndarray":
    """Return values as a column of the kind that a compiled reward takes."""
    import numpy as np

    return values.astype({"flag": np.bool_, "category": np.int64, "number": np.float64}[field.kind])


def _keep_declared(values: Iterable[float], field: Field) -> set[float]:
    reach = declared_range(field)
    return {value + 0.0 for value in values if math.isfinite(value) and reach.low <= value <= reach.high}


def _compared_operands(node: n.Node, comparing: tuple[type[n.Node], ...]) -> list[tuple[int, int]]:
    """Return the pairs of operands that a node weighs against one another; -1 stands for 0."""
    if not isinstance(node, comparing) and comparing is not COMPARISONS:
        return []
    match node:
        case n.Div(_, right) | n.FloorDiv(_, right) | n.Mod(_, right):
            return [(right, -1)]
        case n.Clip(arg, low, high):
            return [(arg, low), (arg, high)]
        case n.Binary(left, right) if isinstance(node, comparing):
            return [(left, right)]
    return []


def _find_forms(program: Program) -> tuple[Mapping[int, tuple[Line, ...]], Mapping[int, tuple[float, ...]]]:
    """Return for each node the lines it may follow, and the constants it may be."""
    lines: dict[int, tuple[Line, ...]] = {}
    values: dict[int, tuple[float, ...]] = {}
    for at, node in enumerate(program.nodes):
        lines[at] = tuple(dict.fromkeys(_find_lines(node, lines, values, program)))[:MOST_FORMS]
        values[at] = tuple(dict.fromkeys(_find_constants(node, values, program)))[:MOST_VALUES]
    return lines, values


def _find_constants(node: n.Node, values: Mapping[int, tuple[float, ...]], program: Program) -> tuple[float, ...]:
    match node:
        case n.Const(value):
            return (float(value),)
        case n.Param(name):
            return (float(program.params[name]),)
        case n.Item(table, _):
            return tuple(float(entry) for entry in table)
        case n.Select(_, then, otherwise) | n.Min(then, otherwise) | n.Max(then, otherwise):
            return values[then] + values[otherwise]
        case n.Neg(arg):
            return tuple(-value for value in values[arg])
        case n.Abs(arg):
            return tuple(abs(value) for value in values[arg])
        case n.Clip(arg, low, high):
            return values[arg] + values[low] + values[high]
    return ()


def _find_lines(
    node: n.Node, lines: Mapping[int, tuple[Line, ...]], values: Mapping[int, tuple[float, ...]], program: Program
) -> Iterable[Line]:
    match node:
        case n.Input(name) if program.inputs[name].kind == "number":
            return [Line(name, 1.0, 0.0)]
        case n.Neg(arg):
            return [Line(name, -scale, -offset) for name, scale, offset in lines[arg]]
        case n.Abs(arg):
            return [*lines[arg], *(Line(name, -scale, -offset) for name, scale, offset in lines[arg])]
        case n.Select(_, then, otherwise) | n.Min(then, otherwise) | n.Max(then, otherwise):
            return lines[then] + lines[otherwise]
        case n.Clip(arg):
            return lines[arg]
        case n.Add(left, right):
            return _shift(lines[left], values[right], 1.0) + _shift(lines[right], values[left], 1.0)
        case n.Sub(left, right):
            turned = [Line(name, -scale, -offset) for name, scale, offset in lines[right]]
            return _shift(lines[left], values[right], -1.0) + _shift(turned, values[left], 1.0)
        case n.Mul(left, right):
            return _scale(lines[left], values[right]) + _scale(lines[right], values[left])
        case n.Div(left, right):
            return _scale(lines[left], [1 / value for value in values[right] if value])
    return ()


def _shift(lines: Iterable[Line], by: Iterable[float], sign: float) -> list[Line]:
    return [Line(name, scale, offset + sign * value) for name, scale, offset in lines for value in by]


def _scale(lines: Iterable[Line], by: Iterable[float]) -> list[Line]:
    made = [Line(name, scale * value, offset * value) for name, scale, offset in lines for value in by]
    return [line for line in made if line.scale]  # what is scaled away is no line, and neither is what underflows
