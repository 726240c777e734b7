"""How far a target may be from the oracle (semantics §4), and which rows stand too close to a cliff to compare.

The bound is `4·n·eps·M`: `n` the longest chain of operations, `M` the largest intermediate of the row. A row is set
aside where rounding alone could take the other side of a comparison, leave an operation's domain, or be magnified
beyond that bound; a running error bound, one loop over the nodes, says where. Where every operand is exact nothing is
set aside: `x < 0.1` on both sides of 0.1 is always compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from plaudit.checks.trace import Trace, find_reached
from plaudit.language import nodes as n
from plaudit.language.program import Program
from plaudit.language.rounding import bound_errors
from plaudit.testing.cases import Case, Dtype

Array = Any
"""An array of NumPy with an entry for each row."""
Kinds = tuple[type[n.Node], ...]

LARGEST_EXPONENT = {"float64": 709.782712893384, "float32": 88.72283}

EXACT = tuple(
    kind for kind in n.KINDS.values() if not kind.inexact and kind not in (n.FloorDiv, n.Mod, n.Floor, n.Ceil, n.Round)
)
"""Operations that IEEE 754 rounds correctly: every target gives the same bits."""


ARITHMETIC = (n.Add, n.Sub, n.Mul, n.Div, n.Sqrt)


def exactly_rounded(case: Case) -> bool:
    """Return whether every target must give the very bits of the plain functions."""
    return not case.powers and all(isinstance(node, EXACT) for node in case.reward.program.nodes)


@dataclass(frozen=True)
class Allowance:
    """For each row of a batch: how far outputs may differ, and whether it can be compared at all."""

    bound: Array
    aside: Array


def allowance(
    program: Program, arguments: Sequence[Any], *, dtype: Dtype = np.float64, inexact: Kinds = ()
) -> Allowance:
    """Return what `program` may differ by on each row.

    `inexact` are those of `+ - * / sqrt` that the target may round otherwise than the oracle.
    """
    values = Trace(program).columns(arguments)
    limits = np.finfo(dtype)
    unit = float(limits.eps)
    rounds = [isinstance(node, (*inexact, n.FloorDiv, n.Mod)) for node in program.nodes]
    errors = [each.error for each in bound_errors(program, values, values, unit=unit, rounds=rounds)]
    numbers = [value for value in values if value.dtype.kind == "f"]
    with np.errstate(all="ignore"):
        cliff = _find_cliffs(program, values, errors, unit, LARGEST_EXPONENT[limits.dtype.name])
        sizes = np.abs(np.stack([*numbers, np.ones(len(values[0]))]))
        sizes = np.where(np.isfinite(sizes), sizes, 0.0)
        nonzero = np.where(sizes > 0, sizes, 1.0)
        reach = (np.max(nonzero, axis=0) > float(limits.max) / 1e3) | (
            np.min(nonzero, axis=0) < float(limits.tiny) * 1e3
        )
        bound = 4 * _find_depth(program) * unit * np.max(sizes, axis=0)
        worst = reduce(np.maximum, (errors[at] for at in program.outputs.values()))
        aside = cliff | ~(worst <= bound) | (reach if inexact == ARITHMETIC else False)
    return Allowance(bound, aside)


def _find_depth(program: Program) -> int:
    depth: list[int] = []
    for node in program.nodes:
        depth.append(1 + max((depth[at] for at in n.operands(node)), default=0))
    return max(depth)


def _find_cliffs(
    program: Program, values: Sequence[Array], errors: Sequence[Array], unit: float, largest_exponent: float
) -> Array:
    """Return the rows in which a discontinuity that matters lies within the rounding error of what it depends on."""
    roots = (*program.outputs.values(), *(guard.node for guard in program.guards()))
    cliff: Array = np.zeros(len(values[0]), bool)
    for at, reached in enumerate(find_reached(program, values, roots)):
        node = program.nodes[at]
        of = program.nodes[node.arg] if isinstance(node, n.Defined) else node
        operands = n.operands(of)
        if operands and reached is not False:
            a, b = values[operands[0]], values[operands[-1]]
            ea, eb = errors[operands[0]], errors[operands[-1]]
            if isinstance(node, n.Defined):
                cliff |= reached & _is_near_end(of, b, eb, largest_exponent)
            else:
                cliff |= reached & _is_near_edge(of, a, b, ea, eb, unit)
    return cliff


def _is_near(distance: Array, error: Array) -> Array:
    return (error > 0) & (np.abs(distance) <= error)


def _is_near_edge(node: n.Node, a: Array, b: Array, ea: Array, eb: Array, unit: float) -> Any:
    match node:
        case n.FloorDiv() | n.Mod():
            quotient = np.abs(a / np.where(b == 0, 1, b))
            slack = np.where(ea + eb > 0, (ea + quotient * eb) / np.abs(b) + 2 * unit * quotient, 0)
            return _is_near(quotient - np.rint(quotient), slack)
        case n.Floor() | n.Ceil():
            return _is_near(a - np.rint(a), ea)
        case n.Round():
            return _is_near(a - np.floor(a) - 0.5, ea)
        case n.Atan2():  # the sign of a zero says on which side of the cut it is
            return ((a == 0) | _is_near(a, ea)) & (b - eb <= 0)
        case n.Lt() | n.Le() | n.Gt() | n.Ge() | n.Eq() | n.Ne():
            return _is_near(a.astype(float) - b, ea + eb)
        case n.Item():
            return ea > 0
        case n.Unary() if type(node) in n.FUNCTIONS and node.jump:
            return reduce(np.logical_or, (_is_near(a - end, ea) for end in node.edges))
    return False


def _is_near_end(node: n.Node, x: Array, error: Array, largest_exponent: float) -> Any:
    if isinstance(node, n.Exp | n.Expm1):
        return _is_near(x - largest_exponent, error) | (np.abs(x - largest_exponent) < 1e-3)
    if isinstance(node, n.Div | n.FloorDiv | n.Mod):
        return _is_near(x, error)
    ends = (node.domain.low, node.domain.high) if node.domain is not None else ()
    return reduce(np.logical_or, (_is_near(x - end, error) for end in ends if np.isfinite(end)), False)
