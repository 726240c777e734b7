"""Intervals that hold every value a node can take, from the declared ranges of the inputs.

One loop over a Program. Bounds are computed with the very operations that run, which are monotone in floating point,
so they hold for the computed numbers and not only for the exact ones. Correlations are lost: `x - x` is not 0.
"""

import math
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Program

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
"""Also the interval of whatever may be NaN: inf - inf, 0 * inf, an input that is not checked."""
FLAG = Interval(0.0, 1.0)


def intervals(program: Program, *, ranges: bool = True, looked_up: bool = False) -> tuple[Interval, ...]:
    """Return an interval for each node; flags lie in [0, 1], categories are positions.

    Without `ranges`, numbers may be anything, whatever their field declares, and so may positions of categories
    unless they were `looked_up`.
    """
    found: list[Interval] = []
    for node in program.nodes:
        operands = [found[at] for at in n.operands(node)]
        match node:
            case n.Const(value):
                result = Interval(float(value), float(value))
            case n.Param(name):
                result = Interval(float(program.params[name]), float(program.params[name]))
            case n.Input(name):
                field = program.inputs[name]
                checked = ranges and name not in program.terminal  # what only the end reads is checked only there
                known = field.kind == "flag" or (looked_up and field.kind == "category")
                result = of_field(field) if checked or known else ANYTHING
            case n.Label():
                result = ANYTHING  # a position, and never computed with
            case n.Item(table, _):
                result = Interval(float(min(table)), float(max(table)))
            case n.Select():
                result = hull(operands[1], operands[2])
            case _:
                rule = RULES.get(type(node))
                result = FLAG if rule is None else rule(*operands)
        found.append(ANYTHING if math.isnan(result.low) or math.isnan(result.high) else result)
    return tuple(found)


def of_field(field: Field) -> Interval:
    """Return the interval of what a field can hold once its range has been checked."""
    if field.kind == "flag":
        return FLAG
    if field.kind == "category":
        return Interval(0.0, float(len(field.labels) - 1))
    if field.numbers:
        return Interval(min(field.numbers), max(field.numbers))
    anything = field.outside != "error"
    low = -LARGEST if anything or field.low is None else float(field.low)
    high = LARGEST if anything or field.high is None else float(field.high)
    return Interval(low, math.inf if field.infinite else high)


def hull(left: Interval, right: Interval) -> Interval:
    """Return the smallest interval that holds both."""
    return Interval(min(left.low, right.low), max(left.high, right.high))


def _corners(operation: Callable[[float, float], float]) -> Callable[[Interval, Interval], Interval]:
    def rule(left: Interval, right: Interval) -> Interval:
        values = [operation(a, b) for a in left for b in right]
        return ANYTHING if any(math.isnan(value) for value in values) else Interval(min(values), max(values))

    return rule


def _monotone(operation: Callable[[float], float], low: float, high: float) -> Callable[[Interval], Interval]:
    """Return the rule of a rising function whose domain is `[low, high]`."""

    def rule(arg: Interval) -> Interval:
        return Interval(operation(min(max(arg.low, low), high)), operation(min(max(arg.high, low), high)))

    return rule


def _divide(left: Interval, right: Interval) -> Interval:
    if right.low <= 0 <= right.high:
        return ANYTHING
    return _corners(lambda a, b: a / b)(left, right)


def _absolute(arg: Interval) -> Interval:
    if arg == ANYTHING:
        return ANYTHING
    ends = sorted((abs(arg.low), abs(arg.high)))
    return Interval(0.0 if arg.low <= 0 <= arg.high else ends[0], ends[1])


def _unless_nan(rule: Callable[..., Interval]) -> Callable[..., Interval]:
    """Return the rule of an operation that hands on a NaN in its first operand."""
    return lambda first, *others: ANYTHING if first == ANYTHING else rule(first, *others)


def _or_zero(rule: Callable[[Interval], Interval]) -> Callable[[Interval], Interval]:
    """Return the rule of an operation that is 0 for an infinite argument."""
    return lambda arg: rule(arg) if arg.finite else hull(rule(arg), Interval(0.0, 0.0))


def _modulo(left: Interval, right: Interval) -> Interval:
    if not left.finite:
        return ANYTHING
    size = max(abs(right.low), abs(right.high), 1.0)
    return Interval(-size, size)


_EXPONENT = 709.782712893384

RULES: Mapping[type[n.Node], Callable[..., Interval]] = {
    n.Neg: lambda a: Interval(-a.high, -a.low),
    n.Abs: _absolute,
    n.Number: lambda a: a,
    n.Sqrt: _or_zero(_monotone(math.sqrt, 0.0, LARGEST)),
    n.Exp: lambda a: hull(_monotone(math.exp, -LARGEST, _EXPONENT)(a), Interval(1.0, 1.0)),
    n.Expm1: lambda a: hull(_monotone(math.expm1, -LARGEST, _EXPONENT)(a), Interval(0.0, 0.0)),
    n.Log: lambda a: hull(_monotone(math.log, 5e-324, LARGEST)(a), Interval(0.0, 0.0)),
    n.Log1p: lambda a: hull(_monotone(math.log1p, -1.0 + 2**-53, LARGEST)(a), Interval(0.0, 0.0)),
    n.Sin: lambda a: Interval(-1.0, 1.0),
    n.Cos: lambda a: Interval(-1.0, 1.0),
    n.Tanh: _unless_nan(_monotone(math.tanh, -math.inf, math.inf)),
    n.Floor: _or_zero(lambda a: Interval(_whole(math.floor, a.low), _whole(math.floor, a.high))),
    n.Ceil: _or_zero(lambda a: Interval(_whole(math.ceil, a.low), _whole(math.ceil, a.high))),
    n.Round: _or_zero(lambda a: Interval(_whole(round, a.low), _whole(round, a.high))),
    n.Add: lambda a, b: Interval(a.low + b.low, a.high + b.high),
    n.Sub: lambda a, b: Interval(a.low - b.high, a.high - b.low),
    n.Mul: _corners(lambda a, b: a * b),
    n.Div: _divide,
    n.FloorDiv: lambda a, b: ANYTHING,
    n.Mod: _modulo,
    n.Min: _unless_nan(lambda a, b: Interval(min(a.low, b.low), min(a.high, b.high))),
    n.Max: _unless_nan(lambda a, b: Interval(max(a.low, b.low), max(a.high, b.high))),
    n.Clip: _unless_nan(
        lambda a, low, high: Interval(min(max(a.low, low.low), high.low), max(min(a.high, high.high), low.high))
    ),
}
"""How each operation moves intervals; comparisons and the joins of flags give a flag."""


def _whole(rounded: Callable[[float], float], value: float) -> float:
    return value if math.isinf(value) else float(rounded(value))


class Sure(NamedTuple):
    """What is known of a Program before any row is seen; a flag read from a table may be in one and not the other."""

    holds: frozenset[int] = frozenset()
    """Conditions that are true."""
    defined: frozenset[int] = frozenset()
    """Partial operations that are inside their domain."""


def surely(program: Program, *, ranges: bool = True, looked_up: bool = False) -> Sure:
    """Return the conditions that surely hold, and the partial operations surely inside their domain.

    With `ranges`, for inputs that lie in their declared sets; without, for any numbers at all. Categories that were
    `looked_up` are among their field's values either way.
    """
    found = intervals(program, ranges=ranges, looked_up=looked_up)
    wholes = _wholes(program, ranges, looked_up)
    holds: set[int] = set()
    defined: set[int] = set()
    for at, node in enumerate(program.nodes):
        if isinstance(node, n.PARTIAL) and _inside(node, found, wholes):
            defined.add(at)
        match node:
            case n.Const(value) if value is True:
                holds.add(at)
            case n.Defined(arg) if arg in defined:
                holds.add(at)
            case n.IsFinite(arg) if found[arg].finite:
                holds.add(at)
            case n.Or(left, right) if left in holds or right in holds:
                holds.add(at)
            case n.And(left, right) if left in holds and right in holds:
                holds.add(at)
    return Sure(frozenset(holds), frozenset(defined))


def open_guards(program: Program, *, ranges: bool, exact: bool = True) -> list[int]:
    """Return the conditions of `ok` that are still to be tested: declared ranges, and domains that are not sure.

    Nothing is sure while parameters are open, nor for floats narrower than the `exact` float64.
    """
    sure = surely(program, ranges=ranges) if exact and not program.params else Sure()
    domain = [guard.node for guard in program.domain if guard.node not in sure.holds]
    return [guard.node for guard in (program.ranges if ranges else ())] + domain


def _inside(node: n.Node, found: tuple[Interval, ...], wholes: list[bool]) -> bool:
    operands = [found[at] for at in n.operands(node)]
    match node:
        case n.Div() | n.FloorDiv() | n.Mod():
            return not operands[1].low <= 0 <= operands[1].high
        case n.Sqrt():
            return operands[0].low >= 0 and operands[0].high < math.inf
        case n.Log():
            return operands[0].low > 0 and operands[0].high < math.inf
        case n.Log1p():
            return operands[0].low > -1 and operands[0].high < math.inf
        case n.Exp() | n.Expm1():
            return operands[0].high <= _EXPONENT
        case n.Item(table, index):
            return operands[0].low >= 0 and operands[0].high <= len(table) - 1 and wholes[index]
    return operands[0].finite


def _wholes(program: Program, ranges: bool, looked_up: bool) -> list[bool]:
    """Return for each node whether it is surely a whole number."""
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
            case n.Floor() | n.Ceil() | n.Round() | n.Number():
                found.append(True)
            case _:
                found.append(False)
    return found
