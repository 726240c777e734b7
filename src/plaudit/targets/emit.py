"""Writing a Program as source text: one table of spellings, safe names, each shared value computed once.

No text of the Program reaches the generated code. Inputs become x0, x1 …, parameters p0, p1 …, shared values v0, v1 …,
tables t0, t1 …; numbers are written by `repr` of a float, and texts never appear at all.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plaudit.errors import UnsupportedNode
from plaudit.language import nodes as n
from plaudit.language.program import PYTHON_OPERATIONS, Program, find_reachable
from plaudit.targets.compiled import FLOATS

DEEPEST = 40
"""How many spellings may stand inside one another before a value gets a name: parsers have limits."""

_SLOT = re.compile(r"\{(\d)\}")


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a target writes each operation: templates with {0}, {1} for operands and {table}, {last} for an Item."""

    operations: Mapping[type[n.Node], str]
    defined: Mapping[type[n.Node], str]
    """For each partial operation, the test that it is inside its domain, on the same operands."""
    constant: Callable[[float | bool], str]
    plain: Mapping[type[n.Node], str] = field(default_factory=dict)
    """Shorter spellings of partial operations, for those that are known to be inside their domain."""
    cheap: tuple[type[n.Node], ...] = ()
    """Operations on leaves that are written out again at each use rather than named."""
    chains: bool = False
    """Whether `a <= x and x <= b` may be written `a <= x <= b`."""


@dataclass(slots=True)
class Code:
    """Statements, the expression of each node, and the tables they use."""

    lines: list[str] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    tables: dict[str, tuple[float | bool, ...]] = field(default_factory=dict)
    table_names: dict[str, str] = field(default_factory=dict)


def format_literal(value: float | bool) -> str:
    """Return a constant as Python source.

    >>> format_literal(-100), format_literal(True), format_literal(float("inf"))
    ('(-100.0)', 'True', 'inf')
    """
    if isinstance(value, bool):
        return repr(value)
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text


def emit(
    program: Program,
    roots: Sequence[int],
    spelling: Spelling,
    code: Code | None = None,
    *,
    defined: frozenset[int] = frozenset(),
) -> Code:
    """Return statements after which the text of every root is an expression for its value.

    With `code`, go on from there: what it has named is not computed again. Partial operations in `defined`
    are known to be inside their domain.
    """
    code = code or Code()
    nodes = program.nodes
    needed = list(find_reachable(nodes, roots, code.texts))
    uses = Counter(roots)
    for at in reversed(needed):  # from those that read to those that are read
        if uses[at]:
            uses.update(_list_reads(nodes, at, spelling, defined))
    names = {name: f"x{i}" for i, name in enumerate(program.inputs)}
    params = {name: f"p{i}" for i, name in enumerate(program.params)}
    depth: dict[int, int] = {}
    for at in needed:
        node = nodes[at]
        match node:
            case n.Const(value):
                code.texts[at] = spelling.constant(value)
            case n.Input(name):
                code.texts[at] = names[name]
            case n.Param(name):
                code.texts[at] = params[name]
            case n.Label(field_name, value):
                code.texts[at] = str(_find_labels(program, field_name).index(value))
            case _:
                if uses[at]:
                    _write_node(code, program, at, spelling, uses, depth, defined)
        depth.setdefault(at, 0)
    return code


def _write_node(
    code: Code,
    program: Program,
    at: int,
    spelling: Spelling,
    uses: Counter[int],
    depth: dict[int, int],
    defined: frozenset[int],
) -> None:
    node, source, template = _find_template(program.nodes, at, spelling, defined)
    if not template:
        raise UnsupportedNode(f"reward {program.name!r} uses {type(source).__name__}, which this target cannot express")
    operands = n.operands(source)
    slots = [code.texts.get(operand, "") for operand in operands]  # one that the template does not read may have none
    extra = {}
    if isinstance(source, n.Item) and at in defined and source.table == tuple(range(len(source.table))):
        template = "{0}"  # the position of a position
    elif isinstance(source, n.Item):
        extra = {"table": _name_table(code, source.table), "last": str(len(source.table) - 1)}
    text = _format_chain(program, source, code) if spelling.chains else ""
    text = text or template.format(*slots, **extra)
    depth[at] = 1 + max((depth.get(operand, 0) for operand in operands), default=0)
    cheap = isinstance(node, spelling.cheap) and depth[at] == 1
    if (uses[at] > 1 and not cheap) or depth[at] > DEEPEST:
        code.lines.append(f"v{at} = {text}")
        text, depth[at] = f"v{at}", 0
    code.texts[at] = text


def _format_chain(program: Program, node: n.Node, code: Code) -> str:
    """Return two comparisons that share their middle as one, or an empty text."""
    if not isinstance(node, n.And):
        return ""
    first, second = program.nodes[node.left], program.nodes[node.right]
    signs = {n.Lt: "<", n.Le: "<="}
    if type(first) not in signs or type(second) not in signs or not isinstance(first, n.Binary):
        return ""
    if not isinstance(second, n.Binary) or first.right != second.left:
        return ""
    low, middle, high = (code.texts[at] for at in (first.left, first.right, second.right))
    return f"({low} {signs[type(first)]} {middle} {signs[type(second)]} {high})"


def _find_template(
    nodes: tuple[n.Node, ...], at: int, spelling: Spelling, defined: frozenset[int]
) -> tuple[n.Node, n.Node, str]:
    node = nodes[at]
    if isinstance(node, n.Defined):
        source = nodes[node.arg]
        return node, source, spelling.defined.get(type(source), "")
    if at in defined and type(node) in spelling.plain:
        return node, node, spelling.plain[type(node)]
    return node, node, spelling.operations.get(type(node), "")


def _list_reads(nodes: tuple[n.Node, ...], at: int, spelling: Spelling, defined: frozenset[int]) -> list[int]:
    """Return the operands that the spelling of a node reads, each as often as it occurs."""
    _, source, template = _find_template(nodes, at, spelling, defined)
    operands = n.operands(source)
    return [operands[int(slot)] for slot in _SLOT.findall(template)]


def _find_labels(program: Program, name: str) -> tuple[str, ...]:
    return next(field.labels for field in program.inputs.values() if field.name == name)


def _name_table(code: Code, table: tuple[float | bool, ...]) -> str:
    name = code.table_names.setdefault(repr(table), f"t{len(code.table_names)}")
    code.tables[name] = table
    return name


def format_domain(domain: n.Domain) -> str:
    """Return the test that {0} is inside a domain, as one comparison of Python.

    >>> format_domain(n.Sqrt.domain), format_domain(n.Exp.domain)
    ('0.0 <= {0} < inf', '{0} <= largest_exponent')
    """
    below, above = ("<" if end else "<=" for end in (domain.open_low, domain.open_high))
    low = "" if domain.low == -math.inf and not domain.open_low else f"{domain.low!r} {below} "
    high = "" if domain.high == math.inf and not domain.open_high else f" {above} {format_end(domain.high)}"
    return f"{low}{{0}}{high}"


def format_end(end: float) -> str:
    """Return an end of a domain; where an exponential overflows depends on the float type, so it has a name."""
    return "largest_exponent" if end == n.LARGEST_EXPONENT else repr(end)


def _format_call(kind: type[n.Node], arguments: str) -> str:
    """Return a call of Python's function of that kind; rounding gives an integer there, and a float here."""
    call = f"{n.split_function(kind)[1]}({arguments})"
    return f"float({call})" if kind.flat else call


def _format_safe_arguments(kind: type[n.Node]) -> str:
    """Return the arguments of a function, replaced by a harmless one outside the domain."""
    if kind.domain is None:
        return n.format_slots(kind)
    return f"{{0}} if {format_domain(kind.domain)} else {kind.harmless!r}"


INFIX: dict[type[n.Node], str] = {
    n.Neg: "(-{0})",
    n.Add: "({0} + {1})",
    n.Sub: "({0} - {1})",
    n.Mul: "({0} * {1})",
    n.Lt: "({0} < {1})",
    n.Le: "({0} <= {1})",
    n.Gt: "({0} > {1})",
    n.Ge: "({0} >= {1})",
}
"""What Python, C, JavaScript and libraries of arrays write alike."""

SCALAR = Spelling(
    operations={
        **{kind: _format_call(kind, _format_safe_arguments(kind)) for kind in n.FUNCTIONS},
        **INFIX,
        n.Not: "(not {0})",
        n.Number: "(1.0 if {0} else 0.0)",
        n.IsInf: "(abs({0}) == inf)",
        n.IsFinite: f"({format_domain(n.FINITE)})",
        n.Div: "({0} / ({1} if {1} != 0.0 else 1.0))",
        n.FloorDiv: "({0} // ({1} if {1} != 0.0 else 1.0))",
        n.Mod: "({0} % ({1} if {1} != 0.0 else 1.0))",
        n.Min: "({1} if {1} < {0} else {0})",
        n.Max: "({1} if {1} > {0} else {0})",
        n.Eq: "({0} == {1})",
        n.Ne: "({0} != {1})",
        n.And: "({0} and {1})",
        n.Or: "({0} or {1})",
        n.Select: "({1} if {0} else {2})",
        n.Clip: "({1} if {0} < {1} else {2} if {0} > {2} else {0})",
        n.Item: "{table}[int({0}) if 0 <= {0} <= {last} else 0]",
    },
    defined={
        **{kind: f"({format_domain(kind.domain)})" for kind in n.FUNCTIONS if kind.domain is not None},
        **dict.fromkeys((n.Div, n.FloorDiv, n.Mod), "({1} != 0.0)"),
        n.Item: "(0 <= {0} <= {last} and {0} == int({0}))",
    },
    constant=format_literal,
    plain={
        **{kind: _format_call(kind, "{0}") for kind in n.FUNCTIONS if kind.partial},
        n.Div: "({0} / {1})",
        n.FloorDiv: "({0} // {1})",
        n.Mod: "({0} % {1})",
        n.Item: "{table}[int({0})]",
    },
    chains=True,
    cheap=(n.Lt, n.Le, n.Gt, n.Ge, n.Eq, n.Ne),
)
"""One row at a time, for Python and Numba: a branch that is not taken costs nothing."""

SCALAR_NAMES: dict[str, Any] = {
    **{n.split_function(kind)[1]: PYTHON_OPERATIONS[kind] for kind in n.FUNCTIONS},
    "float": float,
    "int": int,
    "type": type,
    "inf": math.inf,
    "nan": math.nan,
    "largest_exponent": FLOATS["float64"].exponent,
}
"""What generated code may call; it sees no other builtins."""


def format_function(name: str, arguments: list[str], body: list[str]) -> str:
    """Return the text of a function made of generated lines."""
    return f"def {name}({', '.join(arguments)}):\n" + "\n".join(f"    {line}" for line in body) + "\n"


def build_function(
    name: str, arguments: list[str], body: list[str], names: dict[str, Any], *, path: Path | None = None
) -> Any:
    """Return the function made of generated lines; `names` is all that it sees, and `source` on it the text.

    With `path`, that file is given as its source.
    """
    text = format_function(name, arguments, body)
    # PyTorch looks for __import__ in the frame that calls it; our own text calls nothing but `names`
    namespace: dict[str, Any] = {"__builtins__": {"__import__": __import__}, **names}
    exec(compile(text, path or f"<plaudit {name}>", "exec"), namespace)  # our own text: see emit
    made = namespace[name]
    made.source = text
    return made
