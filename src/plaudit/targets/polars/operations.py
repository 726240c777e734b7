"""Writing a Program as Polars expressions: one function for each operation, a field for each value read repeatedly.

An expression of Polars is a tree: a value that is read twice is computed twice, and in a long formula exponentially
often. So values that are shared become fields of a struct, layer upon layer, and what is above reads the fields.
"""

import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from plaudit.language import nodes as n
from plaudit.language.intervals import ANYTHING, Interval
from plaudit.language.program import Program
from plaudit.targets.array import find_function

DEEPEST = 60
"""How many operations may stand inside one another before a value becomes a field."""
CHEAPEST = 4
"""Operations that may be written out once more rather than become a field: a layer is not free."""


def call_numpy(function: Any, columns: Sequence[pl.Series]) -> pl.Series:
    """Return a NumPy function of columns; single values are broadcast."""
    with np.errstate(all="ignore"):
        return pl.Series(function(*(column.to_numpy() for column in columns)))


def _use_numpy(function: Any) -> Callable[..., pl.Expr]:
    """Return an operation that Polars has not, or has otherwise than Python."""

    def write(*operands: pl.Expr) -> pl.Expr:
        made = partial(call_numpy, function)
        return pl.map_batches(list(operands), made, return_dtype=pl.Float64, is_elementwise=True)

    return write


_OPERATIONS: dict[type[n.Node], Callable[..., pl.Expr]] = {
    **{kind: _use_numpy(find_function(np, n.split_function(kind)[1])) for kind in n.FUNCTIONS},
    n.Neg: operator.neg,
    n.Add: operator.add,
    n.Sub: operator.sub,
    n.Mul: operator.mul,
    n.Div: operator.truediv,
    n.Mod: _use_numpy(np.remainder),  # of Polars `1e16 % 3` is 0
    n.FloorDiv: _use_numpy(np.floor_divide),
    n.Not: operator.invert,
    n.And: operator.and_,
    n.Or: operator.or_,
    n.Number: lambda flag: flag.cast(pl.Float64),
    n.IsInf: pl.Expr.is_infinite,
    n.IsFinite: pl.Expr.is_finite,
    n.Select: lambda condition, then, otherwise: pl.when(condition).then(then).otherwise(otherwise),
    n.Abs: pl.Expr.abs,
    n.Sqrt: pl.Expr.sqrt,
    n.Exp: pl.Expr.exp,
    n.Log: pl.Expr.log,
    n.Log1p: pl.Expr.log1p,
    n.Sin: pl.Expr.sin,
    n.Cos: pl.Expr.cos,
    n.Tanh: pl.Expr.tanh,
    n.Atan: pl.Expr.arctan,
    n.Asin: pl.Expr.arcsin,
    n.Acos: pl.Expr.arccos,
    n.Atan2: pl.arctan2,
    n.Floor: pl.Expr.floor,
    n.Ceil: pl.Expr.ceil,
    n.Round: lambda number: number.round(mode="half_to_even"),
    n.Sign: lambda number: pl.when(number == 0.0).then(0.0).otherwise(number.sign()),  # of -0.0 it would be -0.0
}
_COMPARISONS: dict[type[n.Node], Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    n.Lt: operator.lt,
    n.Le: operator.le,
    n.Gt: operator.gt,
    n.Ge: operator.ge,
    n.Eq: operator.eq,
    n.Ne: operator.ne,
}


@dataclass(frozen=True, slots=True)
class Cell:
    """An expression, how many layers of fields it stands on, and how many operations are written out in it."""

    expr: pl.Expr
    layer: int = 0
    size: int = 0
    depth: int = 0


class Layers:
    """Named values of a row, layer upon layer; those of the first read columns alone."""

    def __init__(self) -> None:
        self._layers: list[list[pl.Expr]] = []

    def add(self, name: str, cell: Cell) -> Cell:
        """Return a value as a field, so that it is computed once however often it is read."""
        if cell.layer == len(self._layers):
            self._layers.append([])
        self._layers[cell.layer].append(cell.expr.alias(name))
        return Cell(pl.field(name), cell.layer + 1)

    def build(self) -> pl.Expr:
        """Return the struct of all fields."""
        first, *above = self._layers
        made = pl.struct(first)
        for layer in above:
            made = made.struct.with_fields(layer)
        return made


def join_tests(tests: Sequence[Cell]) -> Cell:
    """Return the conjunction of tests; true where there is none."""
    found = [test.expr for test in tests]
    joined = found[0] if len(found) == 1 else pl.all_horizontal(found) if found else pl.lit(True)
    return Cell(joined, max((test.layer for test in tests), default=0))


class Writer:
    """Writes nodes of one Program whose parameters are bound; `found` holds an interval for each node.

    Polars has an order of its own for NaN, which is equal to itself and above infinity. Where an operand may be NaN,
    a comparison is written so that NaN fails it, as in Python.
    """

    def __init__(self, program: Program, found: Sequence[Interval], prefix: str) -> None:
        """Write nodes of `program`; shared values become fields whose names begin with `prefix`."""
        self._program = program
        self._nodes = program.nodes
        self._found = found
        self._prefix = prefix
        self._signed = any(isinstance(node, n.Atan2) for node in program.nodes)
        """Whether the result of an operation depends on the sign of a zero."""

    def write(self, roots: Sequence[int], inputs: Mapping[str, Cell], layers: Layers) -> list[Cell]:
        """Return the expression of each root; shared values become fields on `layers`."""
        uses = Counter(roots)
        for at in range(len(self._nodes) - 1, -1, -1):
            if uses[at]:
                uses.update(self._list_reads(at) * self._count_readings(at))
        cells: dict[int, Cell] = {}
        for at, node in enumerate(self._nodes):
            if not uses[at]:
                continue
            if isinstance(node, n.Input):
                cells[at] = inputs[node.name]
                continue
            operands = [cells[read] for read in self._list_reads(at)]
            cell = Cell(
                self._write_node(node, [operand.expr for operand in operands]),
                max((operand.layer for operand in operands), default=0),
                1 + sum(operand.size for operand in operands) if operands else 0,
                1 + max((operand.depth for operand in operands), default=0),
            )
            shared = cell.size * (uses[at] - 1) > CHEAPEST
            cells[at] = layers.add(f"{self._prefix}{at}", cell) if shared or cell.depth > DEEPEST else cell
        return [cells[root] for root in roots]

    def _list_reads(self, at: int) -> tuple[int, ...]:
        """Return the operands that a node is written with; of a domain those of its operation."""
        node = self._nodes[at]
        if (between := self._find_range(node)) is not None:
            return (between[0],)
        return n.operands(self._nodes[node.arg] if isinstance(node, n.Defined) else node)

    def _find_range(self, node: n.Node) -> tuple[int, float, float] | None:
        """Return a number and the constants that it is compared with on either side: NaN fails the upper one."""
        match node:
            case n.And(left, right):
                match self._nodes[left], self._nodes[right]:
                    case n.Le(low, at), n.Le(number, high) if number == at:
                        ends = self._nodes[low], self._nodes[high]
                        if isinstance(ends[0], n.Const) and isinstance(ends[1], n.Const):
                            return number, float(ends[0].value), float(ends[1].value)
        return None

    def _count_readings(self, at: int) -> int:
        node = self._nodes[at]
        if isinstance(node, n.Power | n.Clip):
            return 3
        if isinstance(node, n.Div):
            return 1 if self._find_inexact_divisor(node) is None else 2
        if isinstance(node, n.Sign) or self._drops_zero(node) or (self._signed and isinstance(node, n.Min | n.Max)):
            return 2
        tested = isinstance(node, n.Defined | n.Min | n.Max) or type(node) in _COMPARISONS
        return 2 if tested and any(map(self._may_be_nan, self._list_reads(at))) else 1

    def _write_node(self, node: n.Node, operands: list[pl.Expr]) -> pl.Expr:
        match node:
            case n.Const(value):
                return pl.lit(value if isinstance(value, bool) else float(value))
            case n.Label(name, value):
                labels = next(field.labels for field in self._program.inputs.values() if field.name == name)
                return pl.lit(labels.index(value), pl.UInt32)
            case n.And() if (between := self._find_range(node)) is not None:
                return operands[0].is_between(*between[1:])
            case n.Defined(arg):
                return self._write_domain(self._nodes[arg], operands)
            case n.Item(table, _):
                return _write_item(table, operands[0])
            case n.Div() if (divisor := self._find_inexact_divisor(node)) is not None:
                [number, _] = operands
                return number / (number.is_nan().cast(pl.Float64) + divisor)
            case n.Add() | n.Sub() if self._drops_zero(node):
                plain = _OPERATIONS[type(node)](*operands)
                return pl.when(plain == 0.0).then(0.0).otherwise(plain)
            case n.Min() | n.Max():
                return self._write_extreme(node, *operands)
            case n.Clip():
                return self._write_clip(node, *operands)
            case n.Power(left, right):
                base, exponent = operands
                zero = pl.lit(0.0)
                above = self._compare(n.Gt, base, zero, (self._may_be_nan(left), False))
                raised = self._compare(n.Gt, exponent, zero, (self._may_be_nan(right), False))
                return pl.when(above | ((base == zero) & raised)).then(base.pow(exponent)).otherwise(1.0)
            case n.Binary() if type(node) in _COMPARISONS:
                risks = self._may_be_nan(node.left), self._may_be_nan(node.right)
                return self._compare(type(node), operands[0], operands[1], risks)
        return _OPERATIONS[type(node)](*operands)

    def _find_inexact_divisor(self, node: n.Div) -> float | None:
        """Return a constant divisor whose reciprocal is not exact: Polars would multiply by that, and round twice.

        It divides by a column, so the constant has to look like one.
        """
        divisor = self._nodes[node.right]
        if not isinstance(divisor, n.Const) or not divisor.value:
            return None
        number = float(divisor.value)
        exact = abs(math.frexp(number)[0]) == 0.5 and math.isfinite(1 / number)
        return None if exact else number

    def _drops_zero(self, node: n.Node) -> bool:
        """Return whether a sum with a constant 0 gives 0.0 where Polars, which leaves the constant out, has -0.0."""
        match node:
            case n.Add(left, right):
                return self._is_zero(left, 1.0) or self._is_zero(right, 1.0)
            case n.Sub(left, right):
                return self._is_zero(left, 1.0) or self._is_zero(right, -1.0)
        return False

    def _is_zero(self, at: int, sign: float) -> bool:
        node = self._nodes[at]
        return isinstance(node, n.Const) and node.value == 0 and math.copysign(1.0, node.value) == sign

    def _may_be_nan(self, at: int) -> bool:
        return self._found[at] == ANYTHING

    def _compare(self, kind: type[n.Node], left: pl.Expr, right: pl.Expr, risks: tuple[bool, bool]) -> pl.Expr:
        """Return a comparison that NaN fails; `risks` says which operand may be one."""
        plain = _COMPARISONS[kind](left, right)
        risky_left, risky_right = risks
        if kind in (n.Lt, n.Le) and risky_right:
            return plain & right.is_not_nan()
        if kind in (n.Gt, n.Ge) and risky_left:
            return plain & left.is_not_nan()
        if risky_left and risky_right and kind in (n.Eq, n.Ne):
            return plain & left.is_not_nan() if kind is n.Eq else plain | left.is_nan()
        return plain

    def _write_domain(self, source: n.Node, operands: list[pl.Expr]) -> pl.Expr:
        """Return the test that a partial operation is inside its domain; NaN is, for a divisor, as in Python."""
        last = operands[-1]
        at = n.operands(source)[-1]
        if isinstance(source, n.Item):
            return (last >= 0) & (last <= len(source.table) - 1) & (last == last.floor())
        if source.domain is None:
            return last != 0.0
        low, high, open_low, open_high = source.domain
        if source.domain == n.FINITE:
            return last.is_finite()
        above = self._compare(n.Gt if open_low else n.Ge, last, pl.lit(low), (self._may_be_nan(at), False))
        below = last < high if open_high else last <= high
        return above & below

    def _write_extreme(self, node: n.Node, left: pl.Expr, right: pl.Expr) -> pl.Expr:
        """Return the smaller or the larger of two numbers, the left one where they are equal or either is NaN.

        Which of two zeros it is makes no difference to most rewards, and the short way is planned much sooner.
        """
        smaller = isinstance(node, n.Min)
        risks = tuple(self._may_be_nan(at) for at in n.operands(node))
        if not any(risks) and not self._signed:
            return (pl.min_horizontal if smaller else pl.max_horizontal)(left, right)
        passed = self._compare(n.Lt if smaller else n.Gt, right, left, (risks[1], risks[0]))
        return pl.when(passed).then(right).otherwise(left)

    def _write_clip(self, node: n.Node, number: pl.Expr, low: pl.Expr, high: pl.Expr) -> pl.Expr:
        risky = any(self._may_be_nan(at) for at in n.operands(node))
        below = self._compare(n.Lt, number, low, (risky, risky))
        above = self._compare(n.Gt, number, high, (risky, risky))
        return pl.when(below).then(low).when(above).then(high).otherwise(number)


def _write_item(table: tuple[float | bool, ...], index: pl.Expr) -> pl.Expr:
    """Return the entry of a table; an index outside it gives the first entry."""
    flag = isinstance(table[0], bool)
    entries = list(table) if flag else [float(entry) for entry in table]
    positions = pl.Series(range(len(entries)), dtype=pl.Float64)
    dtype = pl.Boolean if flag else pl.Float64
    return index.cast(pl.Float64).replace_strict(positions, entries, default=entries[0], return_dtype=dtype)
