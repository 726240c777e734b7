"""A Program as text for people: readable Python, and formulas in Markdown."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

from plaudit.language import nodes as n
from plaudit.language.notation import ATOM, LATEX, LEAST, PRODUCT, PYTHON, SIGN, Square, Style
from plaudit.language.program import Program, reachable

DEEPEST = 12
"""How many operations may stand inside one another before a part gets a name of its own."""


@dataclass(slots=True)
class Rendered:
    """The parts of a term that got names, its cases, and the last resort."""

    parts: list[tuple[str, str]] = field(default_factory=list)
    cases: list[tuple[str, str]] = field(default_factory=list)
    last: str = ""


def python_text(program: Program) -> str:
    """Return a Program as readable Python: one function a term, then the total."""
    blocks = []
    for term in program.terms:
        score = program.outputs[f"{term}.score"]
        rendered = _rendered(program, score, PYTHON)
        lines = [f"def {term}({_signature(program, term, score)}):"]
        lines += [f"    {name} = {text}" for name, text in rendered.parts]
        for condition, value in rendered.cases:
            lines += [f"    if {condition}:", f"        return {value}"]
        blocks.append("\n".join([*lines, f"    return {rendered.last}"]))
    return "\n\n\n".join([*blocks, f"total = {_total(program, PYTHON)}"]) + "\n"


def formula_text(program: Program) -> str:
    """Return a Program as Markdown: one displayed formula a term, then the total."""
    blocks = []
    for term in program.terms:
        rendered = _rendered(program, program.outputs[f"{term}.score"], LATEX)
        lines = [f"{name} &= {text}" for name, text in rendered.parts]
        value = LATEX.choice(rendered.cases, rendered.last)[0] if rendered.cases else rendered.last
        blocks.append(_display([*lines, f"{LATEX.name(term)} &= {value}"]))
    return "\n\n".join([*blocks, _display([f"{LATEX.name('total')} &= {_total(program, LATEX)}"])]) + "\n"


def _display(lines: list[str]) -> str:
    return "$$\n\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}\n$$"


def _signature(program: Program, term: str, score: int) -> str:
    """Return the parameters of a term: the fields it reads, then its knobs with their values."""
    data: dict[str, None] = {}
    knobs: dict[str, str] = {}
    for at in reachable(program.nodes, [score]):
        match program.nodes[at]:
            case n.Input(name):
                data[name.partition(".")[0].partition("[")[0]] = None
            case n.Param(name):
                knobs[_knob(name)] = repr(program.params[name])
    options = [f"{name}={value}" for name, value in knobs.items()]
    return ", ".join([*data, *(["*", *options] if options else [])])


def _total(program: Program, style: Style) -> str:
    """Return the total as a sum of clamped and weighted terms, with the numbers in place."""
    parts = []
    for term in program.terms:
        text = _clamped(program, (style.name(term), ATOM), term, style)
        weight = program.params[f"{term}.weight"]
        if weight != 1.0:
            number = style.constant(weight)
            factor = (number, SIGN if number.startswith("-") else ATOM)
            text = _joined(n.Mul, [text, factor], style)
        parts.append(text)
    total = parts[0]
    for part in parts[1:]:
        total = _joined(n.Add, [total, part], style)
    return _clamped(program, total, "total", style)[0]


def _clamped(program: Program, text: tuple[str, int], owner: str, style: Style) -> tuple[str, int]:
    low, high = (program.params.get(f"{owner}.{end}") for end in ("low", "high"))
    if low is not None and high is not None:
        return _joined(n.Clip, [text, (style.constant(low), ATOM), (style.constant(high), ATOM)], style)
    if low is not None:
        return _joined(n.Max, [text, (style.constant(low), ATOM)], style)
    return text if high is None else _joined(n.Min, [text, (style.constant(high), ATOM)], style)


def _joined(kind: type[n.Node], operands: list[tuple[str, int]], style: Style) -> tuple[str, int]:
    """Return an operation on texts, with parentheses where they are needed."""
    template, tightness = style.operations[kind]
    first, rest = LEAST.get(tightness, (tightness, tightness + 1))
    texts = [_wrapped(text, rest if place else first, style) for place, text in enumerate(operands)]
    return template.format(*texts), tightness


def _rendered(program: Program, root: int, style: Style) -> Rendered:
    """Return the text of one node: shared or deep parts by name, a chain of choices as cases."""
    order = list(reachable(program.nodes, [root]))
    uses = Counter(operand for at in order for operand in n.operands(program.nodes[at]))
    taken = {word for name in (*program.inputs, *program.params) for word in re.findall(r"\w+", name)}
    fresh = (name for i in count(1) if (name := f"part_{i}") not in taken)
    texts: dict[int, tuple[str, int]] = {}
    depth: dict[int, int] = {}
    rendered = Rendered()
    chain = _chain(program, root, uses)
    cases = set(chain)
    for at in order:
        node = program.nodes[at]
        operands = n.operands(node)
        depth[at] = 1 + max((depth.get(operand, 0) for operand in operands), default=-1)
        if at in cases:
            continue
        texts[at] = _spelled(program, node, texts, style)
        if depth[at] and (uses[at] > 1 or depth[at] > DEEPEST):
            name = style.name(next(fresh))
            rendered.parts.append((name, texts[at][0]))
            texts[at], depth[at] = (name, ATOM), 0
    last = root
    for at in chain:
        choice = program.nodes[at]
        assert isinstance(choice, n.Select)
        rendered.cases.append((texts[choice.condition][0], texts[choice.then][0]))
        last = choice.otherwise
    rendered.last = texts[last][0]
    return rendered


def _chain(program: Program, root: int, uses: Counter[int]) -> list[int]:
    """Return the choices that a term goes through one after another: its cases."""
    chain = []
    at = root
    while isinstance(node := program.nodes[at], n.Select) and (at == root or uses[at] == 1):
        chain.append(at)
        at = node.otherwise
    return chain


def _spelled(program: Program, node: n.Node, texts: Mapping[int, tuple[str, int]], style: Style) -> tuple[str, int]:
    match node:
        case n.Const(value):
            text = style.constant(value)
            return text, SIGN if text.startswith("-") else ATOM
        case n.Input(name):
            return style.name(name), ATOM
        case n.Param(name):
            return style.name(_knob(name)), ATOM
        case n.Label(_, value):
            return style.text(value), ATOM
        case n.Select(condition, then, otherwise):
            return style.choice([(texts[condition][0], texts[then][0])], texts[otherwise][0])
        case n.Item(table, index):
            labels = _labels(program, index)
            return style.table(table, texts[index][0], labels), ATOM
        case n.Mul(left, right) if left == right:
            return style.operations[Square][0].format(_wrapped(texts[left], ATOM, style)), PRODUCT
        case n.Number(arg) if style.flags_count:
            return texts[arg]
    return _joined(type(node), [texts[at] for at in n.operands(node)], style)


def _labels(program: Program, at: int) -> tuple[str, ...]:
    """Return the categories of a node; empty for a number."""
    while isinstance(node := program.nodes[at], n.Select):
        at = node.then
    if isinstance(node, n.Input):
        return program.inputs[node.name].labels
    fields = program.inputs.values()
    return next((f.labels for f in fields if isinstance(node, n.Label) and f.name == node.field), ())


def _wrapped(text: tuple[str, int], least: int, style: Style) -> str:
    return text[0] if text[1] >= least else f"{style.bracket[0]}{text[0]}{style.bracket[1]}"


def _knob(name: str) -> str:
    return name.rpartition(".")[2]
