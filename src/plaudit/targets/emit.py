"""Writing a Program as source text: one table of spellings, safe names, each shared value computed once.

No text of the Program reaches the generated code. Inputs become x0, x1 …, parameters p0, p1 …, shared values v0, v1 …,
tables t0, t1 …; numbers are written by `repr` of a float, and texts never appear at all.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from plaudit.errors import UnsupportedNode
from plaudit.language import nodes as n
from plaudit.language.program import Program, reachable

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
    sure: Mapping[type[n.Node], str] = field(default_factory=dict)
    """Shorter spellings of partial operations, for those that are surely inside their domain."""
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


def literal(value: float | bool) -> str:
    """Return a constant as Python source.

    >>> literal(-100), literal(True), literal(float("inf"))
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
    sure: frozenset[int] = frozenset(),
) -> Code:
    """Return statements after which the text of every root is an expression for its value.

    With `code`, go on from there: what it has named is not computed again. Partial operations in `sure` are known
    to be inside their domain.
    """
    code = code or Code()
    nodes = program.nodes
    needed = [at for at in reachable(nodes, roots) if at not in code.texts]
    uses = Counter(roots)
    for at in needed:
        uses.update(_read(nodes, at, spelling, sure))
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
                code.texts[at] = str(_labels(program, field_name).index(value))
            case _:
                if uses[at]:
                    _write(code, program, at, spelling, uses, depth, sure)
        depth.setdefault(at, 0)
    return code


def _write(
    code: Code,
    program: Program,
    at: int,
    spelling: Spelling,
    uses: Counter[int],
    depth: dict[int, int],
    sure: frozenset[int],
) -> None:
    node, source, template = _template(program.nodes, at, spelling, sure)
    if not template:
        raise UnsupportedNode(f"reward {program.name!r} uses {type(source).__name__}, which this target cannot express")
    operands = n.operands(source)
    slots = [code.texts[operand] for operand in operands]
    extra = {}
    if isinstance(source, n.Item) and at in sure and source.table == tuple(range(len(source.table))):
        template = "{0}"  # the position of a position
    elif isinstance(source, n.Item):
        extra = {"table": _table(code, source.table), "last": str(len(source.table) - 1)}
    text = _chained(program, source, code) if spelling.chains else ""
    text = text or template.format(*slots, **extra)
    depth[at] = 1 + max((depth.get(operand, 0) for operand in operands), default=0)
    cheap = isinstance(node, spelling.cheap) and depth[at] == 1
    if (uses[at] > 1 and not cheap) or depth[at] > DEEPEST:
        code.lines.append(f"v{at} = {text}")
        text, depth[at] = f"v{at}", 0
    code.texts[at] = text


def _chained(program: Program, node: n.Node, code: Code) -> str:
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


def _template(
    nodes: tuple[n.Node, ...], at: int, spelling: Spelling, sure: frozenset[int]
) -> tuple[n.Node, n.Node, str]:
    """Return a node, the node whose operands its spelling reads, and the spelling."""
    node = nodes[at]
    if isinstance(node, n.Defined):
        source = nodes[node.arg]
        return node, source, spelling.defined.get(type(source), "")
    if at in sure and type(node) in spelling.sure:
        return node, node, spelling.sure[type(node)]
    return node, node, spelling.operations.get(type(node), "")


def _read(nodes: tuple[n.Node, ...], at: int, spelling: Spelling, sure: frozenset[int]) -> list[int]:
    """Return the operands that the spelling of a node reads, each as often as it stands there."""
    _, source, template = _template(nodes, at, spelling, sure)
    operands = n.operands(source)
    return [operands[int(slot)] for slot in _SLOT.findall(template)]


def _labels(program: Program, name: str) -> tuple[str, ...]:
    return next(field.labels for field in program.inputs.values() if field.name == name)


def _table(code: Code, table: tuple[float | bool, ...]) -> str:
    name = code.table_names.setdefault(repr(table), f"t{len(code.table_names)}")
    code.tables[name] = table
    return name
