"""How z3 writes each operation that it knows: a table from node type to a small function of z3 and the operands."""

from collections.abc import Callable, Mapping
from typing import Any

from plaudit.language import nodes as n


def _floor(z3: Any, a: Any) -> Any:
    return z3.ToReal(z3.ToInt(a))


def _round(z3: Any, a: Any) -> Any:
    down = z3.ToInt(a)
    over = a - z3.ToReal(down)
    half = z3.RealVal("1/2")
    up = z3.Or(over > half, z3.And(over == half, down % 2 == 1))
    return z3.ToReal(z3.If(up, down + 1, down))


def _nonzero(z3: Any, b: Any) -> Any:
    return b if z3.is_rational_value(b) and b.as_fraction() != 0 else z3.If(b == 0, z3.RealVal(1), b)


def _modulo(z3: Any, a: Any, b: Any) -> Any:
    divisor = _nonzero(z3, b)
    return a - divisor * _floor(z3, a / divisor)


WRITTEN: Mapping[type[n.Node], Callable[..., Any]] = {
    n.Neg: lambda z3, a: -a,
    n.Abs: lambda z3, a: z3.If(a >= 0, a, -a),
    n.Not: lambda z3, a: z3.Not(a),
    n.Number: lambda z3, a: z3.If(a, z3.RealVal(1), z3.RealVal(0)),
    n.Floor: _floor,
    n.Ceil: lambda z3, a: -_floor(z3, -a),
    n.Round: _round,
    n.Add: lambda z3, a, b: a + b,
    n.Sub: lambda z3, a, b: a - b,
    n.Mul: lambda z3, a, b: a * b,
    n.Div: lambda z3, a, b: a / _nonzero(z3, b),
    n.FloorDiv: lambda z3, a, b: _floor(z3, a / _nonzero(z3, b)),
    n.Mod: _modulo,
    n.Min: lambda z3, a, b: z3.If(b < a, b, a),
    n.Max: lambda z3, a, b: z3.If(b > a, b, a),
    n.Lt: lambda z3, a, b: a < b,
    n.Le: lambda z3, a, b: a <= b,
    n.Gt: lambda z3, a, b: a > b,
    n.Ge: lambda z3, a, b: a >= b,
    n.Eq: lambda z3, a, b: a == b,
    n.Ne: lambda z3, a, b: a != b,
    n.And: lambda z3, a, b: z3.And(a, b),
    n.Or: lambda z3, a, b: z3.Or(a, b),
    n.Select: lambda z3, c, a, b: z3.If(c, a, b),
    n.Clip: lambda z3, a, low, high: z3.If(a < low, low, z3.If(a > high, high, a)),
}
"""How z3 writes each operation that it knows."""
