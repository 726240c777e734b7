"""How much rounding can change a float64 result, and why no bound is known if there is none."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from plaudit.checks.solver.ranges import NumericRow, declared_range
from plaudit.language import nodes as n
from plaudit.language.intervals import Interval, bound_nodes_within
from plaudit.language.program import Program
from plaudit.language.rounding import SLOPES, Uncertain, bound_errors, find_slope

UNIT = 2.0**-53
"""The relative error of one rounded operation."""


class RoundingError(NamedTuple):
    """A bound on the error of one number."""

    size: float
    """Infinite if no bound is known; never NaN."""
    reason: str = ""
    """Why no bound is known: the first operation that has none."""


def bound_rounding(program: Program, row: NumericRow | None = None) -> dict[str, RoundingError]:
    """Return a bound on the error of each output over the declared ranges, where no rounding flips a comparison.

    With a `row`, a bound at that row alone. A constant stands for the decimal that was written.
    """
    within = {
        name: declared_range(field) if row is None else Interval(row[name], row[name])
        for name, field in program.inputs.items()
    }
    low, high = zip(*bound_nodes_within(program, within), strict=True)
    rounds = [_is_rounded(node) for node in program.nodes]
    found = bound_errors(program, low, high, unit=UNIT, rounds=rounds)
    reasons: list[str] = []
    for each, node in zip(found, program.nodes, strict=True):
        inherited = (reasons[operand] for operand in n.operands(node) if reasons[operand])
        reasons.append("" if math.isfinite(each.error) else next(inherited, "") or _explain_unbounded(node, found))
    return {output: RoundingError(float(found[at].error), reasons[at]) for output, at in program.outputs.items()}


def _is_rounded(node: n.Node) -> bool:
    match node:
        case n.Const(value):
            finite = not isinstance(value, bool) and math.isfinite(value)
            return finite and Fraction(repr(float(value))) != Fraction(float(value))
    return True


def _explain_unbounded(node: n.Node, found: Sequence[Uncertain]) -> str:
    operands = [found[at] for at in n.operands(node)]
    if isinstance(node, n.Div | n.Mod) and operands[1].nears_zero:
        return "a divisor may be 0 or close to it"
    with np.errstate(all="ignore"):
        if type(node) in SLOPES and np.isinf(find_slope(node, [each.widen() for each in operands])):
            return f"{type(node).__name__.lower()} becomes infinitely steep within the range of its argument"
    return "an intermediate number may be too large for a float"
