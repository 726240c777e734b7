"""What goes on inside a reward on one row: every intermediate number, how exact it is, and which way it turns."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from plaudit.checks.domain import position
from plaudit.checks.parity.rows import Value
from plaudit.checks.parity.single import narrow
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.targets.python import PythonReward

Values = Sequence[float | bool]
"""The value of every node of a Program."""

JUMPS = (n.Lt, n.Le, n.Gt, n.Ge, n.Eq, n.Ne, n.Floor, n.Ceil, n.Round, n.FloorDiv, n.Mod, n.Item)
"""Operations whose result jumps."""
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
FUNCTIONS = (n.Exp, n.Expm1, n.Log, n.Log1p, n.Sin, n.Cos, n.Tanh)
"""Operations whose result is hardly ever exact."""


class Inside:
    """A Program whose every node is an output."""

    def __init__(self, program: Program, *, single: bool = False) -> None:
        """Compile `program`, whose parameters must be bound; with `single`, what no 32-bit float holds is not exact."""
        self.program = program
        self._single = single
        names = tuple(f"n{at}" for at in range(len(program.nodes)))
        parts = ("value", "score", "clamped")
        outputs = {f"{name}.{part}": at for at, name in enumerate(names) for part in parts}
        opened = replace(program, terms=names, outputs={"total": 0, **outputs}, domain=(), ranges=())
        self._run = PythonReward(opened, guard=False).function
        self.jumps = [at for at, node in enumerate(program.nodes) if isinstance(node, JUMPS)]
        self.kinks = [at for at, node in enumerate(program.nodes) if isinstance(node, KINKS)]
        self.operations = sum(bool(n.operands(node)) for node in program.nodes)

    def values(self, row: Mapping[str, Value]) -> Values:
        """Return the value of every node."""
        fields = self.program.inputs
        positions = (_argument(field, row[name]) for name, field in fields.items())
        return self._run(*positions)[1:]

    def largest(self, values: Values) -> float:
        """Return the size of the largest finite number that an operation gave on the way to an output."""
        reached = self._reached(values)
        sizes = [
            abs(value)
            for at, (node, value) in enumerate(zip(self.program.nodes, values, strict=True))
            if reached[at] and n.operands(node) and not isinstance(value, bool) and math.isfinite(value)
        ]
        return max(sizes, default=0.0)

    def jumped(self, values: Values) -> tuple[float | bool, ...]:
        """Return which way each comparison and each step goes."""
        return tuple(self._turn(values, at) for at in self.jumps)

    def turned(self, values: Values) -> tuple[float | bool, ...]:
        """Return which way each comparison, each step, each clamp and each choice of the smaller or larger goes."""
        return tuple(self._turn(values, at) for at in (*self.jumps, *self.kinks))

    def _turn(self, values: Values, at: int) -> float | bool:
        match self.program.nodes[at]:
            case n.Mod(left, right):  # it jumps where the quotient does
                return values[left] // values[right] if values[right] else 0.0
            case n.Clip(arg, low, high):
                return (values[arg] > values[high]) - (values[arg] < values[low])
            case n.Min(left, right) | n.Max(left, right):
                return values[left] < values[right]
            case n.Abs(arg):
                return values[arg] < 0
        return values[at]

    def sure(self, values: Values) -> tuple[bool, ...]:
        """Return for each jump whether its operands are exact, so that no rounding can have decided it."""
        exact: list[bool] = []
        for at, node in enumerate(self.program.nodes):
            operands = n.operands(node)
            holds = not self._single or not n.operands(node) or narrow(values[at]) == values[at]
            exact.append(
                holds and all(exact[operand] for operand in operands) and _is_exact(node, operands, values, at)
            )
        return tuple(all(exact[operand] for operand in n.operands(self.program.nodes[at])) for at in self.jumps)

    def _reached(self, values: Values) -> list[bool]:
        """Return for each node whether some output depends on it in this row."""
        found = [False] * len(values)
        for root in self.program.outputs.values():
            found[root] = True
        for at in range(len(values) - 1, -1, -1):
            if not found[at]:
                continue
            node = self.program.nodes[at]
            operands: Sequence[int] = n.operands(node)
            if isinstance(node, n.Select):
                operands = (node.condition, node.then if values[node.condition] else node.otherwise)
            for operand in operands:
                found[operand] = True
        return found


def _argument(field: Field, value: Value) -> Value:
    return position(field, value) if isinstance(value, str) else value


def _is_exact(node: n.Node, operands: Sequence[int], values: Values, at: int) -> bool:
    """Return whether an operation on exact operands gave an exact result."""
    if isinstance(node, FUNCTIONS):
        return False
    numbers = [float(values[operand]) for operand in operands]
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
