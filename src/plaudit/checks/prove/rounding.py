"""How far rounding can take a float64 result from the exact one: running error analysis over the nodes."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from plaudit.checks.solver.ranges import NumericRow, declared_range
from plaudit.language import nodes as n
from plaudit.language.intervals import Interval, bound_nodes_within
from plaudit.language.program import Program, power

UNIT = 2.0**-53
"""The relative error of one rounded operation."""


class RoundingError(NamedTuple):
    """A bound on the error of one number."""

    size: float
    """Infinite where no bound is known; never NaN."""
    reason: str = ""
    """Why no bound is known."""


def bound_rounding(program: Program, row: NumericRow | None = None) -> dict[str, RoundingError]:
    """Return a bound on the error of each output over the declared ranges, where no rounding flips a comparison.

    With a `row`, a bound at that row alone.

    This is running-error analysis over the nodes (Higham 2002, §3.3). Inputs are exact; a constant stands for the
    decimal that was written. What has no bound says why: the first operation on the way that has none.
    """
    within = {
        name: declared_range(field) if row is None else Interval(row[name], row[name])
        for name, field in program.inputs.items()
    }
    found = bound_nodes_within(program, within)
    sizes: list[float] = []
    reasons: list[str] = []
    for at, node in enumerate(program.nodes):
        size = _bound_error(node, at, found, sizes)
        sizes.append(size if math.isfinite(size) else math.inf)
        inherited = (reasons[operand] for operand in n.operands(node) if reasons[operand])
        reasons.append("" if math.isfinite(size) else next(inherited, "") or _explain_unbounded(node, found, sizes))
    return {output: RoundingError(sizes[at], reasons[at]) for output, at in program.outputs.items()}


def _explain_unbounded(node: n.Node, found: Sequence[Interval], sizes: Sequence[float]) -> str:
    """Return why an operation on numbers of bounded error has no bound itself."""
    operands = [found[at] for at in n.operands(node)]
    if isinstance(node, n.Div) and (_holds_zero(operands[1]) or _nearest(operands[1]) <= sizes[node.right]):
        return "a divisor may be 0 or close to it"
    if type(node) in SLOPES and math.isinf(SLOPES[type(node)](*operands)):
        return f"{type(node).__name__.lower()} gets infinitely steep in the range of its argument"
    return "a number on the way may be too large for a float"


def _bound_error(node: n.Node, at: int, found: Sequence[Interval], errors: Sequence[float]) -> float:
    result = _size(found[at])
    operands = n.operands(node)
    inherited = [errors[operand] for operand in operands]
    match node:
        case n.Const(value) if not isinstance(value, bool) and math.isfinite(value):
            return 0.0 if Fraction(repr(float(value))) == Fraction(float(value)) else UNIT * abs(float(value))
        case n.Select(condition) if found[condition].low == found[condition].high:
            return inherited[1 if found[condition].low else 2]
        case n.Select():
            return max(inherited[1:])
        case n.Min() | n.Max() | n.Clip():
            return max(inherited)
        case n.Neg() | n.Abs():
            return inherited[0]
        case n.Add() | n.Sub():
            return sum(inherited) + UNIT * (result + sum(inherited))
        case n.Mul(left, right):
            spread = (
                _times(_size(found[left]), inherited[1])
                + _times(_size(found[right]), inherited[0])
                + inherited[0] * inherited[1]
            )
            return spread + UNIT * (result + spread)
        case n.Div(left, right):
            least = _nearest(found[right])
            if _holds_zero(found[right]) or least <= inherited[1]:
                return math.inf
            spread = (inherited[0] + _times(result, inherited[1])) / (least - inherited[1])
            return spread + UNIT * (result + spread)
        case _ if node.inexact or type(node) in SLOPES:
            slope = SLOPES[type(node)](*(found[at] for at in operands)) if type(node) in SLOPES else node.steepness
            spread = _times(slope, sum(inherited))
            return spread + 4 * UNIT * (result + spread)
        case n.Mod() | n.FloorDiv():
            return sum(inherited) + 2 * UNIT * result
    return 0.0  # inputs, flags, tables, and what is rounded to whole numbers on the same side


def _size(interval: Interval) -> float:
    return max(abs(interval.low), abs(interval.high))


def _nearest(interval: Interval) -> float:
    return min(abs(interval.low), abs(interval.high))


def _holds_zero(interval: Interval) -> bool:
    return interval.low <= 0 <= interval.high


def _times(size: float, error: float) -> float:
    return 0.0 if error == 0 else size * error


def _steepest_root(arg: Interval) -> float:
    return 0.5 / math.sqrt(arg.low) if arg.low > 0 else math.inf


def _steepest_arc(arg: Interval) -> float:
    """Return the slope of an arc sine or cosine at the end of an interval that is nearer to an end of its domain."""
    left = (1.0 - _size(arg)) * (1.0 + _size(arg))
    return 1 / math.sqrt(left) if left > 0 else math.inf


def _steepest_angle(*point: Interval) -> float:
    """Return one by the distance from the origin."""
    nearest = (0.0 if _holds_zero(each) else _nearest(each) for each in point)
    distance = math.hypot(*nearest)
    return 1 / distance if distance > 0 else math.inf


def _steepest_power(base: Interval, exponent: Interval) -> float:
    """Return the slope in the base or in the exponent, whichever is more, at most."""
    if base.low <= 0:
        return math.inf
    powers = [power(x, y - less) for x in base for y in exponent for less in (0.0, 1.0)]
    return max(powers) * max(_size(exponent), *(abs(math.log(x)) if x < math.inf else math.inf for x in base))


SLOPES: Mapping[type[n.Node], Callable[..., float]] = {
    n.Sqrt: _steepest_root,
    n.Exp: lambda arg: math.exp(min(arg.high, 709.0)),
    n.Expm1: lambda arg: math.exp(min(arg.high, 709.0)),
    n.Log: lambda arg: 1 / arg.low if arg.low > 0 else math.inf,
    n.Log1p: lambda arg: 1 / (1 + arg.low) if arg.low > -1 else math.inf,
    n.Asin: _steepest_arc,
    n.Acos: _steepest_arc,
    n.Atan2: _steepest_angle,
    n.Power: _steepest_power,
}
"""How steep a function is at most over intervals, where that depends on them."""
