"""Intervals that hold every value a node can take, from the ranges of the inputs.

One loop over nodes. Bounds are computed with the very operations that run, which are monotone in floating point,
so they hold for the computed numbers and not only for the exact ones. A flag is [1, 1] where it surely holds, [0, 0]
where it surely does not, and the choice it makes is then known. Correlations are lost: `x - y + y` is not `x`.
"""

import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import PYTHON_OPERATIONS, Program

LARGEST = sys.float_info.max


class Interval(NamedTuple):
    """All numbers from `low` to `high`."""

    low: float
    high: float

    @property
    def finite(self) -> bool:
        """Whether neither end is infinite or NaN."""
        return -math.inf < self.low <= self.high < math.inf


ANYTHING = Interval(-math.inf, math.inf)
"""Also the interval of anything that may be NaN: inf - inf, 0 * inf, an input that is not checked."""
EITHER = Interval(0.0, 1.0)
YES = Interval(1.0, 1.0)
NO = Interval(0.0, 0.0)


def bound_field(field: Field) -> Interval:
    """Return the interval of what a field can hold once its range has been checked."""
    if field.kind == "flag":
        return EITHER
    if field.kind == "category":
        return Interval(0.0, float(len(field.labels) - 1))
    if field.numbers:
        return Interval(min(field.numbers), max(field.numbers))
    anything = field.outside != "raise"
    low = -LARGEST if anything or field.low is None else float(field.low)
    high = LARGEST if anything or field.high is None else float(field.high)
    return Interval(low, math.inf if field.infinite else high)


def join_intervals(left: Interval, right: Interval) -> Interval:
    """Return the smallest interval that holds both."""
    return Interval(min(left.low, right.low), max(left.high, right.high))


def bound_nodes(program: Program, *, ranges: bool = True, looked_up: bool = False) -> tuple[Interval, ...]:
    """Return an interval for each node; flags lie in [0, 1], categories are positions.

    Without `ranges`, numbers may be anything, whatever their field declares, and so may positions of categories
    unless they were `looked_up`.
    """
    box: dict[str, Interval] = {}
    for name, field in program.inputs.items():
        checked = ranges and name not in program.terminal  # what only the end reads is checked only there
        known = field.kind == "flag" or (looked_up and field.kind == "category")
        box[name] = bound_field(field) if checked or known else ANYTHING
    return bound_nodes_within(program, box, integers=find_integer_nodes(program, ranges, looked_up))


def bound_nodes_within(
    program: Program,
    box: Mapping[str, Interval],
    *,
    integers: Sequence[bool] = (),
    assumed: Mapping[int, Interval] | None = None,
) -> tuple[Interval, ...]:
    """Return an interval for each node, for inputs that lie in `box`.

    `integers` says which nodes are integers; `assumed` are intervals that some nodes are known to lie in besides.
    """
    found: list[Interval] = []
    for node, fixed, rule, operands in _list_steps(program):
        if fixed is not None:
            result = fixed
        elif rule is not None:
            result = rule(*[found[at] for at in operands])
        elif isinstance(node, n.Input):
            result = box[node.name]
        else:
            result = decide_defined(program.nodes[operands[0]], found, integers)
        if result.low != result.low or result.high != result.high:
            result = ANYTHING
        if assumed and (known := assumed.get(len(found))) is not None:
            both = Interval(max(result.low, known.low), min(result.high, known.high))
            result = both if both.low <= both.high else result
        found.append(result)
    return tuple(found)


def decide_defined(node: n.Node, found: Sequence[Interval], integers: Sequence[bool]) -> Interval:
    """Return whether a partial operation is inside its domain, as far as the intervals of its operands tell.

    `integers` says which nodes are surely integers.
    """
    arg = found[n.operands(node)[-1]]
    match node:
        case n.Item(table, index):
            integer = bool(integers) and integers[index]
            inside = arg.low >= 0 and arg.high <= len(table) - 1 and (integer or _is_integer_point(arg))
            between = arg.low == arg.high and not arg.low.is_integer()
            outside = arg.high < 0 or arg.low > len(table) - 1 or between
        case n.Unary() if node.domain is not None:
            low, high = node.domain.smallest, node.domain.largest
            inside, outside = low <= arg.low and arg.high <= high, arg.high < low or arg.low > high
        case _:  # a division
            inside, outside = not arg.low <= 0 <= arg.high, arg.low == arg.high == 0
    return YES if inside else NO if outside else EITHER


def _is_integer_point(arg: Interval) -> bool:
    return arg.low == arg.high and arg.low.is_integer()


def find_integer_nodes(program: Program, ranges: bool, looked_up: bool) -> list[bool]:
    """Return for each node whether it is surely an integer."""
    found: list[bool] = []
    for node in program.nodes:
        operands = [found[at] for at in n.operands(node)]
        match node:
            case n.Const(value):
                found.append(float(value).is_integer())
            case n.Input(name):
                field = program.inputs[name]
                checked = ranges and name not in program.terminal
                listed = bool(field.numbers) and all(number.is_integer() for number in field.numbers)
                known = field.kind == "flag" or (looked_up and field.kind == "category")
                found.append(known or (checked and (field.kind == "category" or listed)))
            case n.Add() | n.Sub() | n.Mul() | n.Min() | n.Max() | n.Neg() | n.Abs():
                found.append(all(operands))
            case n.Unary() if node.flat and not node.flag:  # rounding, and flags as numbers
                found.append(True)
            case _:
                found.append(False)
    return found


class _Step(NamedTuple):
    """A node, and its interval where that is always the same, or how the intervals of its operands give it."""

    node: n.Node
    fixed: Interval | None
    rule: Callable[..., Interval] | None
    operands: tuple[int, ...]


def _list_steps(program: Program) -> list[_Step]:
    """Return how to bound each node; a search walks the same Program many times."""
    if "intervals" not in program.memo:
        program.memo["intervals"] = [
            _Step(node, _bound_constant(node, program), _find_rule(node), n.operands(node)) for node in program.nodes
        ]
    steps: list[_Step] = program.memo["intervals"]
    return steps


def _bound_constant(node: n.Node, program: Program) -> Interval | None:
    match node:
        case n.Const(value):
            return Interval(float(value), float(value))
        case n.Param(name):
            return Interval(float(program.params[name]), float(program.params[name]))
        case n.Label(field, value):
            return _bound_label(program, field, value)
    return None


def _find_rule(node: n.Node) -> Callable[..., Interval] | None:
    """Return the rule of a node; an input has none, nor has whether an operation is inside its domain."""
    match node:
        case n.Item(table):
            return partial(_bound_entry, table)
        case n.Mul(left, right):
            return _bound_square if left == right else _product
    return RULES.get(type(node))


def _choose(test: Interval, then: Interval, otherwise: Interval) -> Interval:
    return then if test.low == 1 else otherwise if test.high == 0 else join_intervals(then, otherwise)


def _make_corner_rule(operation: Callable[[float, float], float]) -> Callable[[Interval, Interval], Interval]:
    def rule(left: Interval, right: Interval) -> Interval:
        values = [operation(a, b) for a in left for b in right]
        return ANYTHING if any(map(math.isnan, values)) else Interval(min(values), max(values))

    return rule


_product = _make_corner_rule(operator.mul)
_quotient = _make_corner_rule(operator.truediv)


def _bound_square(arg: Interval, _: Interval) -> Interval:
    return _square(arg)


def _square(arg: Interval) -> Interval:
    ends = _take_absolute(arg)
    return Interval(ends.low * ends.low, ends.high * ends.high) if ends != ANYTHING else ANYTHING


def _make_monotone_rule(
    operation: Callable[[float], float], low: float, high: float, *, falling: bool
) -> Callable[[Interval], Interval]:
    """Return the rule of a rising or falling function whose domain is `[low, high]`."""

    def rule(arg: Interval) -> Interval:
        ends = (operation(min(max(end, low), high)) for end in (reversed(arg) if falling else arg))
        return Interval(*ends)

    return rule


def _divide(left: Interval, right: Interval) -> Interval:
    return ANYTHING if right.low <= 0 <= right.high else _quotient(left, right)


def _floor_divide(left: Interval, right: Interval) -> Interval:
    if right.low <= 0 <= right.high or not left.finite or not right.finite:
        return ANYTHING
    return _make_corner_rule(operator.floordiv)(left, right)


def _take_absolute(arg: Interval) -> Interval:
    if arg == ANYTHING:
        return ANYTHING
    ends = sorted((abs(arg.low), abs(arg.high)))
    return Interval(0.0 if arg.low <= 0 <= arg.high else ends[0], ends[1])


def _make_nan_rule(rule: Callable[..., Interval]) -> Callable[..., Interval]:
    """Return the rule of an operation that hands on a NaN in its first operand."""
    return lambda first, *others: ANYTHING if first == ANYTHING else rule(first, *others)


def _make_total_rule(
    value: float, rule: Callable[[Interval], Interval], low: float, high: float
) -> Callable[[Interval], Interval]:
    """Return the rule of an operation that is `value` where its argument is not from `low` to `high`."""

    def total(arg: Interval) -> Interval:
        if low <= arg.low and arg.high <= high:
            return rule(arg)
        otherwise = Interval(value, value)
        return otherwise if arg.high < low or arg.low > high else join_intervals(rule(arg), otherwise)

    return total


def _take_angle(left: Interval, right: Interval) -> Interval:
    """Return the rule of `atan2`; a zero may be negative, which is the other side of the cut."""
    if ANYTHING in (left, right):
        return ANYTHING
    if right.low <= 0 and left.low <= 0 <= left.high:
        return Interval(-math.pi, math.pi)
    angles = [math.atan2(y, x) for y in left for x in right]
    low, high = math.nextafter(min(angles), -math.inf), math.nextafter(max(angles), math.inf)
    return Interval(max(low, -math.pi), min(high, math.pi))


def _take_distance(left: Interval, right: Interval) -> Interval:
    if ANYTHING in (left, right):
        return ANYTHING
    low, high = map(math.hypot, _take_absolute(left), _take_absolute(right))
    return Interval(max(math.nextafter(low, -math.inf), 0.0), math.nextafter(high, math.inf))


def _take_power(base: Interval, exponent: Interval) -> Interval:
    """Return the rule of a power, which rises or falls in each operand: its extremes are at the corners."""
    if ANYTHING in (base, exponent):
        return ANYTHING
    values = [PYTHON_OPERATIONS[n.Power](max(x, 0.0), y) for x in base for y in exponent]
    if base.low <= 0:
        values += [1.0, 0.0 if exponent.high > 0 else 1.0, math.inf if exponent.low < 0 < base.high else 1.0]
    return Interval(max(math.nextafter(min(values), -math.inf), 0.0), math.nextafter(max(values), math.inf))


def _take_remainder(left: Interval, right: Interval) -> Interval:
    if not left.finite:
        return ANYTHING
    if left.low == left.high and right.low == right.high != 0 and right.finite:
        return Interval(left.low % right.low, left.low % right.low)
    size = max(abs(right.low), abs(right.high), 1.0)
    return Interval(-size, size)


def _bound_entry(table: Sequence[float | bool], index: Interval) -> Interval:
    """Return what a table holds at positions in `index`; the first entry where one may be outside it."""
    if index.low == index.high and index.low.is_integer() and 0 <= index.low < len(table):
        entry = float(table[int(index.low)])
        return Interval(entry, entry)
    first = math.ceil(max(index.low, 0.0)) if index.low < len(table) else len(table)
    last = math.floor(min(index.high, len(table) - 1.0)) if index.high >= 0 else -1
    entries = [float(table[0]), *(float(entry) for entry in table[first : last + 1])]
    return Interval(min(entries), max(entries))


def _bound_label(program: Program, name: str, value: str) -> Interval:
    labels = next((field.labels for field in program.inputs.values() if field.name == name), ())
    return Interval(float(labels.index(value)), float(labels.index(value))) if value in labels else ANYTHING


def _make_wave_rule(
    operation: Callable[[float], float], at_infinity: float, peak: float
) -> Callable[[Interval], Interval]:
    """Return the rule of a sine or cosine that has its highest point at `peak`."""

    def rule(arg: Interval) -> Interval:
        if arg.low == arg.high:
            value = operation(arg.low) if arg.finite else at_infinity
            return Interval(value, value)
        if not arg.finite or arg.high - arg.low >= 2 * math.pi or max(-arg.low, arg.high) > 1e6:
            return Interval(-1.0, 1.0)
        ends = sorted((operation(arg.low), operation(arg.high)))
        low = -1.0 if _may_pass(arg, peak + math.pi) else max(ends[0] - 1e-9, -1.0)  # as good as any other bound
        return Interval(low, 1.0 if _may_pass(arg, peak) else min(ends[1] + 1e-9, 1.0))

    return rule


def _may_pass(arg: Interval, point: float) -> bool:
    """Return whether `arg` may hold `point` or a number whole turns away from it."""
    turns = math.floor((arg.high + 1e-9 - point) / (2 * math.pi))
    return point + 2 * math.pi * turns >= arg.low - 1e-9


def _round_finite(rounded: Callable[[float], float], value: float) -> float:
    return value if math.isinf(value) else float(rounded(value))


def _make_comparison_rule(
    yes: Callable[[Interval, Interval], bool], no: Callable[[Interval, Interval], bool]
) -> Callable[..., Interval]:
    """Return the rule of a comparison; what may be NaN decides nothing."""

    def rule(a: Interval, b: Interval) -> Interval:
        if a == ANYTHING or b == ANYTHING:
            return EITHER
        return YES if yes(a, b) else NO if no(a, b) else EITHER

    return rule


def _are_apart(a: Interval, b: Interval) -> bool:
    return a.high < b.low or b.high < a.low


def _are_equal(a: Interval, b: Interval) -> bool:
    return a.low == a.high == b.low == b.high


def _bound_isinf(a: Interval) -> Interval:
    return NO if a.finite else YES if a.low == math.inf or a.high == -math.inf else EITHER


def _make_function_rule(kind: type[n.Node]) -> Callable[[Interval], Interval]:
    """Return the rule of a function that only rises or only falls, from its properties."""
    operation = PYTHON_OPERATIONS[kind]
    if kind.domain is None:
        return _make_nan_rule(_make_monotone_rule(operation, -math.inf, math.inf, falling=kind.falling))
    low, high = kind.domain.smallest, kind.domain.largest
    rule = _make_monotone_rule(operation, low, high, falling=kind.falling)
    return _make_total_rule(operation(kind.harmless), rule, low, high)


def _make_rounding_rule(rounded: Callable[[float], float]) -> Callable[[Interval], Interval]:
    return _make_total_rule(
        0.0,
        lambda arg: Interval(_round_finite(rounded, arg.low), _round_finite(rounded, arg.high)),
        n.FINITE.smallest,
        n.FINITE.largest,
    )


RULES: Mapping[type[n.Node], Callable[..., Interval]] = {
    n.Neg: lambda a: Interval(-a.high, -a.low),
    n.Abs: _take_absolute,
    n.Number: lambda a: a,
    n.Select: _choose,
    **{kind: _make_function_rule(kind) for kind in n.FUNCTIONS if kind.monotone or kind.falling},
    n.Sin: _make_wave_rule(math.sin, 0.0, math.pi / 2),
    n.Cos: _make_wave_rule(math.cos, 1.0, 0.0),
    n.Floor: _make_rounding_rule(math.floor),
    n.Ceil: _make_rounding_rule(math.ceil),
    n.Round: _make_rounding_rule(round),
    n.Add: lambda a, b: Interval(a.low + b.low, a.high + b.high),
    n.Sub: lambda a, b: Interval(a.low - b.high, a.high - b.low),
    n.Div: _divide,
    n.FloorDiv: _floor_divide,
    n.Mod: _take_remainder,
    n.Atan2: _take_angle,
    n.Hypot: _take_distance,
    n.Power: _take_power,
    n.Min: _make_nan_rule(lambda a, b: Interval(min(a.low, b.low), min(a.high, b.high))),
    n.Max: _make_nan_rule(lambda a, b: Interval(max(a.low, b.low), max(a.high, b.high))),
    n.Clip: _make_nan_rule(
        lambda a, low, high: Interval(min(max(a.low, low.low), high.low), max(min(a.high, high.high), low.high))
    ),
    n.Not: lambda a: Interval(1.0 - a.high, 1.0 - a.low),
    n.And: lambda a, b: Interval(min(a.low, b.low), min(a.high, b.high)),
    n.Or: lambda a, b: Interval(max(a.low, b.low), max(a.high, b.high)),
    n.Lt: _make_comparison_rule(lambda a, b: a.high < b.low, lambda a, b: a.low >= b.high),
    n.Le: _make_comparison_rule(lambda a, b: a.high <= b.low, lambda a, b: a.low > b.high),
    n.Gt: _make_comparison_rule(lambda a, b: a.low > b.high, lambda a, b: a.high <= b.low),
    n.Ge: _make_comparison_rule(lambda a, b: a.low >= b.high, lambda a, b: a.high < b.low),
    n.Eq: _make_comparison_rule(_are_equal, _are_apart),
    n.Ne: _make_comparison_rule(_are_apart, _are_equal),
    n.IsInf: _bound_isinf,
    n.IsFinite: lambda a: YES if a.finite else NO if a.low == math.inf or a.high == -math.inf else EITHER,
}
"""How each operation moves intervals, where the intervals of its operands are all that matters."""
