r"""Numbers as they are written: 1,234.5, −3, 3/4, `\frac{3}{4}`, 5%, 2e3 and `2 \times 10^3`."""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from numbers import Rational
from typing import Any

from plaudit.errors import InputError
from plaudit.llm.ready.building import LONGEST

_MOST_DIGITS = 1000
"""Longer numbers, and those with larger exponents, are not read."""
_ROUNDING = Fraction(1, 10**12)
_MINUS = "−\uff0d-"
_RAISED = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_TO_ASCII = str.maketrans("−\uff0d" + _RAISED, "---0123456789")

# A number, with MARK for the decimal mark and GROUP for a separator of thousands and what follows it.
_NUMERAL = r"(?:\d{1,3}+GROUP++|\d++)(?:MARK\d++)?+|MARK\d++"
_GROUP = r"(?:(?:COMMA|\{COMMA\}|COMMA\\!|\\,|[\u00a0\u202f\u2009'’])\d{3}(?!\d))"
_IN_BRACES = rf"\{{[ ]?+(?P<%s>[{_MINUS}]?\d++(?:\.\d++)?)[ ]?+\}}[ ]?+"
_FRACTION = rf"""
    (?: (?P<whole>\d{{1,3}}+) (?: [ ]?+(?=\\[dt]?frac) | [ ](?=\d{{1,9}}+/\d) ) )?+
    (?:
        \\[dt]?frac[ ]?+ (?: {_IN_BRACES % "upper"}{_IN_BRACES % "lower"} | (?P<upper_digit>\d)(?P<lower_digit>\d) )
        | (?P<above>NUMERAL) [ ]?+[/\u2044][ ]?+ (?P<below>NUMERAL)
    )"""
_EXPONENT = rf"""(?:
    [ ]?+\^[ ]?+ \{{[ ]?+(?P<in_braces>[+{_MINUS}]?\d++)[ ]?+\}}
    | (?:[ ]?+\^[ ]?+|\*\*) (?P<bare>[+{_MINUS}]?\d++)
    | (?P<raised>⁻?[{_RAISED[1:]}]++)
    )"""
_NUMBER = rf"""
    (?P<of_a_name>\^[ ]?+\{{?+[+{_MINUS}]?+\d++) |
    (?<![A-Za-z_\d]) (?:(?<![)}}\]])(?P<sign>[+{_MINUS}]))?+ (?:\\?[$€£¥₹][ ]?+)?+
    (?:
        {_FRACTION}
        | (?: (?P<numeral>NUMERAL) [ ]{{0,3}}+ (?:\\times|\\cdot|[×·x]|\*(?!\*)) [ ]{{0,3}}+ )?+ 10{_EXPONENT}
        | (?P<plain>NUMERAL) (?:[eE](?P<e>[+-]?\d++))?+
    )
    (?P<power> [ ]?+\^(?!\s?\{{?\s?\\circ)[ ]?+\{{?+[+{_MINUS}]?+\d*+ | \*\*[{_MINUS}]?+\d++ | [{_RAISED}] )?+
    (?P<percent> [ ]?+\\?[%\uff05] )?+
"""

_SPACING = re.compile(r"\\(?:[;: !]|,(?!\d))|~|\\q?quad(?![a-z])|\\(?:left|right|displaystyle)(?![a-z])")
_WORDS = re.compile(r"\\(?:text|mathrm|mbox|textbf|mathbf)\s{0,9}\{(?P<words>[^{}]*)\}")
_NAME = re.compile(r".*(?:=|≈|\\approx(?![a-z]))", re.DOTALL)
_UNIT = re.compile(r"(?:(?=\s|[^\W\d_]{2}|°)(?:[^\W\d_]|[\s/.°²³]|\^\{?[23°]\}?)*+|\^?\{?\\circ\}?)?\.?")
_OR = re.compile(r"\b(?:and|e|et|o|oder|or|ou|und|y)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was written."""

    value: Fraction
    percent: bool = False
    rounded: bool = False
    """Whether it was a float, of which the last digits say nothing."""

    def equals(self, wanted: "Number", relative: float, absolute: float) -> bool:
        """Return whether it is near enough; where only one has a percent sign, that is 5 or 0.05."""
        values = [self.value, self.value / 100] if self.percent and not wanted.percent else [self.value]
        goals = [wanted.value, wanted.value / 100] if wanted.percent and not self.percent else [wanted.value]
        share = max(Fraction(relative), _ROUNDING if wanted.rounded else Fraction(0))
        return any(
            abs(value - goal) <= max(Fraction(absolute), share * abs(goal)) for value in values for goal in goals
        )


def find_last_number(text: str, decimal: str = ".") -> Number | None:
    """Return the last number of a text; None if there is none, or if its value is not clear, as that of 2^9.

    >>> find_last_number("2 or 3/4 of them").value
    Fraction(3, 4)
    """
    last = None
    for each in _compile(decimal).finditer(text[-LONGEST:]):
        if each["of_a_name"] is None:
            last = each
    return None if last is None else _evaluate(last, decimal)


def read_box(text: str, decimal: str = ".") -> Number | None:
    r"""Return the number in a box, with a name before it or a unit behind it; None if there is more, or none.

    >>> read_box(r"x = 5 \text{ apples}").value, read_box(r"\sqrt{5}")
    (Fraction(5, 1), None)
    """
    if len(text) > 10 * _MOST_DIGITS:
        return None
    text = _NAME.sub("", _WORDS.sub(r" \g<words> ", text), count=1)
    return _read(text, decimal, lambda rest: _UNIT.fullmatch(rest) is not None and not _OR.search(rest))


def read_column(answer: Any) -> Number:
    """Return the number in a column; InputError if it is not one."""
    if hasattr(answer, "item"):  # a number of NumPy or PyTorch
        answer = answer.item()
    number = None
    if isinstance(answer, str):
        number = _read(answer, ".", lambda rest: False) if len(answer) <= 10 * _MOST_DIGITS else None
    elif isinstance(answer, bool):
        pass
    elif isinstance(answer, float | Decimal) and math.isfinite(answer):
        number = Number(Fraction(str(answer)), rounded=isinstance(answer, float))
    elif isinstance(answer, Rational):
        number = Number(Fraction(answer))
    if number is None:
        raise InputError(f"the column with the answer is not a number: {answer!r:.60}")
    return number


@cache
def _compile(decimal: str) -> re.Pattern[str]:
    mark, comma = (r"[.\u066b]", r"[,\u066c]") if decimal == "." else (r"(?:[,\u066b]|\{,\})", r"[.\u066c]")
    numeral = _NUMERAL.replace("GROUP", _GROUP).replace("MARK", mark).replace("COMMA", comma)
    return re.compile(_NUMBER.replace("NUMERAL", f"(?:{numeral})"), re.VERBOSE)


def _read(text: str, decimal: str, allows: Any) -> Number | None:
    """Return the number that a text is, if what stands behind it is allowed."""
    text = _SPACING.sub(" ", text).strip().strip("$").strip()
    found = _compile(decimal).match(text)
    if found is None or (found.end() < len(text) and not allows(text[found.end() :])):
        return None
    return _evaluate(found, decimal)


def _evaluate(found: re.Match[str], decimal: str) -> Number | None:
    """Return the value of a match; None for one too long, a fraction over 0 and powers but those of ten."""
    parts = found.groupdict()
    if len(found[0]) > _MOST_DIGITS or parts["power"] or parts["of_a_name"]:
        return None

    def read(*names: str) -> Fraction:
        return _read_numeral(next(parts[name] for name in names if parts[name]), decimal)

    exponent = int((parts["e"] or parts["in_braces"] or parts["bare"] or parts["raised"] or "0").translate(_TO_ASCII))
    upper = parts["upper"] or parts["upper_digit"] or parts["above"]
    if abs(exponent) > _MOST_DIGITS:
        return None
    if upper:
        below = read("lower", "lower_digit", "below")
        if not below:
            return None
        value = int(parts["whole"] or 0) + read("upper", "upper_digit", "above") / below
    else:
        value = (read("numeral", "plain") if parts["numeral"] or parts["plain"] else 1) * Fraction(10) ** exponent
    return Number(-value if parts["sign"] and parts["sign"] in _MINUS else value, percent=bool(parts["percent"]))


def _read_numeral(written: str, decimal: str) -> Fraction:
    """Return the value of digits of any script, without what separates thousands."""
    written = written.replace("\u066b", decimal)
    if decimal == ",":
        written = written.replace("{,}", ",")
    whole, _, rest = written.partition(decimal)
    digits = "".join(str(int(char)) for char in whole if char.isdecimal())
    decimals = "".join(str(int(char)) for char in rest if char.isdecimal())
    return Fraction(int(f"{digits}{decimals}" or "0") * (-1) ** (written[0] in _MINUS), 10 ** len(decimals))
