"""What goes on inside a reward on one row: every intermediate number, how exact it is, and which way it turns."""

import math
import operator
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from plaudit.checks.solver.ranges import encode_value
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.rows.row import FlatRow, Value
from plaudit.targets.python import PythonReward

Values = Sequence[float | bool]
"""The value of every node of a Program."""

KINKS = (n.Clip, n.Min, n.Max, n.Abs)
"""Operations that choose between their operands and do not jump."""
ARITHMETIC: Mapping[type[n.Node], Callable[..., Fraction]] = {
    n.Add: operator.add,
    n.Sub: operator.sub,
    n.Mul: operator.mul,
    n.Div: operator.truediv,
    n.Mod: operator.mod,
}
"""Operations whose result can be rounded, and what it would be otherwise."""
PAST = (1, 0, 33, -32)
"""How many floats past a boundary to stand: on it, and where rounding does not reach."""
FLOATS_BETWEEN = 1 << 29
"""64-bit floats from one 32-bit float to the next."""
EPSILON = float(np.finfo(np.float32).eps)
"""How far one 32-bit float is from the next, relative to it."""


class Trace:
    """A Program whose every node is an output."""

    def __init__(self, program: Program, *, single: bool = False) -> None:
        """Compile `program`, whose parameters must be bound; with `single`, what no 32-bit float holds is not exact."""
        self.program = program
        self._single = single
        opened = program.with_terms({f"n{at}": at for at in range(len(program.nodes))})
        self._run = PythonReward(opened, guard=False).function
        self.jumps = [at for at, node in enumerate(program.nodes) if node.jump]
        self.kinks = [at for at, node in enumerate(program.nodes) if isinstance(node, KINKS)]
        self.operations = sum(bool(n.operands(node)) for node in program.nodes)

    def values(self, row: Mapping[str, Value]) -> Values:
        """Return the value of every node."""
        fields = self.program.inputs
        positions = (_encode_argument(field, row[name]) for name, field in fields.items())
        return self._run(*positions)[1:]

    def columns(self, arguments: Sequence[Any]) -> list[Any]:
        """Return the values of every node as columns, for columns of inputs; an unknown category counts as the last."""
        given = zip(self.program.inputs.values(), arguments, strict=True)
        known = (np.minimum(each, len(field.labels) - 1) if field.labels else each for field, each in given)
        rows = zip(*(each.tolist() for each in known), strict=True) if arguments else [()]
        found = map(np.array, zip(*(self._run(*row)[1:] for row in rows), strict=True))
        return [column if column.dtype.kind in "bi" else column.astype(float) for column in found]

    def largest_value(self, values: Values) -> float:
        """Return the size of the largest finite number that an operation gave on the way to an output."""
        reached = find_reached(self.program, values, self.program.outputs.values())
        sizes = [
            abs(value)
            for at, (node, value) in enumerate(zip(self.program.nodes, values, strict=True))
            if reached[at] and n.operands(node) and not isinstance(value, bool) and math.isfinite(value)
        ]
        return max(sizes, default=0.0)

    def read_jumps(self, values: Values) -> tuple[float | bool, ...]:
        """Return which way each comparison and each step goes."""
        return tuple(self._read_turn(values, at) for at in self.jumps)

    def read_turns(self, values: Values) -> tuple[float | bool, ...]:
        """Return which way each comparison, each step, each clamp and each choice of the smaller or larger goes."""
        return tuple(self._read_turn(values, at) for at in (*self.jumps, *self.kinks))

    def _read_turn(self, values: Values, at: int) -> float | bool:
        match self.program.nodes[at]:
            case n.Mod(left, right):  # it jumps where the quotient does
                return values[left] // values[right] if values[right] else 0.0
            case n.Clip(arg, low, high):
                return (values[arg] > values[high]) - (values[arg] < values[low])
            case n.Min(left, right) | n.Max(left, right):
                return values[left] < values[right]
            case node if node.edges and not node.flat:
                first = values[n.operands(node)[0]]
                return sum(first < edge for edge in node.edges)
        return values[at]

    def find_exact_jumps(self, values: Values) -> tuple[bool, ...]:
        """Return for each jump whether its operands are exact, so that no rounding can have decided it."""
        exact: list[bool] = []
        for at, node in enumerate(self.program.nodes):
            holds = not self._single or not n.operands(node) or to_float32(values[at]) == values[at]
            exact.append(holds and all(exact[operand] for operand in n.operands(node)) and _is_exact(node, values, at))
        return tuple(all(exact[operand] for operand in n.operands(self.program.nodes[at])) for at in self.jumps)


def find_reached(program: Program, values: Sequence[Any], roots: Iterable[int]) -> list[Any]:
    """Return for each node whether some root depends on it; `values` are those of a row, or columns of many."""
    found: list[Any] = [False] * len(values)
    for root in roots:
        found[root] = True
    for at in range(len(values) - 1, -1, -1):
        here = found[at]
        match node := program.nodes[at]:
            case _ if here is False:
                continue
            case n.Select(condition, then, otherwise):
                needed = [(condition, here), (then, here & values[condition])]
                needed.append((otherwise, here & (values[condition] ^ True)))
            case n.And(left, right):
                needed = [(left, here), (right, here & values[left])]
            case n.Or(left, right):
                needed = [(left, here), (right, here & (values[left] ^ True))]
            case _:
                needed = [(operand, here) for operand in n.operands(node)]
        for operand, reached in needed:
            found[operand] = found[operand] | reached
    return found


def _encode_argument(field: Field, value: Value) -> Value:
    return encode_value(field, value) if isinstance(value, str) else value


def _is_exact(node: n.Node, values: Values, at: int) -> bool:
    if node.inexact:
        return False
    numbers = [float(values[operand]) for operand in n.operands(node)]
    if not all(map(math.isfinite, [*numbers, values[at]])):
        return True  # infinity is what it is
    result = Fraction(float(values[at]))
    if isinstance(node, n.Sqrt):
        return result * result == Fraction(numbers[0])
    if type(node) not in ARITHMETIC:
        return True
    try:
        return ARITHMETIC[type(node)](*map(Fraction, numbers)) == result
    except ZeroDivisionError:
        return True  # the row is refused, or its result is not used


def move_to_edge(trace: Trace, row: FlatRow, name: str, far: float, *, past: int) -> FlatRow:
    """Return `row` with the input `name` moved towards `far`, up to where some turn is taken otherwise.

    It comes to stand so many floats `past` the last one before that: 0 is this last one, 1 the first one beyond. Where
    nothing turns differently at `far`, the row stays as it is.
    """
    near = row[name]
    if isinstance(near, str) or not math.isfinite(near) or near == far:
        return row
    here = trace.read_turns(trace.values(row))

    def turns_alike(value: float) -> bool:
        return trace.read_turns(trace.values({**row, name: value})) == here

    if turns_alike(far):
        return row
    edge = find_edge(float(near), far, turns_alike)
    moved = edge.move(past)
    return {**row, name: moved if trace.program.inputs[name].holds(moved) else edge.move(0)}


class Edge(NamedTuple):
    """Where something changes between two floats that are neighbours: the place of the first, and the way to go on."""

    place: int
    step: int

    def move(self, past: int) -> float:
        """Return the float so many places past the first one; 1 is the first after the change."""
        return _index_to_float(self.place + past * self.step)


def find_edge(near: float, far: float, is_same: Callable[[float], bool]) -> Edge:
    """Return where `is_same` changes on the way from `near`, of which it is true, to `far`, of which it is not.

    >>> edge = find_edge(0.0, 9.0, lambda x: x < 2)
    >>> edge.move(0), edge.move(1)
    (1.9999999999999998, 2.0)
    """
    low, high = _float_to_index(near), _float_to_index(far)
    while abs(high - low) > 1:
        middle = (low + high) // 2
        if is_same(_index_to_float(middle)):
            low = middle
        else:
            high = middle
    return Edge(low, high - low)


def _float_to_index(number: float) -> int:
    """Return the place of a float among all floats.

    >>> _float_to_index(0.0), _float_to_index(5e-324), _float_to_index(-5e-324)
    (0, 1, -1)
    """
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def _index_to_float(place: int) -> float:
    """Return the float at a place: the inverse of `_float_to_index`."""
    bits = place if place >= 0 else -place | -0x8000_0000_0000_0000
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def to_float32(number: float) -> float:
    """Return the 32-bit float nearest to a number.

    >>> to_float32(0.1), to_float32(15.0)
    (0.10000000149011612, 15.0)
    """
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def next_float32(number: float, towards: float) -> float:
    """Return the next 32-bit float in a direction."""
    with np.errstate(over="ignore"):
        return float(np.nextafter(np.float32(number), np.float32(towards)))


def list_neighbours(numbers: Iterable[float], *, single: bool = False) -> Iterator[float]:
    """Yield numbers, each with the floats on either side; with `single`, all of them 32-bit floats."""
    step = next_float32 if single else math.nextafter
    for number in map(to_float32, numbers) if single else numbers:
        yield from (number, step(number, -math.inf), step(number, math.inf))


def round_constants(program: Program) -> Program:
    """Return a Program with its parameters bound and every constant rounded to a 32-bit float."""
    bound = program.bind()
    return replace(bound, nodes=tuple(map(_round_constant, bound.nodes)))


def _round_constant(node: n.Node) -> n.Node:
    match node:
        case n.Const(value) if not isinstance(value, bool):
            return n.Const(to_float32(value))
        case n.Item(table, index):
            return n.Item(tuple(entry if isinstance(entry, bool) else to_float32(entry) for entry in table), index)
    return node
