"""The units of what a reward computes: where metres are added to metres per second, or a sine is taken of degrees.

One loop over the nodes. A unit is known only where it follows from the units of fields: a constant or a parameter
adapts to whatever stands beside it, and a product with one may well be a conversion, so its unit is unknown.
Nothing is said about what is unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from plaudit.checks.dimensions import Unit
from plaudit.language import nodes as n
from plaudit.language.program import Program, reachable

Operation = Literal["adds", "compares", "chooses between", "takes the sine of", "takes the cosine of"]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Two units that do not go together; of a sine, the unit of the angle and the one that it must have."""

    node: int
    """The position of the operation in its Program."""
    terms: tuple[str, ...]
    """The terms whose score it reaches."""
    operation: Operation
    left: Unit
    right: Unit


class Free(Enum):
    """What has whatever unit is asked of it: a constant, a parameter, a flag as a number."""

    ANY = "any unit"


Reading = Unit | Free | None
"""What is known of a node's unit: the unit, that it adapts, or nothing."""

JOINING: Mapping[type[n.Node], Operation] = {
    n.Add: "adds",
    n.Sub: "adds",
    n.Lt: "compares",
    n.Le: "compares",
    n.Gt: "compares",
    n.Ge: "compares",
    n.Eq: "compares",
    n.Ne: "compares",
    n.Min: "chooses between",
    n.Max: "chooses between",
    n.Clip: "chooses between",
    n.Select: "chooses between",
}
"""Operations whose operands must have the same unit, which is then that of their result."""
FREE = (n.Const, n.Param, n.Number, n.Item)
OF_AN_ANGLE: Mapping[type[n.Node], Operation] = {n.Sin: "takes the sine of", n.Cos: "takes the cosine of"}
DEGREE, RADIAN = Unit.of({"deg": 1}), Unit.of({"rad": 1})
KEEPING = (n.Neg, n.Abs, n.Floor, n.Ceil, n.Round)
PURE = (n.Exp, n.Expm1, n.Log, n.Log1p, n.Sin, n.Cos, n.Tanh)
"""Functions whose result is a pure number."""


def mismatches(program: Program) -> list[Mismatch]:
    """Return every place in a term where known units that differ are joined, or an angle is taken in degrees."""
    owners: dict[int, list[str]] = {}
    for term in program.terms:
        for at in reachable(program.nodes, [program.outputs[f"{term}.score"]]):
            owners.setdefault(at, []).append(term)
    found: list[Mismatch] = []
    readings: list[Reading] = []
    for at, node in enumerate(program.nodes):
        if type(node) in JOINING:
            reading, clash = _joined([readings[operand] for operand in _alike(node)])
            if clash and at in owners:
                found.append(Mismatch(at, tuple(owners[at]), JOINING[type(node)], *clash))
        else:
            reading = _reading(node, program, readings)
            if isinstance(node, n.Sin | n.Cos) and at in owners:
                angle = readings[node.arg]
                if isinstance(angle, Unit) and angle.fits(DEGREE):
                    found.append(Mismatch(at, tuple(owners[at]), OF_AN_ANGLE[type(node)], angle, RADIAN))
        readings.append(reading)
    return found


def _alike(node: n.Node) -> tuple[int, ...]:
    """Return the operands of a joining operation that must have the same unit."""
    return (node.then, node.otherwise) if isinstance(node, n.Select) else n.operands(node)


def _joined(readings: Sequence[Reading]) -> tuple[Reading, tuple[Unit, Unit] | None]:
    """Return the unit that operands have in common, and the first two that do not go together."""
    known = [reading for reading in readings if isinstance(reading, Unit)]
    for other in known[1:]:
        if not known[0].fits(other):
            return None, (known[0], other)
    if None in readings:
        return None, None
    return known[0] if known else Free.ANY, None


def _reading(node: n.Node, program: Program, readings: Sequence[Reading]) -> Reading:
    """Return what is known of the unit of an operation that joins nothing; of a flag or a category, nothing."""
    match node:
        case n.Input(name):
            return Unit.read(program.inputs[name].unit)
        case n.Mul(left, right) if isinstance(program.nodes[left], n.Number):  # `right` where the flag is set, else 0
            return readings[right]
        case n.Mul(left, right) if isinstance(program.nodes[right], n.Number):
            return readings[left]
        case n.Mul(left, right):
            return _product(readings[left], readings[right], 1)
        case n.Div(left, right) | n.FloorDiv(left, right):
            return _product(readings[left], readings[right], -1)
        case n.Mod(left, right):
            return readings[left] if readings[right] is not None else None
        case n.Sqrt(arg):
            return reading.root() if isinstance(reading := readings[arg], Unit) else reading
    if isinstance(node, KEEPING):
        return readings[node.arg]
    if isinstance(node, PURE):
        return Unit() if isinstance(reading := readings[node.arg], Unit) else reading
    return Free.ANY if isinstance(node, FREE) else None


def _product(left: Reading, right: Reading, power: int) -> Reading:
    if isinstance(left, Unit) and isinstance(right, Unit):
        return left.times(right, power)
    return Free.ANY if left is Free.ANY and right is Free.ANY else None
