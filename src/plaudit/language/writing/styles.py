"""How Python and LaTeX write each operation, and where an operation inside another needs parentheses."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from plaudit.language import nodes as n

TERNARY, OR, AND, NOT, COMPARE, SUM, PRODUCT, SIGN, ATOM = range(9)
"""How tightly a text holds together; a looser one inside a tighter one gets parentheses."""

LEAST = {ATOM: (TERNARY, TERNARY), SIGN: (ATOM, ATOM), NOT: (NOT, NOT), COMPARE: (SUM, SUM)}
"""How tight the first and the other operands must be, where it is not the usual left to right."""


@dataclass(frozen=True, slots=True)
class Style:
    """How one notation writes each operation: a template and how tight it is."""

    operations: Mapping[type[n.Node], tuple[str, int]]
    flags_count: bool
    """Whether a flag is a number as it stands, as in Python."""
    constant: Callable[[float | bool], str]
    name: Callable[[str], str]
    text: Callable[[str], str]
    table: Callable[[tuple[float | bool, ...], str, tuple[str, ...]], str]
    choice: Callable[[list[tuple[str, str]], str], tuple[str, int]]
    bracket: tuple[str, str]
    left_out: str = "…"
    """What stands for a part that is too long for a line."""
    measure: Callable[[str], int] = len
    """How many characters of a text are read."""


def _strip_owner(name: str) -> str:
    return name.rpartition(".")[2]


_FUNCTIONS = [kind for kind in n.KINDS.values() if kind.function]


class Square(n.Unary):
    """A product of a value with itself: how a square is stored."""

    __slots__ = ()


def _format_python_table(table: tuple[float | bool, ...], index: str, labels: tuple[str, ...]) -> str:
    if labels:
        index = f"{labels!r}.index({index})"
        if list(table) == list(range(len(labels))):
            return index
    elif not index.isdecimal():
        index = f"round({index})"
    entries = ", ".join(repr(entry) for entry in table)
    return f"({entries}{',' if len(table) == 1 else ''})[{index}]"


def _format_python_choice(cases: list[tuple[str, str]], last: str) -> tuple[str, int]:
    text = last
    for condition, value in reversed(cases):
        parts = [f"({part})" if " if " in part else part for part in (value, condition)]
        text = f"{parts[0]} if {parts[1]} else {text}"
    return text, TERNARY


PYTHON = Style(
    flags_count=True,
    operations={
        **{kind: (f"{kind.function}({n.format_slots(kind)})", ATOM) for kind in _FUNCTIONS},
        n.Neg: ("-{0}", SIGN),
        n.Not: ("not {0}", NOT),
        n.Add: ("{0} + {1}", SUM),
        n.Sub: ("{0} - {1}", SUM),
        n.Mul: ("{0} * {1}", PRODUCT),
        n.Div: ("{0} / {1}", PRODUCT),
        n.FloorDiv: ("{0} // {1}", PRODUCT),
        n.Mod: ("{0} % {1}", PRODUCT),
        n.Min: ("min({0}, {1})", ATOM),
        n.Max: ("max({0}, {1})", ATOM),
        n.Lt: ("{0} < {1}", COMPARE),
        n.Le: ("{0} <= {1}", COMPARE),
        n.Gt: ("{0} > {1}", COMPARE),
        n.Ge: ("{0} >= {1}", COMPARE),
        n.Eq: ("{0} == {1}", COMPARE),
        n.Ne: ("{0} != {1}", COMPARE),
        n.And: ("{0} and {1}", AND),
        n.Or: ("{0} or {1}", OR),
        n.Clip: ("min(max({0}, {1}), {2})", ATOM),
        Square: ("{0} ** 2", PRODUCT),
        n.Power: ("{0} ** {1}", PRODUCT),
    },
    constant=lambda value: {float("inf"): "math.inf", float("-inf"): "-math.inf"}.get(value, repr(value)),
    name=str,
    text=repr,
    table=_format_python_table,
    choice=_format_python_choice,
    bracket=("(", ")"),
)


def _format_latex_name(name: str) -> str:
    """Return a name in upright letters; `prev.x` as x before the step, `curr.x` after it."""
    escaped = name.replace("_", "\\_")
    record, _, plain = escaped.rpartition(".")
    return f"\\text{{{plain}}}" + (f"_\\text{{{record}}}" if record else "")


def _format_latex_text(value: str) -> str:
    """Return a text in upright letters; what LaTeX would take for a command is left out."""
    kept = "".join(letter for letter in value if letter.isalnum() or letter in " -_")
    return f"\\text{{{kept.strip()}}}".replace("_", "\\_")


def _format_latex_constant(value: float | bool) -> str:
    if isinstance(value, bool):
        return f"\\text{{{str(value).lower()}}}"
    return f"{value:.12g}".replace("inf", "\\infty")


def _format_latex_table(table: tuple[float | bool, ...], index: str, labels: tuple[str, ...]) -> str:
    entries = [_format_latex_constant(entry) for entry in table[:12]]
    if labels:
        entries = [f"{_format_latex_text(label)}{{:}}\\,{entry}" for label, entry in zip(labels, entries, strict=False)]
    if len(table) > 12:
        entries.append("\\ldots")
    return f"({','.join(entries)})_{{{index}}}"


def _format_latex_choice(cases: list[tuple[str, str]], last: str) -> tuple[str, int]:
    rows = [f"{value} & {condition}" for condition, value in cases]
    return "\\begin{cases} " + " \\\\ ".join([*rows, f"{last} & \\text{{otherwise}}"]) + " \\end{cases}", TERNARY


LATEX = Style(
    flags_count=False,
    operations={
        **{
            kind: (f"\\operatorname{{{{{_strip_owner(kind.function)}}}}}\\left({n.format_slots(kind)}\\right)", ATOM)
            for kind in _FUNCTIONS
        },
        n.Neg: ("-{0}", SIGN),
        n.Abs: ("\\left|{0}\\right|", ATOM),
        n.Not: ("\\lnot {0}", NOT),
        n.Number: ("\\left[{0}\\right]", ATOM),
        n.Sqrt: ("\\sqrt{{{0}}}", ATOM),
        n.Exp: ("\\exp\\left({0}\\right)", ATOM),
        n.Log: ("\\ln\\left({0}\\right)", ATOM),
        n.Log1p: ("\\ln\\left(1 + {0}\\right)", ATOM),
        n.Sin: ("\\sin\\left({0}\\right)", ATOM),
        n.Cos: ("\\cos\\left({0}\\right)", ATOM),
        n.Tanh: ("\\tanh\\left({0}\\right)", ATOM),
        n.Floor: ("\\left\\lfloor {0} \\right\\rfloor", ATOM),
        n.Ceil: ("\\left\\lceil {0} \\right\\rceil", ATOM),
        n.IsInf: ("\\left|{0}\\right| = \\infty", COMPARE),
        n.IsFinite: ("\\left|{0}\\right| < \\infty", COMPARE),
        n.Add: ("{0} + {1}", SUM),
        n.Sub: ("{0} - {1}", SUM),
        n.Mul: ("{0} \\cdot {1}", PRODUCT),
        n.Div: ("\\frac{{{0}}}{{{1}}}", ATOM),
        n.FloorDiv: ("\\left\\lfloor \\frac{{{0}}}{{{1}}} \\right\\rfloor", ATOM),
        n.Mod: ("{0} \\bmod {1}", PRODUCT),
        n.Min: ("\\min\\left({0},\\, {1}\\right)", ATOM),
        n.Max: ("\\max\\left({0},\\, {1}\\right)", ATOM),
        n.Lt: ("{0} < {1}", COMPARE),
        n.Le: ("{0} \\le {1}", COMPARE),
        n.Gt: ("{0} > {1}", COMPARE),
        n.Ge: ("{0} \\ge {1}", COMPARE),
        n.Eq: ("{0} = {1}", COMPARE),
        n.Ne: ("{0} \\ne {1}", COMPARE),
        n.And: ("{0} \\land {1}", AND),
        n.Or: ("{0} \\lor {1}", OR),
        n.Clip: ("\\min\\left(\\max\\left({0},\\, {1}\\right),\\, {2}\\right)", ATOM),
        Square: ("{0}^2", PRODUCT),
        n.Power: ("{0}^{{{1}}}", PRODUCT),
    },
    constant=_format_latex_constant,
    name=_format_latex_name,
    text=_format_latex_text,
    table=_format_latex_table,
    choice=_format_latex_choice,
    bracket=("\\left(", "\\right)"),
)


def join_operands(kind: type[n.Node], operands: list[tuple[str, int]], style: Style) -> tuple[str, int]:
    """Return an operation on texts, with parentheses where they are needed."""
    template, tightness = style.operations[kind]
    first, rest = LEAST.get(tightness, (tightness, tightness + 1))
    texts = [add_parentheses(text, rest if place else first, style) for place, text in enumerate(operands)]
    return template.format(*texts), tightness


def render_number(value: float | bool, style: Style) -> tuple[str, int]:
    """Return a number as text; one below 0 holds together as its sign does."""
    return style.constant(value), SIGN if math.copysign(1, value) < 0 else ATOM


def add_parentheses(text: tuple[str, int], least: int, style: Style) -> str:
    """Return a text, in parentheses where it is looser than `least`."""
    return text[0] if text[1] >= least else f"{style.bracket[0]}{text[0]}{style.bracket[1]}"
