"""A unit as a product of powers: read from text, multiplied, compared."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

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
            unit, rest = _product(_tokens(plain))
        except (ValueError, RecursionError):
            return None
        return None if rest else unit

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
        above = "*".join(_written(name, power) for name, power in self.powers if power > 0)
        below = "".join("/" + _written(name, -power) for name, power in self.powers if power < 0)
        return (above or "1") + below


def _written(name: str, power: int) -> str:
    return name if power == 1 else f"{name}^{power}"


Token = tuple[str, int]
"""A name or a sign, and the power that follows it."""


def _tokens(text: str) -> list[Token]:
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


def _product(tokens: list[Token]) -> tuple[Unit, list[Token]]:
    """Return the unit that the first tokens mean, from left to right, and the tokens that are left."""
    unit, tokens = _factor(tokens)
    while tokens and tokens[0][0] in "*/":
        factor, rest = _factor(tokens[1:])
        unit = unit.times(factor, 1 if tokens[0][0] == "*" else -1)
        tokens = rest
    return unit, tokens


def _factor(tokens: list[Token]) -> tuple[Unit, list[Token]]:
    """Return the unit of one name, of `1` or of what stands in brackets, and the tokens that are left."""
    if not tokens or tokens[0][0] in "*/)":
        raise ValueError("a name is missing")
    (name, power), rest = tokens[0], tokens[1:]
    if name == "1":
        return Unit(), rest
    if name != "(":
        return Unit.of({name: power}), rest
    unit, rest = _product(rest)
    if not rest or rest[0][0] != ")":
        raise ValueError("a bracket is not closed")
    return Unit().times(unit, rest[0][1]), rest[1:]
