"""How far a target may be from the oracle (semantics §4), and which rows stand too close to a cliff to compare.

The bound is `4·n·eps·M`: `n` the longest chain of operations, `M` the largest intermediate of the row. A row is set
aside where rounding alone could take the other side of a comparison, leave an operation's domain, or be magnified
beyond that bound; a running error bound, one loop over the nodes, says where. Where every operand is exact nothing is
set aside: `x < 0.1` on both sides of 0.1 is always compared.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plaudit.language import nodes as n
from plaudit.language.program import Program
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


def _total(kind: type[n.Node]) -> Callable[..., Any]:
    """Return a function of NumPy, with its argument replaced by a harmless one outside the domain."""
    _, name = n.split_function(kind)
    function: Callable[..., Any] = getattr(np, {"round": "rint"}.get(name, name))
    if kind.domain is None:
        return function
    low, high = kind.domain.smallest, kind.domain.largest
    return lambda x: function(np.where((x >= low) & (x <= high), x, kind.harmless))


def _moved(kind: type[n.Node], x: Array, by: Array) -> Array:
    """Return how far a function that only rises or only falls may move when its argument does."""
    function = OPERATIONS[kind]
    ends = (-np.inf, np.inf) if kind.domain is None else (kind.domain.smallest, kind.domain.largest)
    moved = [np.abs(function(np.clip(x + step, *ends)) - function(x)) for step in (by, -by)]
    return np.where(by > 0, np.max(np.stack(moved), axis=0), 0.0)


def _over(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: operation(a, np.where(b == 0, 1.0, b))


OPERATIONS: dict[type[n.Node], Callable[..., Any]] = {
    n.Neg: np.negative,
    n.Not: np.logical_not,
    n.Number: lambda flag: np.where(flag, 1.0, 0.0),
    **{kind: _total(kind) for kind in n.FUNCTIONS},
    n.IsInf: np.isinf,
    n.IsFinite: np.isfinite,
    n.Add: np.add,
    n.Sub: np.subtract,
    n.Mul: np.multiply,
    n.Div: _over(np.divide),
    n.FloorDiv: _over(np.floor_divide),
    n.Mod: _over(np.remainder),
    n.Min: lambda a, b: np.where(b < a, b, a),
    n.Max: lambda a, b: np.where(b > a, b, a),
    n.Lt: np.less,
    n.Le: np.less_equal,
    n.Gt: np.greater,
    n.Ge: np.greater_equal,
    n.Eq: np.equal,
    n.Ne: np.not_equal,
    n.And: np.logical_and,
    n.Or: np.logical_or,
    n.Select: np.where,
    n.Clip: lambda x, low, high: np.where(x < low, low, np.where(x > high, high, x)),
}


def trace(program: Program, arguments: Sequence[Any]) -> list[Array]:
    """Return the value of every node, for a list of columns in the order of the inputs."""
    given = dict(zip(program.inputs, arguments, strict=True))
    size = len(arguments[0]) if arguments else 1
    found: list[Array] = []
    with np.errstate(all="ignore"):
        for node in program.nodes:
            found.append(np.broadcast_to(_value(node, program, given, found), (size,)))
    return found


def _value(node: n.Node, program: Program, given: Mapping[str, Any], found: Sequence[Array]) -> Any:
    operands = [found[at] for at in n.operands(node)]
    match node:
        case n.Const(value):
            return np.asarray(value if isinstance(value, bool) else float(value))
        case n.Param(name):
            return np.asarray(program.params[name])
        case n.Input(name):
            return given[name]
        case n.Label(field, value):
            return np.asarray(next(f for f in program.inputs.values() if f.name == field).labels.index(value))
        case n.Item(table, _):
            [index] = operands
            return np.asarray(table)[np.where((index >= 0) & (index < len(table)), index, 0).astype(int)]
        case n.Defined(arg):
            return _is_defined(program.nodes[arg], found)
    return OPERATIONS[type(node)](*operands)


def _is_defined(node: n.Node, found: Sequence[Array]) -> Any:
    """Return where a partial operation is inside its domain."""
    last = found[n.operands(node)[-1]]
    if node.domain is not None:
        return (last >= node.domain.smallest) & (last <= node.domain.largest)
    if isinstance(node, n.Item):
        return (last >= 0) & (last < len(node.table)) & (last == np.floor(last))
    return last != 0


def allowance(
    program: Program, arguments: Sequence[Any], *, dtype: Dtype = np.float64, inexact: Kinds = ()
) -> Allowance:
    """Return what `program` may differ by on each row.

    `inexact` are those of `+ - * / sqrt` that the target may round otherwise than the oracle.
    """
    values = trace(program, arguments)
    size = len(values[0])
    unit = float(np.finfo(dtype).eps)
    numbers = [v for node, v in zip(program.nodes, values, strict=True) if v.dtype.kind == "f"]
    errors, cliff = _errors(program, values, unit, inexact, dtype)
    with np.errstate(all="ignore"):
        sizes = np.abs(np.stack([*numbers, np.ones(size)]))
        largest = np.max(np.where(np.isfinite(sizes), sizes, 0.0), axis=0)
        nonzero = np.where((sizes > 0) & np.isfinite(sizes), sizes, 1.0)
        limits = np.finfo(dtype)
        reach = (np.max(nonzero, axis=0) > float(limits.max) / 1e3) | (
            np.min(nonzero, axis=0) < float(limits.tiny) * 1e3
        )
    bound = 4 * _chain(program) * unit * largest
    worst = np.max(np.stack([errors[at] for at in program.outputs.values()]), axis=0)
    with np.errstate(all="ignore"):
        aside = cliff | ~(worst <= bound) | (reach if inexact == ARITHMETIC else False)
    return Allowance(bound, aside)


def _chain(program: Program) -> int:
    """Return the length of the longest chain of operations."""
    depth: list[int] = []
    for node in program.nodes:
        depth.append(1 + max((depth[at] for at in n.operands(node)), default=0))
    return max(depth)


def _relevant(program: Program, values: Sequence[Array]) -> list[Array]:
    """Return for each node the rows in which some output or condition depends on it."""
    found = [np.zeros(len(values[0]), bool) for _ in program.nodes]
    for root in (*program.outputs.values(), *(guard.node for guard in program.guards())):
        found[root] |= True
    for at, node in reversed(list(enumerate(program.nodes))):
        here = found[at]
        match node:
            case n.Select(condition, then, otherwise):
                found[condition] |= here
                found[then] |= here & values[condition]
                found[otherwise] |= here & ~values[condition]
            case n.And(left, right) | n.Or(left, right):
                found[left] |= here
                found[right] |= here & (values[left] if isinstance(node, n.And) else ~values[left])
            case _:
                for operand in n.operands(node):
                    found[operand] |= here
    return found


def _errors(
    program: Program, values: Sequence[Array], unit: float, inexact: Kinds, dtype: Dtype
) -> tuple[list[Array], Array]:
    """Return a bound on each node's rounding error, and where a discontinuity that matters lies within it."""
    size = len(values[0])
    nothing: Array = np.zeros(size)
    errors: list[Array] = []
    cliff: Array = np.zeros(size, bool)
    relevant = _relevant(program, values)
    limit = LARGEST_EXPONENT[np.dtype(dtype).name]

    def near(distance: Any, error: Any) -> Any:
        return (error > 0) & (np.abs(distance) <= error)

    for at, node in enumerate(program.nodes):
        v = values[at]
        operands = n.operands(node)
        a, ea, b, eb = nothing, nothing, nothing, nothing
        if operands:
            a, ea = values[operands[0]], errors[operands[0]]
        if len(operands) > 1:
            b, eb = values[operands[1]], errors[operands[1]]
        error: Array = nothing
        edge: Array = np.zeros(size, bool)
        with np.errstate(all="ignore"):
            touched = np.ones(size, bool) if isinstance(node, inexact) else (ea > 0) | (eb > 0)
            here = np.where(touched & np.isfinite(v.astype(float)), unit * np.abs(v.astype(float)), 0.0)
            far = 4 * unit * np.abs(v.astype(float))
            match node:
                case n.Neg() | n.Abs():
                    error = ea
                case n.Add() | n.Sub():
                    error = ea + eb + here
                case n.Mul():
                    error = np.where(ea > 0, np.abs(b) * ea, 0) + np.where(eb > 0, np.abs(a) * eb, 0) + ea * eb + here
                case n.Div():
                    error = (
                        np.where(touched & ((ea > 0) | (eb > 0)), (ea + np.abs(v) * eb) / (np.abs(b) - eb), 0) + here
                    )
                    error = np.where((eb > 0) & (np.abs(b) <= eb), np.inf, error)
                case n.FloorDiv() | n.Mod():
                    quotient = np.abs(a / np.where(b == 0, 1, b))
                    slack = np.where((ea > 0) | (eb > 0), (ea + quotient * eb) / np.abs(b) + 2 * unit * quotient, 0)
                    edge |= near(quotient - np.rint(quotient), slack)
                    error = ea + quotient * eb if isinstance(node, n.Mod) else nothing
                    error = error + unit * (
                        np.abs(b) if isinstance(node, n.Mod) else np.where(np.abs(v) * unit < 0.25, 0, np.abs(v))
                    )
                case n.Min() | n.Max() | n.Clip():
                    error = np.max(np.stack([errors[o] for o in operands]), axis=0)
                case n.Select(condition, then, otherwise):
                    error = np.where(values[condition], errors[then], errors[otherwise])
                case n.Sqrt():
                    error = np.where(ea > 0, np.minimum(ea / (2 * np.sqrt(np.maximum(a, ea))), np.sqrt(ea)), 0) + here
                case n.Exp():
                    error = v * np.expm1(ea) + far
                case n.Expm1():
                    error = np.exp(a) * np.expm1(ea) + far
                case n.Log():
                    error = np.where(ea > 0, ea / (a - ea), 0) + far
                case n.Log1p():
                    error = np.where(ea > 0, ea / (a + 1 - ea), 0) + far
                case n.Sin() | n.Cos():
                    error = ea + 4 * unit
                case n.Floor() | n.Ceil():
                    edge |= near(a - np.rint(a), ea)
                case n.Round():
                    edge |= near(a - np.floor(a) - 0.5, ea)
                case n.Unary() if type(node) in n.FUNCTIONS and node.jump:
                    edge |= np.any([near(a - end, ea) for end in node.edges], axis=0)
                case n.Unary() if type(node) in n.FUNCTIONS:
                    error = _moved(type(node), a, ea) + 4 * unit * np.maximum(np.abs(v), 1.0)
                case n.Atan2():  # the sign of a zero says on which side of the cut it is
                    distance = np.hypot(a, b) - ea - eb
                    error = np.where(ea + eb > 0, (ea + eb) / np.maximum(distance, 0), 0) + 4 * unit * np.pi
                    edge |= ((a == 0) | near(a, ea)) & (b - eb <= 0)
                case n.Hypot():
                    error = ea + eb + far
                case n.Lt() | n.Le() | n.Gt() | n.Ge() | n.Eq() | n.Ne():
                    edge |= near(a.astype(float) - b, ea + eb)
                case n.Item():
                    edge |= ea > 0
                case n.Defined(arg):
                    inner = program.nodes[arg]
                    ends = n.operands(inner)
                    x, ex = values[ends[-1]], errors[ends[-1]]
                    if isinstance(inner, n.Exp | n.Expm1):
                        edge |= near(x - limit, ex) | (np.abs(x - limit) < 1e-3)
                    elif inner.domain is not None:
                        finite = [end for end in (inner.domain.low, inner.domain.high) if np.isfinite(end)]
                        edge |= np.any([np.zeros(size, bool), *(near(x - end, ex) for end in finite)], axis=0)
                    elif isinstance(inner, n.Div | n.FloorDiv | n.Mod):
                        edge |= near(x, ex)
        cliff |= edge & relevant[at]
        errors.append(np.where(np.isnan(error), np.inf, error))
    return errors, cliff
