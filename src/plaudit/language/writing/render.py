"""A Program as text for people: readable Python, and formulas in Markdown."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from plaudit.language import nodes as n
from plaudit.language.parameters import collect_parameters
from plaudit.language.program import Carried, Program, find_reachable
from plaudit.language.shapes import nest_entries
from plaudit.language.writing.styles import (
    ATOM,
    LATEX,
    PRODUCT,
    PYTHON,
    Square,
    Style,
    add_parentheses,
    join_operands,
    render_number,
)

LONGEST_PART = 200
"""Characters of an expression in a line; a longer part of it is left out."""
DEEPEST = 12
"""How many operations may stand inside one another before a part gets a name of its own."""


@dataclass(slots=True)
class Rendered:
    """The parts of a term that got names, its cases, and the last resort."""

    parts: list[tuple[str, str]] = field(default_factory=list)
    cases: list[tuple[str, str]] = field(default_factory=list)
    last: str = ""


Names = Mapping[str, Mapping[int, str]]
"""For each term whose function is known, what its author called the values of local names, by position."""


def render_python(program: Program, names: Names) -> str:
    """Return a Program as readable Python: one function a term, then the total."""
    blocks = render_functions(program, names).values()
    return "\n\n\n".join([*blocks, f"total = {_render_total(program, PYTHON)}"]) + "\n"


def render_functions(program: Program, names: Names) -> dict[str, str]:
    """Return every function of a Program as readable Python, by name: updates of states, then terms."""
    carried = _find_state_nodes(program)
    blocks = {name: _render_update(program, state) for name, state in program.states.items()}
    for term in _list_functions(program):
        score = program.outputs[f"{term}.score"]
        rendered = _render_term(program, score, PYTHON, names.get(term, {}), carried)
        lines = [f"def {term}({_format_signature(program, [score], carried)}):"]
        blocks[term] = "\n".join([*lines, *_render_body(rendered)])
    return blocks


def render_function(program: Program, output: str, doc: str = "") -> str:
    """Return one output of a Program as the text of a whole function of Python, which can be read again.

    A row that its guards refuse is refused by the text.
    """
    root = program.outputs[output]
    guards = [guard.node for guard in program.value_guards if guard.where == output]
    sure = {flag.arg for at in guards if isinstance(flag := program.nodes[at], n.Defined)}
    lines = [f"def {output}({_format_signature(program, [root, *guards], {})}):", *([f"    {doc!r}"] if doc else [])]
    lines += [f"    assert {_render_guard(program, at)}" for at in _list_apart(program, root, guards)]
    return "\n".join([*lines, *_render_body(_render_term(program, root, _TEXT, {}, {}, sure))])


_TEXT = replace(PYTHON, operations={**PYTHON.operations, n.Sign: ("sign({0})", ATOM), Square: ("{0} * {0}", PRODUCT)})
"""As a text is read again: it knows this package's functions by name, and a power must be finite."""


def _list_apart(program: Program, root: int, guards: Sequence[int]) -> list[int]:
    """Return the guards that the text of a result does not ask for again: of what it does not read."""
    read = set(find_reachable(program.nodes, [root]))
    asked = {at: program.nodes[_split_guard(program, at)[1]] for at in dict.fromkeys(guards)}
    return [at for at, flag in asked.items() if not (isinstance(flag, n.Defined) and flag.arg in read)]


def _split_guard(program: Program, at: int) -> tuple[int | None, int]:
    """Return where a guard counts, and the flag that is true then."""
    match program.nodes[at]:
        case n.Or(left, right) if isinstance(unless := program.nodes[left], n.Not):
            return unless.arg, right
    return None, at


def _render_guard(program: Program, at: int) -> str:
    """Return a guard as a condition; what must be defined is computed in one that always holds."""
    within, asked = _split_guard(program, at)
    flag = program.nodes[asked]
    if not isinstance(flag, n.Defined):
        return _render_whole(program, at)
    value = _render_whole(program, flag.arg)
    condition = "" if within is None else f"not ({_render_whole(program, within)}) or "
    return f"{condition}({value}) == 0 or True"


def _render_whole(program: Program, root: int) -> str:
    texts: dict[int, tuple[str, int]] = {}
    for at in find_reachable(program.nodes, [root]):
        texts[at] = _render_node(program, program.nodes[at], texts, _TEXT)
    return texts[root][0]


def _render_body(rendered: Rendered) -> list[str]:
    lines = [f"    {name} = {text}" for name, text in rendered.parts]
    for condition, value in rendered.cases:
        lines += [f"    if {condition}:", f"        return {value}"]
    return [*lines, f"    return {rendered.last}"]


def list_cases(program: Program, term: str) -> list[int]:
    """Return the nodes of the conditions that the function of a term asks one after another, as it is rendered."""
    root = program.outputs[f"{term}.score"]
    known = _find_state_nodes(program)
    order = find_reachable(program.nodes, [root], known)
    uses = Counter(operand for at in order for operand in n.operands(program.nodes[at]))
    chosen = (program.nodes[at] for at in _find_cases(program, root, uses, known))
    return [choice.condition for choice in chosen if isinstance(choice, n.Select)]


def render_formula(program: Program, names: Names) -> str:
    """Return a Program as Markdown: one displayed formula a term, then the total."""
    blocks = list_equations(program, names, LATEX).values()
    return "\n\n".join(_format_display([f"{left} &= {right}" for left, right in block]) for block in blocks) + "\n"


def list_equations(program: Program, names: Names, style: Style) -> dict[str, list[tuple[str, str]]]:
    """Return the equations of a Program by what they define, left and right sides: states, terms, then the total."""
    carried = _find_state_nodes(program)
    blocks = {name: _list_update_equations(program, state, style) for name, state in program.states.items()}
    for term in _list_functions(program):
        rendered = _render_term(program, program.outputs[f"{term}.score"], style, names.get(term, {}), carried)
        value = style.choice(rendered.cases, rendered.last)[0] if rendered.cases else rendered.last
        blocks[term] = [*rendered.parts, (style.name(term), value)]
    return {**blocks, "total": [(style.name("total"), _render_total(program, style))]}


def render_expression(program: Program, at: int, style: Style = PYTHON) -> str:
    """Return one node of a Program as readable Python, or in another notation, in a line; long parts are left out.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def near(distance, speed):
    ...     return 1 if distance - speed < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance"), Field("speed")])
    >>> condition = next(at for at, node in enumerate(reaching.program.nodes) if isinstance(node, n.Lt))
    >>> render_expression(reaching.program, condition)
    'distance - speed < 2'
    """
    texts: dict[int, tuple[str, int]] = {}
    for each in find_reachable(program.nodes, [at]):
        texts[each] = _render_node(program, program.nodes[each], texts, style)
        if style.measure(texts[each][0]) > LONGEST_PART:
            texts[each] = (style.left_out, ATOM)
    return texts[at][0]


def _format_display(lines: list[str]) -> str:
    return "$$\n\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}\n$$"


def _find_state_nodes(program: Program) -> dict[int, str]:
    """Return what terms call the states after the step, by the nodes that compute them; not inputs and constants."""
    names = [name for carried in program.states.values() for name in carried.list_names("curr")]
    found = {program.outputs[name]: name for name in names}
    return {at: name for at, name in found.items() if n.operands(program.nodes[at])}


def _render_update(program: Program, carried: Carried) -> str:
    """Return the update of a state as readable Python: a function that returns its entries."""
    roots = [program.outputs[name] for name in carried.list_names("curr")]
    parts, entries = _render_entries(program, roots, PYTHON)
    whole, reset = entries[0], repr(carried.reset[0])
    if carried.field.shape:
        whole = nest_entries(entries, carried.field.shape, lambda items: f"[{', '.join(items)}]")
        reset = repr(nest_entries(carried.reset, carried.field.shape))
    head = f"def {carried.field.name}({_format_signature(program, roots, {})}):"
    lines = [f"{head}  # a state: before the first step {reset}", *(f"    {name} = {text}" for name, text in parts)]
    return "\n".join([*lines, f"    return {whole}"])


def _list_update_equations(program: Program, carried: Carried, style: Style) -> list[tuple[str, str]]:
    names = carried.list_names("curr")
    parts, entries = _render_entries(program, [program.outputs[name] for name in names], style)
    return [*parts, *((style.name(name), text) for name, text in zip(names, entries, strict=True))]


def _render_entries(program: Program, roots: Sequence[int], style: Style) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the parts that got names, shared ones and deep ones, and the text of each of `roots`."""
    order = list(find_reachable(program.nodes, roots))
    uses = Counter(operand for at in order for operand in n.operands(program.nodes[at]))
    taken = _find_taken_names([program.nodes[at] for at in order])
    texts: dict[int, tuple[str, int]] = {}
    depth: dict[int, int] = {}
    parts: list[tuple[str, str]] = []
    for at in order:
        node = program.nodes[at]
        depth[at] = 1 + max((depth[operand] for operand in n.operands(node)), default=-1)
        texts[at] = _render_node(program, node, texts, style)
        if depth[at] and (uses[at] > 1 or depth[at] > DEEPEST):
            name = style.name(_choose_name(None, taken))
            parts.append((name, texts[at][0]))
            texts[at], depth[at] = (name, ATOM), 0
    return parts, [texts[at][0] for at in roots]


def _format_signature(program: Program, roots: Sequence[int], known: Mapping[int, str]) -> str:
    """Return the parameters of a term or an update: the fields it reads, then its knobs with their values."""
    data: dict[str, None] = {}
    knobs: dict[str, str] = {}
    whole = collect_parameters(program.params)
    needed = list(find_reachable(program.nodes, roots, known))
    if any(operand in known for at in needed for operand in n.operands(program.nodes[at])) or set(roots) & set(known):
        data["curr"] = None
    for at in needed:
        match program.nodes[at]:
            case n.Input(name):
                data[name.partition(".")[0].partition("[")[0]] = None
            case n.Param(name):
                vector = name.partition("[")[0]
                knobs[_name_parameter(program, vector)] = repr(whole[vector])
    options = [f"{name}={value}" for name, value in knobs.items()]
    return ", ".join([*data, *(["*", *options] if options else [])])


def _name_parameter(program: Program, name: str) -> str:
    """Return what a parameter is called in the function that reads it; a number of a schedule by its owner too."""
    owner, _, own = name.partition(".")
    return (own if own and owner in program.terms else name).replace(".", "_")


def _list_functions(program: Program) -> list[str]:
    """Return what has a function of its own: the terms, the gate and the conditions of overrides."""
    return [term for term in program.terms if term != "clamp" or term not in program.adjustments]


def _render_total(program: Program, style: Style) -> str:
    """Return the total as a sum of clamped and weighted terms, with the numbers in place."""
    if program.adjustments or program.counters or "total.scale" in program.params or _has_shared_scale(program):
        return _render_composed_total(program, style)
    parts = []
    for term in program.terms:
        text = _render_clamp(program, (style.name(term), ATOM), term, style)
        weight = program.params[f"{term}.weight"]
        if weight != 1.0:
            text = join_operands(n.Mul, [text, render_number(weight, style)], style)
        parts.append(text)
    total = parts[0]
    for part in parts[1:]:
        total = join_operands(n.Add, [total, part], style)
    return _render_clamp(program, total, "total", style)[0]


def _has_shared_scale(program: Program) -> bool:
    """Return whether the values are more than clamped scores times weights, though nothing else shows it."""
    weighted = program.nodes[program.outputs[f"{program.terms[0]}.value"]]
    factor = program.nodes[weighted.right] if isinstance(weighted, n.Mul) else None
    return factor != n.Param(f"{program.terms[0]}.weight")


def _render_composed_total(program: Program, style: Style) -> str:
    """Return the total as its nodes say, from the results of functions on, with the numbers in place."""
    texts: dict[int, tuple[str, int]] = {}
    for term in _list_functions(program):
        at = program.outputs[f"{term}.score"]
        texts[at] = (style.name(term), ATOM)
        if term in program.adjustments and isinstance(flag := program.nodes[at], n.Number):
            texts.setdefault(flag.arg, texts[at])
    for at in find_reachable(program.nodes, [program.outputs["total"]], known=list(texts)):
        match program.nodes[at]:
            case n.Param(name):
                texts[at] = render_number(program.params[name], style)
            case n.Mul(left, right) if program.nodes[right] in _list_ones(program):
                texts[at] = texts[left]
            case node:
                texts[at] = _render_node(program, node, texts, style)
    return texts[program.outputs["total"]][0]


def _list_ones(program: Program) -> list[n.Node]:
    """Return the parameters that are 1, and need not be written as a factor."""
    return [n.Param(name) for name, value in program.params.items() if value == 1.0 and not isinstance(value, bool)]


def _render_clamp(program: Program, text: tuple[str, int], owner: str, style: Style) -> tuple[str, int]:
    low, high = (program.params.get(f"{owner}.{end}") for end in ("low", "high"))
    if low is not None and high is not None:
        return join_operands(n.Clip, [text, (style.constant(low), ATOM), (style.constant(high), ATOM)], style)
    if low is not None:
        return join_operands(n.Max, [text, (style.constant(low), ATOM)], style)
    return text if high is None else join_operands(n.Min, [text, (style.constant(high), ATOM)], style)


def _render_term(
    program: Program,
    root: int,
    style: Style,
    names: Mapping[int, str],
    known: Mapping[int, str],
    sure: Collection[int] | None = None,
) -> Rendered:
    """Return the text of one node: locals, shared and deep parts by name, a chain of choices as cases.

    A local that is used once gets its name only if it can be computed on every row: it stands above all cases. What is
    `known`, states after the step, has names already. Where it is given which partial operations are `sure` to be
    asked for on every row, nothing else that is partial gets a name.
    """
    order = list(find_reachable(program.nodes, [root], known))
    uses = Counter(operand for at in order for operand in n.operands(program.nodes[at]))
    taken = _find_taken_names([program.nodes[at] for at in order])
    texts: dict[int, tuple[str, int]] = {at: (style.name(name), ATOM) for at, name in known.items()}
    depth: dict[int, int] = {}
    partial: set[int] = set()
    unsure: set[int] = set()
    rendered = Rendered()
    chain = _find_cases(program, root, uses, known)
    cases = set(chain)
    for at in order:
        node = program.nodes[at]
        operands = n.operands(node)
        depth[at] = 1 + max((depth.get(operand, 0) for operand in operands), default=-1)
        if at in cases:
            continue
        texts[at] = _render_node(program, node, texts, style)
        if node.partial or not partial.isdisjoint(operands):
            partial.add(at)
        if sure is not None and ((node.partial and at not in sure) or not unsure.isdisjoint(operands)):
            unsure.add(at)
        needed = uses[at] > 1 or depth[at] > DEEPEST or (at in names and at not in partial)
        if at != root and depth[at] and needed and at not in unsure:
            name = style.name(_choose_name(names.get(at), taken))
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


_FUNCTION_NAMES = {word for text, _ in PYTHON.operations.values() for word in re.findall(r"[a-z_]\w*", text)}


def _find_taken_names(nodes: list[n.Node]) -> set[str]:
    """Return the names that stand for something else in the text of a term: what it reads, and functions."""
    read = [node.name for node in nodes if isinstance(node, n.Input | n.Param)]
    return {word for name in read for word in re.findall(r"\w+", name)} | _FUNCTION_NAMES | {"round", "float", "math"}


def _choose_name(name: str | None, taken: set[str]) -> str:
    """Return the author's name, or `part`, with a number where it is taken; it is taken then."""
    numbered = (f"{name or 'part'}_{i}" for i in count(2 if name else 1))
    chosen = name if name and name not in taken else next(each for each in numbered if each not in taken)
    taken.add(chosen)
    return chosen


def _find_cases(program: Program, root: int, uses: Counter[int], known: Mapping[int, str]) -> list[int]:
    """Return the choices that a term goes through one after another: its cases."""
    chain = []
    at = root
    while at not in known and isinstance(node := program.nodes[at], n.Select) and (at == root or uses[at] == 1):
        chain.append(at)
        at = node.otherwise
    return chain


def _render_node(program: Program, node: n.Node, texts: Mapping[int, tuple[str, int]], style: Style) -> tuple[str, int]:
    match node:
        case n.Const(value):
            return render_number(value, style)
        case n.Input(name):
            return style.name(name), ATOM
        case n.Param(name):
            return style.name(_name_parameter(program, name)), ATOM
        case n.Label(_, value):
            return style.text(value), ATOM
        case n.Select(condition, then, otherwise):
            return style.choice([(texts[condition][0], texts[then][0])], texts[otherwise][0])
        case n.Item(table, index):
            labels = _find_labels(program, index)
            return style.table(table, texts[index][0], labels), ATOM
        case n.Mul(left, right) if left == right:
            return style.operations[Square][0].format(add_parentheses(texts[left], ATOM, style)), PRODUCT
        case n.Power(left, right):
            return style.operations[n.Power][0].format(
                *(add_parentheses(texts[at], ATOM, style) for at in (left, right))
            ), PRODUCT
        case n.Number(arg) if style.flags_count:
            return texts[arg]
    return join_operands(type(node), [texts[at] for at in n.operands(node)], style)


def _find_labels(program: Program, at: int) -> tuple[str, ...]:
    """Return the categories of a node; empty for a number."""
    while isinstance(node := program.nodes[at], n.Select):
        at = node.then
    if isinstance(node, n.Input):
        return program.inputs[node.name].labels
    fields = program.inputs.values()
    return next((f.labels for f in fields if isinstance(node, n.Label) and f.name == node.field), ())
