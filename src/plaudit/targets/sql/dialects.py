"""The four dialects: how each spells names, strings, numbers and functions, and what means something else there."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import sqlglot.expressions as exp

from plaudit.errors import TargetError, UnsupportedNode, did_you_mean
from plaudit.language import nodes as n
from plaudit.language.field import LARGEST_INTEGER

CANNOT = {
    ("sqlite", "struct"): "SQLite has no struct columns; pass `prev` and `curr` as columns named 'prev.x' and 'curr.x'",
}
"""What a dialect has no way to say, and why."""


class FlagForm(NamedTuple):
    """How a column {0} of flags, or of the numbers 0 and 1, is compared."""

    column: str
    known: str
    """The test that {0}, that form of a column, is a flag."""
    true: str
    yes: str
    no: str


_AS_NUMBERS = FlagForm("CAST({0} AS DOUBLE)", "{0} IN (0, 1)", "{0} = 1", "1", "0")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one engine writes what a reward needs."""

    name: str
    double: str
    number: Callable[[float], str]
    """A finite number as a float64 literal, exact to the bit."""
    infinity: str
    flag: FlagForm
    native: frozenset[type[n.Node]]
    """Functions that it has, of those that some engines lack."""
    functions: Mapping[type[n.Node], str] = field(default_factory=dict)
    """Templates that differ from the common ones."""
    nan: str = "isnan({0})"
    """Whether a float is NaN; empty if the database stores NaN as NULL. NaN is the largest number here."""
    least: tuple[str, str] = ("least", "greatest")
    exact: str = ""
    """The test that a number in a column {0} of any type is held exactly as a float64."""
    narrow: str = ""
    """The test that a column {0} holds float32; empty where every number is a float64."""
    typed: str = ""
    """The test that {0} is a number at all, where a column may hold anything."""
    texts: str = ""
    """The test that {0} is a string, where a column may hold anything."""
    binary: str = ""
    """A column of strings, compared by its bytes."""
    record: str = ""
    """Part {1}, as a string {2}, of a struct column {0}."""
    fence: str = ""
    """What keeps an engine from merging a subquery into its reader, which would write shared values out again."""
    cte: str = "AS"
    quote: str = ""
    """The character around names, where the standard one is not safe."""

    def format_literal(self, value: float | bool) -> str:
        """Return a constant, exact to the bit."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if math.isinf(value):
            return self.infinity if value > 0 else f"(-{self.infinity})"
        text = self.number(abs(value))
        return f"(-{text})" if math.copysign(1.0, value) < 0 else text

    def quote_name(self, name: str) -> str:
        """Return any name as a quoted identifier."""
        self._validate_text(name)
        if self.quote:
            return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote
        return exp.to_identifier(name, quoted=True).sql(dialect=self.name)

    def quote_string(self, text: str) -> str:
        """Return any string as a literal."""
        self._validate_text(text)
        return exp.Literal.string(text).sql(dialect=self.name)

    def _validate_text(self, text: str) -> None:
        """Refuse text that no statement can contain."""
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UnsupportedNode(f"{text!r} contains half a surrogate pair, which SQL cannot store") from None
        if "\0" in text:
            raise UnsupportedNode(f"{text!r} contains a NUL character, which an SQL statement cannot hold")


def _format_with_exponent(value: float) -> str:
    """Return a number that is a float to DuckDB: without an exponent it would be a decimal."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _format_sqlite_number(value: float) -> str:
    """Return a number as SQLite reads it exactly: its reader of decimals is off by a bit now and then.

    Three decimals are safe, integers and powers of two are, and a quotient of integers is rounded correctly.
    """
    shown = Fraction(repr(value))
    if shown.denominator in (1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 125, 200, 250, 500, 1000) and value < 1e12:
        return repr(value)
    places = next((p for p in range(23) if (shown * 10**p).denominator == 1), None)
    if places is not None and shown * 10**places < LARGEST_INTEGER:
        return f"({shown * 10**places} / 1{'0' * places}.0)"
    mantissa, exponent = math.frexp(value)
    whole, power = int(mantissa * 2**53), exponent - 53
    while whole % 2 == 0 and whole:
        whole, power = whole // 2, power + 1
    first = power // 2  # in two steps, as the power of a subnormal number is none itself
    return f"({whole}.0 * {2.0**first!r} * {2.0 ** (power - first)!r})"


_ALL = frozenset({n.Expm1, n.Log1p, n.Round, n.Floor, n.Ceil})
_WHOLE = f"BETWEEN -{LARGEST_INTEGER} AND {LARGEST_INTEGER}"

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "duckdb",
            double="DOUBLE",
            number=_format_with_exponent,
            infinity="CAST('inf' AS DOUBLE)",
            flag=_AS_NUMBERS,
            native=frozenset({n.Floor, n.Ceil, n.Round}),
            functions={n.Round: "round_even({0}, 0)"},
            exact=f"(typeof({{0}}) IN ('DOUBLE', 'FLOAT') OR {{0}} {_WHOLE})",
            narrow="typeof({0}) = 'FLOAT'",
            binary='CAST({0} AS VARCHAR) COLLATE "C"',
            record="struct_extract({0}, {2})",
            cte="AS NOT MATERIALIZED",
        ),
        Dialect(
            "sqlite",
            double="REAL",
            number=_format_sqlite_number,
            infinity="9e999",
            native=frozenset({n.Floor, n.Ceil}),
            nan="",
            least=("min", "max"),
            exact=f"(typeof({{0}}) = 'real' OR {{0}} {_WHOLE})",
            typed="typeof({0}) IN ('real', 'integer')",
            texts="typeof({0}) = 'text'",
            flag=FlagForm("{0}", "typeof({0}) IN ('integer', 'real') AND {0} IN (0, 1)", "{0} = 1", "1", "0"),
            binary="{0} COLLATE BINARY",
            fence="LIMIT -1 OFFSET 0",
            quote="`",  # a name in double quotes that is no column would be a string
        ),
        Dialect(
            "postgres",
            double="double precision",
            number=lambda value: f"{value!r}::float8",
            infinity="'Infinity'::float8",
            native=frozenset({n.Floor, n.Ceil, n.Round}),
            nan="{0} = 'NaN'::float8",
            exact=f"(pg_typeof({{0}}) IN ('float8'::regtype, 'float4'::regtype) OR {{0}} {_WHOLE})",
            narrow="pg_typeof({0}) = 'float4'::regtype",
            flag=FlagForm(
                "CAST({0} AS text)",
                "{0} IN ('true', 'false', '1', '0')",
                "{0} IN ('true', '1')",
                "'true'",
                "'false'",
            ),
            binary='CAST({0} AS text) COLLATE "C"',
            record="({0}).{1}",
            fence="OFFSET 0",
        ),
        Dialect(
            "spark",
            double="DOUBLE",
            number=lambda value: f"{value!r}D",
            infinity="CAST('Infinity' AS DOUBLE)",
            flag=_AS_NUMBERS,
            native=frozenset({n.Round, n.Expm1, n.Log1p}),  # its floor and ceil give integers of 64 bits
            functions={n.Round: "rint({0})"},
            exact=f"(typeof({{0}}) IN ('double', 'float') OR {{0}} {_WHOLE})",
            narrow="typeof({0}) = 'float'",
            binary="CAST({0} AS STRING) COLLATE UTF8_BINARY",
            record="{0}.{1}",
        ),
    )
}


def find_dialect(name: str) -> Dialect:
    """Return a dialect; TargetError for an unknown name."""
    if name not in DIALECTS:
        known = ", ".join(DIALECTS)
        raise TargetError(f"there is no SQL dialect {name!r}.{did_you_mean(str(name), DIALECTS)} Dialects: {known}.")
    return DIALECTS[name]
