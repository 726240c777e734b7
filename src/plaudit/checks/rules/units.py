"""The rule about units: what is added, compared or chosen between must be of one kind, and an angle in radians.

A unit is known only where it follows from the units of fields: a constant or a parameter adapts to whatever stands
beside it, and a product with one may be a conversion, so its unit is unknown. Nothing is said about what is unknown.
"""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.language import nodes as n
from plaudit.language.program import Program, find_reachable
from plaudit.terminal import escape_controls

_SPELLINGS = str.maketrans({"·": "*", "⋅": "*", "×": "*", "−": "-"})
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_NAME = r"(?:[^\W\d_]|[%°$€£¥Ω])+(?:_[^\W\d_]+)*"
_TOKEN = re.compile(rf"\s*(?:(?P<name>{_NAME}|1(?!\d))|(?P<sign>[*/()]))(?P<power>\^?-?\d+)?")
_MEANS: Mapping[str, Mapping[str, int]] = {
    "N": {"kg": 1, "m": 1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "Pa": {"kg": 1, "m": -1, "s": -2},
    "Hz": {"s": -1},
    "°": {"deg": 1},
}
"""Names that stand for a product of others."""

_TIMES = frozenset(["s", "sec", "second", "seconds", "ms", "min", "minute", "minutes", "h", "hr", "hour", "hours"])

Token = tuple[str, int]
"""A name or a sign, and the power that follows it."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A product of powers of names.

    A few names are known to be products of others: `J` is `N*m`. The rest are only names: `km` and `m` have nothing
    in common.

    >>> str(Unit.read("m*s^-2")), Unit.read("m/s/s") == Unit.read("m/s²")
    ('m/s^2', True)
    """

    powers: tuple[tuple[str, int], ...] = ()
    """Names in alphabetical order, each with its exponent, which is not 0."""

    @classmethod
    def of(cls, powers: Mapping[str, int]) -> "Unit":
        """Return the unit with these exponents."""
        return cls(tuple(sorted((name, power) for name, power in powers.items() if power)))

    @classmethod
    def read(cls, text: str) -> "Unit | None":
        """Return the unit that `text` means; None where it says nothing or cannot be read.

        >>> str(Unit.read("J/(kg*K)")), Unit.read("1") == Unit(), Unit.read("about 3 m")
        ('J/K/kg', True, None)
        """
        plain = text.translate(_SPELLINGS).replace("**", "^").translate(_RAISED).strip()
        try:
            tokens = deque(_tokenize(plain))
            unit = _parse_product(tokens)
        except (ValueError, RecursionError):
            return None
        return None if tokens else unit

    def times(self, other: "Unit", power: int = 1) -> "Unit":
        """Return this unit times a power of the other."""
        powers = dict(self.powers)
        for name, exponent in other.powers:
            powers[name] = powers.get(name, 0) + power * exponent
        return Unit.of(powers)

    def root(self) -> "Unit | None":
        """Return the square root of this unit; None where an exponent is odd."""
        for unit in (self, self.expanded()):
            if not any(power % 2 for _, power in unit.powers):
                return Unit.of({name: power // 2 for name, power in unit.powers})
        return None

    def expanded(self) -> "Unit":
        """Return the same unit without names that stand for a product of others.

        >>> str(Unit.read("W/N").expanded())
        'm/s'
        """
        unit = Unit()
        for name, power in self.powers:
            unit = unit.times(Unit.of(_MEANS.get(name, {name: 1})), power)
        return unit

    def fits(self, other: "Unit") -> bool:
        """Return whether the two may be added; a radian is a length by a length, so it counts for nothing here."""
        return all(name == "rad" for name, _ in self.times(other, -1).expanded().powers)

    def __str__(self) -> str:
        """Return the unit as people write it: `m/s^2`, and `1` where nothing is left of it."""
        above = "*".join(_format_power(name, power) for name, power in self.powers if power > 0)
        below = "".join("/" + _format_power(name, -power) for name, power in self.powers if power < 0)
        return escape_controls((above or "1") + below)


def is_per_time(unit: str | None) -> bool:
    """Return whether a unit is a speed: so much per time.

    >>> [is_per_time(unit) for unit in ("m/s", "deg/s", "km/h", "m", "m/s^2", "W")]
    [True, True, True, False, False, False]
    """
    read = Unit.read(unit) if unit else None
    powers = {} if read is None else dict(read.expanded().powers)
    return [power for name, power in powers.items() if name in _TIMES] == [-1] and powers.get("kg") is None


def _format_power(name: str, power: int) -> str:
    return name if power == 1 else f"{name}^{power}"


def _tokenize(text: str) -> list[Token]:
    """Return the parts of a unit; ValueError where something else stands between them."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(text)
        power = int((found["power"] or "1").removeprefix("^"))
        if found["sign"] and found["power"] and found["sign"] != ")":
            raise ValueError(text)
        tokens.append((found["name"] or found["sign"], power))
        at = found.end()
    return tokens


def _parse_product(tokens: deque[Token]) -> Unit:
    """Take the tokens of a product, from left to right, and return the unit that they mean."""
    unit = _parse_factor(tokens)
    while tokens and tokens[0][0] in "*/":
        sign, _ = tokens.popleft()
        unit = unit.times(_parse_factor(tokens), 1 if sign == "*" else -1)
    return unit


def _parse_factor(tokens: deque[Token]) -> Unit:
    """Take the tokens of one name, of `1` or of what stands in brackets, and return the unit."""
    if not tokens or tokens[0][0] in "*/)":
        raise ValueError("a name is missing")
    name, power = tokens.popleft()
    if name == "1":
        return Unit()
    if name != "(":
        return Unit.of({name: power})
    unit = _parse_product(tokens)
    if not tokens or tokens[0][0] != ")":
        raise ValueError("a bracket is not closed")
    _, power = tokens.popleft()
    return Unit().times(unit, power)


Operation = Literal["adds", "compares", "chooses between", "combines", "takes the sine of", "takes the cosine of"]


@dataclass(frozen=True, slots=True)
class UnitMismatch:
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
    **{kind: "combines" for kind in n.FUNCTIONS if issubclass(kind, n.Binary) and kind is not n.Power},
}
"""Operations whose operands must have the same unit, which is then that of their result unless that is pure."""
FREE = (n.Const, n.Param, n.Number, n.Item)
OF_AN_ANGLE: Mapping[type[n.Node], Operation] = {n.Sin: "takes the sine of", n.Cos: "takes the cosine of"}
DEGREE, RADIAN = Unit.of({"deg": 1}), Unit.of({"rad": 1})
KEEPING = (n.Neg, n.Abs, n.Floor, n.Ceil, n.Round)


@rule("unit-mismatch", severity="warning", why="Adding or comparing meters and meters per second makes no sense.")
def find_unit_mismatches(context: CheckContext) -> Found:
    """Find operations on two units that do not go together."""
    reported: set[tuple[str, str]] = set()
    for each in list_mismatches(context.reward.program):
        term = each.terms[0] if each.terms else "total"
        message, repair = _describe_mismatch(term, each)
        if (term, message) in reported:
            continue
        reported.add((term, message))
        yield context.finding(term, message, repair)


def _describe_mismatch(term: str, found: UnitMismatch) -> tuple[str, str]:
    if found.operation in OF_AN_ANGLE.values():
        return (
            f"{term!r} {found.operation} an angle in {found.left}, but it must be in {found.right}.",
            "Multiply the angle by math.pi / 180, or correct the unit= of a field.",
        )
    return (
        f"{term!r} {found.operation} {found.left} and {found.right}.",
        "Convert one of the two by a factor, or correct the unit= of a field.",
    )


def list_mismatches(program: Program) -> list[UnitMismatch]:
    """Return every place in a term where known units that differ are joined, or an angle is taken in degrees."""
    owners: dict[int, list[str]] = {}
    for term in program.terms:
        if term == "clamp" and term in program.adjustments:
            continue  # what is clamped is the sum of all values, whatever their units
        for at in find_reachable(program.nodes, [program.outputs[f"{term}.score"]]):
            owners.setdefault(at, []).append(term)
    found: list[UnitMismatch] = []
    readings: list[Reading] = []
    for at, node in enumerate(program.nodes):
        if type(node) in JOINING:
            reading, clash = _join_readings([readings[operand] for operand in _like_operands(node)])
            if clash and at in owners:
                found.append(UnitMismatch(at, tuple(owners[at]), JOINING[type(node)], *clash))
            if node.pure and isinstance(reading, Unit):
                reading = Unit()
        else:
            reading = _read_unit(node, program, readings)
            if isinstance(node, n.Sin | n.Cos) and at in owners:
                angle = readings[node.arg]
                if isinstance(angle, Unit) and angle.fits(DEGREE):
                    found.append(UnitMismatch(at, tuple(owners[at]), OF_AN_ANGLE[type(node)], angle, RADIAN))
        readings.append(reading)
    return found


def _like_operands(node: n.Node) -> tuple[int, ...]:
    return (node.then, node.otherwise) if isinstance(node, n.Select) else n.operands(node)


def _join_readings(readings: Sequence[Reading]) -> tuple[Reading, tuple[Unit, Unit] | None]:
    """Return the unit that operands have in common, and the first two that do not go together."""
    known = [reading for reading in readings if isinstance(reading, Unit)]
    for other in known[1:]:
        if not known[0].fits(other):
            return None, (known[0], other)
    if None in readings:
        return None, None
    return known[0] if known else Free.ANY, None


def _read_unit(node: n.Node, program: Program, readings: Sequence[Reading]) -> Reading:
    """Return what is known of the unit of an operation that joins nothing; of a flag or a category, nothing."""
    match node:
        case n.Input(name):
            return Unit.read(program.inputs[name].unit)
        case n.Mul(left, right) if isinstance(program.nodes[left], n.Number):  # `right` where the flag is set, else 0
            return readings[right]
        case n.Mul(left, right) if isinstance(program.nodes[right], n.Number):
            return readings[left]
        case n.Mul(left, right):
            return _multiply_readings(readings[left], readings[right], 1)
        case n.Div(left, right) | n.FloorDiv(left, right):
            return _multiply_readings(readings[left], readings[right], -1)
        case n.Mod(left, right):
            return readings[left] if readings[right] is not None else None
        case n.Sqrt(arg):
            return reading.root() if isinstance(reading := readings[arg], Unit) else reading
    if isinstance(node, KEEPING):
        return readings[node.arg]
    if isinstance(node, n.Unary) and node.pure:
        return Unit() if isinstance(reading := readings[node.arg], Unit) else reading
    return Free.ANY if isinstance(node, FREE) else None


def _multiply_readings(left: Reading, right: Reading, power: int) -> Reading:
    if isinstance(left, Unit) and isinstance(right, Unit):
        return left.times(right, power)
    return Free.ANY if left is Free.ANY and right is Free.ANY else None
