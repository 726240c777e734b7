"""A Program as MathML: formulas that a browser draws by itself, without scripts."""

import re
from collections.abc import Mapping

from plaudit.html import Markup, build_element, escape, join
from plaudit.language import nodes as n
from plaudit.language.program import Program, find_reachable
from plaudit.language.writing.render import Names, list_equations, render_expression, render_formula
from plaudit.language.writing.styles import AND, ATOM, COMPARE, NOT, OR, PRODUCT, SIGN, SUM, TERNARY, Square, Style

LONGEST_TABLE = 12
"""How many entries of a table are written."""

_WIDE = "overflow-x:auto;padding:0.3em 0"
"""What is wider than the page is moved, not cut."""


class FormulaText(str):
    """The formulas of a reward as Markdown with LaTeX, which notebooks show as mathematics.

    It is the same string as ever; `mathml` has each formula as MathML, by the term that it defines.
    """

    mathml: Mapping[str, str]

    def __new__(cls, text: str, mathml: Mapping[str, str] | None = None) -> "FormulaText":
        """Keep the MathML beside the text."""
        made = super().__new__(cls, text)
        made.mathml = mathml or {}
        return made

    def _repr_html_(self) -> str:
        return join(*(build_element("div", Markup(block), style=_WIDE) for block in self.mathml.values()))


def build_formula_text(program: Program, names: Names) -> FormulaText:
    """Return the formulas of a Program as text that notebooks show as mathematics."""
    return FormulaText(render_formula(program, names), render_mathml(program, names))


def render_mathml(program: Program, names: Names) -> dict[str, Markup]:
    """Return the formulas of a Program as MathML, by what they define: its states, its terms, then `total`.

    Args:
        program: What the formulas are of.
        names: What authors called the values of local names, by term; may be empty.
    """
    equations = list_equations(program, names, MATHML)
    return {name: _format_display(block, _list_units(program, name)) for name, block in equations.items()}


def render_mathml_expression(program: Program, at: int) -> Markup:
    """Return one node of a Program as MathML in a line, long parts left out."""
    return Markup(f"<math>{render_expression(program, at, MATHML)}</math>")


def _list_units(program: Program, name: str) -> dict[str, str]:
    """Return the units of the fields that a term reads, by name."""
    if name not in program.terms:
        return {}
    read = find_reachable(program.nodes, [program.outputs[f"{name}.score"]])
    inputs = [node.name for at in read if isinstance(node := program.nodes[at], n.Input)]
    return {field.name: field.unit for each in inputs if (field := program.inputs[each]).unit}


def _format_display(equations: list[tuple[str, str]], units: Mapping[str, str]) -> Markup:
    """Return equations under one another, aligned where they are equal, and the units of what they read."""
    right, left = _style_cell("right"), _style_cell("left")
    rows = [f"<mtr><mtd {right}>{a}</mtd><mtd {left}><mo>=</mo>{b}</mtd></mtr>" for a, b in equations]
    if units:
        told = ", ".join(f"{escape(name)} in {escape(unit)}" for name, unit in units.items())
        rows.append(f"<mtr><mtd></mtd><mtd {left}><mtext>{told}</mtext></mtd></mtr>")
    return Markup(f'<math><mtable displaystyle="true">{"".join(rows)}</mtable></math>')


def _style_cell(side: str) -> str:
    return f'style="text-align:{side}"'


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _operator(sign: str) -> str:
    return _row("{0}", f"<mo>{sign}</mo>", "{1}")


def _enclose(content: str, opening: str, closing: str) -> str:
    return _row(f'<mo form="prefix">{opening}</mo>', content, f'<mo form="postfix">{closing}</mo>')


def _call(name: str, *arguments: str) -> str:
    """Return a function of some arguments; between them stands the character that says "applied to"."""
    return _row(f"<mi>{name}</mi><mo>&#x2061;</mo>", _enclose("<mo>,</mo>".join(arguments), "(", ")"))


def _format_name(name: str) -> str:
    """Return a name; `prev.x` as x before the step, `curr.x` after it."""
    record, _, plain = name.rpartition(".")
    text = f"<mi>{escape(plain)}</mi>"
    return f"<msub>{text}<mtext>{escape(record)}</mtext></msub>" if record else text


def _format_text(value: str) -> str:
    return f"<mtext>“{escape(value)}”</mtext>"


def _format_constant(value: float | bool) -> str:
    if isinstance(value, bool):
        return f"<mtext>{str(value).lower()}</mtext>"
    text = f"{value:.12g}"
    digits = text.removeprefix("-")
    number = "<mi>∞</mi>" if digits == "inf" else f"<mn>{digits}</mn>"
    return _row("<mo>−</mo>", number) if text != digits else number


def _format_table(table: tuple[float | bool, ...], index: str, labels: tuple[str, ...]) -> str:
    entries = [_format_constant(entry) for entry in table[:LONGEST_TABLE]]
    if labels:
        entries = [f"{_format_text(a)}<mo>:</mo>{b}" for a, b in zip(labels, entries, strict=False)]
    if len(table) > LONGEST_TABLE:
        entries.append("<mo>…</mo>")
    return f"<msub>{_enclose('<mo>,</mo>'.join(entries), '(', ')')}{index}</msub>"


def _format_choice(cases: list[tuple[str, str]], last: str) -> tuple[str, int]:
    """Return cases: a value and its condition in each row, the first that holds counts."""
    pairs = [*((value, f"<mtext>if&#xa0;</mtext>{condition}") for condition, value in cases)]
    pairs.append((last, "<mtext>otherwise</mtext>"))
    cell = f"<mtd {_style_cell('left')}>"
    rows = "".join(f"<mtr>{cell}{value}</mtd>{cell}{condition}</mtd></mtr>" for value, condition in pairs)
    return _row('<mo form="prefix" stretchy="true">{</mo>', f"<mtable>{rows}</mtable>"), TERNARY


def _measure(text: str) -> int:
    return len(re.sub("<[^>]*>", "", text))


def _list_slots(kind: type[n.Node]) -> list[str]:
    return [f"{{{at}}}" for at in range(len(n.operand_names(kind)))]


_FRACTION = "<mfrac>{0}{1}</mfrac>"

MATHML = Style(
    flags_count=False,
    operations={
        **{
            kind: (_call(n.split_function(kind)[1], *_list_slots(kind)), ATOM)
            for kind in n.KINDS.values()
            if kind.function
        },
        n.Neg: (_row("<mo>−</mo>", "{0}"), SIGN),
        n.Abs: (_enclose("{0}", "|", "|"), ATOM),
        n.Not: (_row("<mo>¬</mo>", "{0}"), NOT),
        n.Number: (_enclose("{0}", "[", "]"), ATOM),
        n.Sqrt: ("<msqrt>{0}</msqrt>", ATOM),
        n.Log: (_call("ln", "{0}"), ATOM),
        n.Log1p: (_call("ln", _row("<mn>1</mn><mo>+</mo>", "{0}")), ATOM),
        n.Floor: (_enclose("{0}", "⌊", "⌋"), ATOM),
        n.Ceil: (_enclose("{0}", "⌈", "⌉"), ATOM),
        n.IsInf: (_row(_enclose("{0}", "|", "|"), "<mo>=</mo><mi>∞</mi>"), COMPARE),
        n.IsFinite: (_row(_enclose("{0}", "|", "|"), "<mo>&lt;</mo><mi>∞</mi>"), COMPARE),
        n.Add: (_operator("+"), SUM),
        n.Sub: (_operator("−"), SUM),
        n.Mul: (_operator("·"), PRODUCT),
        n.Div: (_FRACTION, ATOM),
        n.FloorDiv: (_enclose(_FRACTION, "⌊", "⌋"), ATOM),
        n.Mod: (_operator("mod"), PRODUCT),
        n.Min: (_call("min", "{0}", "{1}"), ATOM),
        n.Max: (_call("max", "{0}", "{1}"), ATOM),
        n.Lt: (_operator("&lt;"), COMPARE),
        n.Le: (_operator("≤"), COMPARE),
        n.Gt: (_operator("&gt;"), COMPARE),
        n.Ge: (_operator("≥"), COMPARE),
        n.Eq: (_operator("="), COMPARE),
        n.Ne: (_operator("≠"), COMPARE),
        n.And: (_operator("&#x2227;"), AND),
        n.Or: (_operator("&#x2228;"), OR),
        n.Clip: (_call("min", _call("max", "{0}", "{1}"), "{2}"), ATOM),
        Square: ("<msup>{0}<mn>2</mn></msup>", PRODUCT),
        n.Power: ("<msup>{0}{1}</msup>", PRODUCT),
    },
    constant=_format_constant,
    name=_format_name,
    text=_format_text,
    table=_format_table,
    choice=_format_choice,
    bracket=('<mrow><mo form="prefix">(</mo>', '<mo form="postfix">)</mo></mrow>'),
    left_out="<mo>…</mo>",
    measure=_measure,
)
