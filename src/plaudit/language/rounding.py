"""How far rounding can take each node of a Program from its exact value: running error analysis (Higham 2002, §3.3).

A node is known by an interval: over declared ranges, or at a single row, where both ends are the same. Whoever asks
says which operations round, so that one loop over the nodes serves proofs, parity and the contract of targets.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from plaudit.language import nodes as n
from plaudit.language.program import Program

Array = Any
"""A number for each row."""

SMALL = (n.Sin, n.Cos, n.Tanh, n.Atan, n.Asin, n.Acos, n.Atan2)
"""Functions of small results: libraries err by a share of 1, however close to 0 the result is."""


class Uncertain(NamedTuple):
    """A number from `low` to `high`, and the most that rounding has moved it."""

    low: Array
    high: Array
    error: Array = 0.0

    @property
    def size(self) -> Array:
        """The largest distance from 0."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def least(self) -> Array:
        """The smallest distance from 0."""
        apart = (self.low > 0) | (self.high < 0)
        return np.where(apart, np.minimum(np.abs(self.low), np.abs(self.high)), 0.0)

    @property
    def nears_zero(self) -> Array:
        """Whether it may be 0 in a range, or be moved there by rounding."""
        return (self.least <= self.error) & ((self.error > 0) | (self.low < self.high))

    def widen(self) -> "Uncertain":
        """Return where it may lie after rounding."""
        return Uncertain(self.low - self.error, self.high + self.error)


def bound_errors(
    program: Program, low: Sequence[Array], high: Sequence[Array], *, unit: float, rounds: Sequence[bool]
) -> list[Uncertain]:
    """Return each node with a bound on its error where no rounding flips a comparison; infinite where none is known.

    Args:
        program: The nodes; inputs are exact.
        low: The lower end of the interval of each node.
        high: The upper end.
        unit: The relative error of one operation.
        rounds: Whether each node is rounded even where its operands are exact; inexact functions always are.
    """
    found: list[Uncertain] = []
    with np.errstate(all="ignore"):
        for at, node in enumerate(program.nodes):
            result = Uncertain(np.asarray(low[at], float), np.asarray(high[at], float))
            operands = [found[operand] for operand in n.operands(node)]
            spread = _spread(node, result, operands)
            touched = rounds[at] | (sum(each.error for each in operands) > 0)
            error = spread + unit * _round(node, result, operands, spread, touched, unit)
            found.append(result._replace(error=np.where(np.isnan(error), np.inf, error)))
    return found


def _spread(node: n.Node, result: Uncertain, operands: Sequence[Uncertain]) -> Array:
    inherited = [each.error for each in operands]
    match node, operands:
        case n.Neg() | n.Abs() | n.Add() | n.Sub(), _:
            return sum(inherited)
        case n.Min() | n.Max() | n.Clip(), _:
            return reduce(np.maximum, inherited)
        case n.Select(), (condition, then, otherwise):
            chosen = np.where(condition.low != 0, then.error, otherwise.error)
            return np.where(condition.low == condition.high, chosen, np.maximum(then.error, otherwise.error))
        case n.Mul(), (a, b):
            return _times(a.size, b.error) + _times(b.size, a.error) + a.error * b.error
        case n.Div(), (a, b):
            moved = (a.error + _times(result.size, b.error)) / (b.least - b.error)
            return np.where(b.nears_zero, np.inf, np.where(a.error + b.error > 0, moved, 0.0))
        case n.Mod(), (a, b):
            moved = a.error + _times(a.size / np.where(b.least == 0, 1.0, b.least), b.error)
            return np.where(b.nears_zero, np.inf, moved)
        case _ if type(node) in n.FUNCTIONS and not node.flat:
            wide = [each.widen() for each in operands]
            moved = _times(find_slope(node, wide), sum(inherited))
            if node.domain is None:
                return moved
            outside = (wide[0].high < node.domain.smallest) | (wide[0].low > node.domain.largest)
            return np.where(outside, 0.0, moved)
    return np.asarray(0.0)  # inputs, flags, tables, and what is rounded to integers on the same side


def _round(
    node: n.Node, result: Uncertain, operands: Sequence[Uncertain], spread: Array, touched: Array, unit: float
) -> Array:
    """Return what an operation rounds by itself, in units."""
    size = np.where((result.low < result.high) | np.isfinite(result.low), result.size, 0.0)  # infinity is exact
    match node:
        case n.Const() | n.Add() | n.Sub() | n.Mul() | n.Div() | n.Sqrt():
            return np.where(touched, size + spread, 0.0)
        case n.Mod():
            return np.where(touched, operands[1].size, 0.0)
        case n.FloorDiv():
            return np.where(touched & (size * unit >= 0.25), size, 0.0)
        case _ if node.inexact:
            return 4 * (spread + (np.maximum(size, 1.0) if isinstance(node, SMALL) else size))
    return 0.0


def _times(size: Array, error: Array) -> Array:
    return np.where(error == 0, 0.0, size * error)


def find_slope(node: n.Node, operands: Sequence[Uncertain]) -> Array:
    """Return how steep a function is at most where its operands lie."""
    return SLOPES[type(node)](*operands) if type(node) in SLOPES else node.steepness


def _invert(distance: Array) -> Array:
    return np.where(distance > 0, 1 / distance, np.inf)


def _steepest_power(base: Uncertain, exponent: Uncertain) -> Array:
    """Return the slope in the base or in the exponent, whichever is more."""
    corners = [(x, y - less) for x in base[:2] for y in exponent[:2] for less in (0.0, 1.0)]
    powers = reduce(np.maximum, (np.power(x, y) for x, y in corners))
    logarithm = np.maximum(np.abs(np.log(base.low)), np.abs(np.log(base.high)))
    return np.where(base.low > 0, powers * np.maximum(exponent.size, logarithm), np.inf)


SLOPES: Mapping[type[n.Node], Callable[..., Array]] = {
    n.Sqrt: lambda arg: 0.5 * _invert(np.sqrt(arg.low)),
    n.Exp: lambda arg: np.exp(np.minimum(arg.high, 709.0)),
    n.Expm1: lambda arg: np.exp(np.minimum(arg.high, 709.0)),
    n.Log: lambda arg: _invert(arg.low),
    n.Log1p: lambda arg: _invert(1 + arg.low),
    n.Asin: lambda arg: _invert(np.sqrt((1 - arg.size) * (1 + arg.size))),
    n.Acos: lambda arg: _invert(np.sqrt((1 - arg.size) * (1 + arg.size))),
    n.Atan2: lambda y, x: _invert(np.hypot(y.least, x.least)),
    n.Power: _steepest_power,
}
"""How steep a function is at most over intervals, where that depends on them."""
