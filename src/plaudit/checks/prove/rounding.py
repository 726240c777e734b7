"""How far a float64 result can be from the exact one, by running-error analysis over the nodes (Higham 2002, §3.3)."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from plaudit.checks.domain import span
from plaudit.language import nodes as n
from plaudit.language.interval import Interval
from plaudit.language.intervals import within
from plaudit.language.program import Program

UNIT = 2.0**-53
"""The relative error of one rounded operation."""


def rounding(program: Program) -> dict[str, float]:
    """Return a bound on the error of each output over the declared ranges, where no rounding flips a comparison.

    Inputs are exact; a constant stands for the decimal that was written. Infinite where a range is missing.
    """
    found = within(program, {name: span(field) for name, field in program.inputs.items()})
    errors: list[float] = []
    for at, node in enumerate(program.nodes):
        errors.append(_error(node, at, found, errors))
    return {output: errors[at] for output, at in program.outputs.items()}


def _error(node: n.Node, at: int, found: Sequence[Interval], errors: Sequence[float]) -> float:
    result = _size(found[at])
    operands = n.operands(node)
    given = [errors[operand] for operand in operands]
    match node:
        case n.Const(value) if not isinstance(value, bool) and math.isfinite(value):
            return 0.0 if Fraction(repr(float(value))) == Fraction(float(value)) else UNIT * abs(float(value))
        case n.Select():
            return max(given[1:])
        case n.Min() | n.Max() | n.Clip():
            return max(given)
        case n.Neg() | n.Abs():
            return given[0]
        case n.Add() | n.Sub():
            return sum(given) + UNIT * (result + sum(given))
        case n.Mul(left, right):
            spread = _times(_size(found[left]), given[1]) + _times(_size(found[right]), given[0]) + given[0] * given[1]
            return spread + UNIT * (result + spread)
        case n.Div(left, right):
            least = min(abs(found[right].low), abs(found[right].high))
            if found[right].low <= 0 <= found[right].high or least <= given[1]:
                return math.inf
            spread = (given[0] + _times(result, given[1])) / (least - given[1])
            return spread + UNIT * (result + spread)
        case n.Unary() if type(node) in SLOPES:
            spread = _times(SLOPES[type(node)](found[operands[0]]), given[0])
            return spread + 4 * UNIT * (result + spread)
        case n.Mod() | n.FloorDiv():
            return sum(given) + 2 * UNIT * result
    return 0.0  # inputs, flags, tables, and what is rounded to whole numbers on the same side


def _size(interval: Interval) -> float:
    return max(abs(interval.low), abs(interval.high))


def _times(size: float, error: float) -> float:
    return 0.0 if error == 0 else size * error


def _steepest_root(arg: Interval) -> float:
    return 0.5 / math.sqrt(arg.low) if arg.low > 0 else math.inf


SLOPES: Mapping[type[n.Node], Callable[[Interval], float]] = {
    n.Sqrt: _steepest_root,
    n.Exp: lambda arg: math.exp(min(arg.high, 709.0)),
    n.Expm1: lambda arg: math.exp(min(arg.high, 709.0)),
    n.Log: lambda arg: 1 / arg.low if arg.low > 0 else math.inf,
    n.Log1p: lambda arg: 1 / (1 + arg.low) if arg.low > -1 else math.inf,
    n.Sin: lambda arg: 1.0,
    n.Cos: lambda arg: 1.0,
    n.Tanh: lambda arg: 1.0,
}
"""How steep each function is at most over an interval."""
