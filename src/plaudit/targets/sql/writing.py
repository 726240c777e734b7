"""Writing a lowered Program as SQL: a template for each operation, a name for each value that is read repeatedly."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from plaudit.errors import TargetError, UnsupportedNode
from plaudit.language import nodes as n
from plaudit.language.kinds import FLAG, NUMBER, infer_kinds
from plaudit.language.program import find_reachable
from plaudit.targets.sql.dialects import Dialect
from plaudit.targets.sql.lower import LoweredProgram
from plaudit.targets.sql.postgres import choose_total_template

_SLOT = re.compile(r"\{(\d)\}")

DEEPEST = 8
"""How many operations may stand inside one another before a value gets a name: SQLite's parser has a small stack."""
LONGEST = 1_000_000
"""Characters of one expression; beyond, shared values have been written out too often."""


class ExpressionTooLong(TargetError):
    """An expression has grown beyond reason."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression, and the named values it reads."""

    text: str
    reads: frozenset[str] = frozenset()


class QueryBuilder:
    """Named values of a row, layer upon layer; with `inline`, none has a name, and none may be too long."""

    def __init__(self, *, inline: bool, longest: int = LONGEST) -> None:
        self.inline = inline
        self.longest = longest
        self.expressions: dict[str, Expression] = {}
        self.layers: dict[str, int] = {}

    def build(self, template: str, operands: Sequence[Expression] = ()) -> Expression:
        """Return an expression over others."""
        text = template.format(*(operand.text for operand in operands))
        if self.inline and len(text) > self.longest:
            raise ExpressionTooLong(
                f"written as one expression, this reward is longer than {self.longest:,} characters, because shared "
                "values are repeated. Use select(table), which computes each shared value once."
            )
        return Expression(text, frozenset().union(*(operand.reads for operand in operands)))

    def add_name(self, name: str, expression: Expression) -> Expression:
        """Return a value under a name, so that it is computed once however often it is read."""
        if self.inline:
            return expression
        self.expressions[name] = expression
        self.layers[name] = 1 + max((self.layers[read] for read in expression.reads), default=0)
        return Expression(name, frozenset({name}))

    def format_statement(self, dialect: Dialect, source: str, prefix: str, outputs: Mapping[str, Expression]) -> str:
        """Return the statement that reads `source` and yields `outputs`."""
        parts = []
        for layer, columns in self._list_layers(list(outputs.values())):
            below = f"{prefix}_{layer - 1}" if layer > 1 else source
            lines = ["SELECT", "  " + ",\n    ".join(columns), f"FROM {below}", *filter(None, [dialect.fence])]
            parts.append(f"{prefix}_{layer} {dialect.cte} (\n  " + "\n  ".join(lines) + "\n)")
        listed = ",\n  ".join(f"{each.text} AS {dialect.quote_name(name)}" for name, each in outputs.items())
        return f"WITH {', '.join(parts)}\nSELECT\n  {listed}\nFROM {prefix}_{len(parts)}"

    def format_nested(self, dialect: Dialect, output: Expression) -> str:
        """Return `output` as one expression: a subquery that reads the row around it and no table."""
        parts = []
        for layer, columns in self._list_layers([output]):
            below = f" FROM plaudit_{layer - 1}" if layer > 1 else ""
            fence = f" {dialect.fence}" if dialect.fence else ""
            parts.append(f"plaudit_{layer} {dialect.cte} (SELECT {', '.join(columns)}{below}{fence})")
        return f"(WITH {', '.join(parts)} SELECT {output.text} FROM plaudit_{len(parts)})"

    def _list_layers(self, outputs: Sequence[Expression]) -> Iterator[tuple[int, list[str]]]:
        """Yield the columns of each layer: what is handed on, then what is computed there."""
        last = max(self.layers.values(), default=0)
        needed = self._find_needed(outputs, last)
        for layer in range(1, last + 1):
            made = [name for name in self.expressions if self.layers[name] == layer]
            carried = [name for name in self.expressions if self.layers[name] < layer and name in needed[layer]]
            yield layer, [*carried, *(f"{self.expressions[name].text} AS {name}" for name in made)]

    def _find_needed(self, outputs: Sequence[Expression], last: int) -> dict[int, set[str]]:
        """Return for each layer the names that it or anything above it must hand on."""
        above = {read for cell in outputs for read in cell.reads}
        found = {}
        for layer in range(last, 0, -1):
            found[layer] = set(above)
            above |= {
                read for name, cell in self.expressions.items() if self.layers[name] == layer for read in cell.reads
            }
        return found


_TEMPLATES: dict[type[n.Node], str] = {
    **{kind: f"{n.split_function(kind)[1]}({n.format_slots(kind)})" for kind in n.FUNCTIONS},
    n.Log: "ln({0})",
    n.Neg: "(-{0})",
    n.Not: "(NOT {0})",
    n.Add: "({0} + {1})",
    n.Sub: "({0} - {1})",
    n.Mul: "({0} * {1})",
    n.Div: "({0} / {1})",
    n.Mod: "mod({0}, {1})",
    n.And: "({0} AND {1})",
    n.Or: "({0} OR {1})",
    n.Select: "CASE WHEN {0} THEN {1} ELSE {2} END",
}
_SIGNS: dict[type[n.Node], str] = {n.Lt: "<", n.Le: "<=", n.Gt: ">", n.Ge: ">=", n.Eq: "=", n.Ne: "<>"}


class TemplateChooser:
    """Chooses the template of each node of one lowered Program.

    With `asserted`, what is written ends in a test that takes unknown for false, so that a condition may be unknown.
    """

    def __init__(self, lowered: LoweredProgram, dialect: Dialect, *, asserted: bool = False) -> None:
        self.asserted = asserted
        self.lowered = lowered
        self.dialect = dialect
        self.nodes = lowered.program.nodes
        self.kinds = infer_kinds(self.nodes, lowered.program.inputs, lowered.program.params)

    def format_leaf(self, at: int) -> str | None:
        """Return the text of a constant, None for anything else."""
        match self.nodes[at]:
            case n.Const(value):
                return self.dialect.format_literal(value)
            case n.Label(_, value):
                return self.dialect.quote_string(value)
        return None

    def choose(self, at: int) -> tuple[str, tuple[int, ...]]:
        """Return the template of a node and the operands for its slots."""
        node = self.nodes[at]
        operands = n.operands(node)
        if self.dialect.name == "postgres" and (template := choose_total_template(self.lowered, at)):
            return template, operands
        if type(node) in _SIGNS:
            return self._format_comparison(node, operands), operands
        match node:
            case n.And(left, right) if merged := self._merge_comparisons(left, right):
                return merged
            case n.Number():
                return f"CASE WHEN {{0}} THEN {self._format_number(1)} ELSE {self._format_number(0)} END", operands
            case n.IsInf():
                return self._make_known(f"(abs({{0}}) = {self._format_number(math.inf)})", operands), operands
            case n.IsFinite():
                return self._make_known(f"(abs({{0}}) < {self._format_number(math.inf)})", operands), operands
            case n.Min() | n.Max():
                return self._format_extreme(node, operands), operands
            case n.Clip():
                return self._format_clip(operands), operands
            case n.Item():
                return self._format_item(node), operands
        common = self.dialect.functions.get(type(node)) or _TEMPLATES.get(type(node))
        if common is None:
            raise UnsupportedNode(
                f"reward {self.lowered.program.name!r} uses {type(node).__name__}, "
                f"which {self.dialect.name} cannot express"
            )
        return common, operands

    def _format_number(self, value: float) -> str:
        return self.dialect.format_literal(float(value))

    def _may_be_nan(self, at: int) -> bool:
        return self.kinds[at] == NUMBER and self.lowered.may_be_nan(at)

    def _make_known(self, template: str, operands: tuple[int, ...]) -> str:
        """Return a test that is false, and not unknown, where SQLite has NULL for a NaN."""
        unknown = not self.dialect.nan and not self.asserted and any(self._may_be_nan(at) for at in operands)
        return f"({template} IS TRUE)" if unknown else template

    def _format_not_nan(self, slot: int) -> str:
        return "NOT " + self.dialect.nan.format(f"{{{slot}}}")

    def _format_comparison(self, node: n.Node, operands: tuple[int, ...]) -> str:
        """Return a comparison that a NaN fails, as in Python; to most engines NaN is the largest number."""
        sign = _SIGNS[type(node)]
        left, right = (self._may_be_nan(at) for at in operands)
        if not self.dialect.nan:
            if isinstance(node, n.Ne) and (left or right):
                return "(({0} = {1}) IS NOT TRUE)"
            return self._make_known(f"({{0}} {sign} {{1}})", operands)
        plain = f"{{0}} {sign} {{1}}"
        match node:
            case n.Lt() | n.Le() if right:
                plain += f" AND {self._format_not_nan(1)}"
            case n.Gt() | n.Ge() if left:
                plain += f" AND {self._format_not_nan(0)}"
            case n.Eq() if left and right:
                plain += f" AND {self._format_not_nan(0)}"
            case n.Ne() if left and right:
                plain += f" OR {self.dialect.nan.format('{0}')}"
        return f"({plain})"

    def _merge_comparisons(self, left: int, right: int) -> tuple[str, tuple[int, ...]] | None:
        """Return two comparisons of one number with constants on either side: a NaN fails the upper one."""
        low, high = self.nodes[left], self.nodes[right]
        if not isinstance(low, n.Lt | n.Le) or not isinstance(high, n.Lt | n.Le) or low.right != high.left:
            return None
        if not all(isinstance(self.nodes[at], n.Const) for at in (low.left, high.right)):
            return None
        operands = (low.right, low.left, high.right)
        if isinstance(low, n.Le) and isinstance(high, n.Le):
            return self._make_known("({0} BETWEEN {1} AND {2})", operands[:1]), operands
        if self.format_leaf(low.left) == self._format_number(-math.inf) and self.format_leaf(
            high.right
        ) == self._format_number(math.inf):
            return self._make_known("(abs({0}) < {1})", operands[:1]), (low.right, high.right)
        template = f"({{1}} {_SIGNS[type(low)]} {{0}} AND {{0}} {_SIGNS[type(high)]} {{2}})"
        return self._make_known(template, operands[:1]), operands

    def _format_extreme(self, node: n.Node, operands: tuple[int, ...]) -> str:
        smaller = isinstance(node, n.Min)
        if not any(self._may_be_nan(at) for at in operands):
            name = self.dialect.least[0 if smaller else 1]
            return f"{name}({{0}}, {{1}})"
        passed = f"{{1}} {'<' if smaller else '>'} {{0}}"
        risky = 0 if smaller else 1
        if self.dialect.nan and self._may_be_nan(operands[risky]):
            passed += f" AND {self._format_not_nan(risky)}"
        return f"CASE WHEN {passed} THEN {{1}} ELSE {{0}} END"

    def _format_clip(self, operands: tuple[int, ...]) -> str:
        if not any(self._may_be_nan(at) for at in operands):
            least, greatest = self.dialect.least
            return f"{least}({greatest}({{0}}, {{1}}), {{2}})"
        over = "{0} > {2}" + (f" AND {self._format_not_nan(0)}" if self.dialect.nan else "")
        return f"CASE WHEN {{0}} < {{1}} THEN {{1}} WHEN {over} THEN {{2}} ELSE {{0}} END"

    def _format_item(self, node: n.Item) -> str:
        """Return a table as a CASE; an index outside it gives the first entry."""
        literal = self.dialect.format_literal
        if self.kinds[node.index] in (NUMBER, FLAG):
            keys = [literal(float(i)) for i in range(len(node.table))]
        else:
            name = self.kinds[node.index].partition(" ")[2]
            labels = next(f.labels for f in self.lowered.program.inputs.values() if f.name == name)
            keys = [self.dialect.quote_string(label).replace("{", "{{").replace("}", "}}") for label in labels]
        first = literal(node.table[0])
        rows = zip(keys, map(literal, node.table), strict=False)
        pairs = "".join(f" WHEN {key} THEN {entry}" for key, entry in rows if entry != first)
        return f"CASE {{0}}{pairs} ELSE {first} END" if pairs else first


def write_expressions(
    lowered: LoweredProgram,
    chooser: TemplateChooser,
    inputs: Mapping[str, Expression],
    query: QueryBuilder,
    prefix: str = "v",
) -> dict[int, Expression]:
    """Return the expression of each root, and of all that they need; `inputs` are those of the inputs."""
    nodes = lowered.program.nodes
    needed = list(find_reachable(nodes, lowered.roots))
    templates = {at: chooser.choose(at) for at in needed if n.operands(nodes[at])}
    uses = Counter(lowered.roots)
    for at in reversed(needed):  # users first: a comparison that a BETWEEN has taken in is not read
        if at in templates and uses[at]:
            template, operands = templates[at]
            uses.update(operands[int(slot)] for slot in _SLOT.findall(template))
    found: dict[int, Expression] = {}
    depth: dict[int, int] = {}
    for at in needed:
        if at not in templates:
            node = nodes[at]
            found[at] = inputs[node.name] if isinstance(node, n.Input) else Expression(chooser.format_leaf(at) or "")
            depth[at] = 0
            continue
        template, operands = templates[at]
        if not uses[at]:
            continue
        cell = query.build(template, [found.get(operand, Expression("")) for operand in operands])
        depth[at] = 1 + max(depth.get(operand, 0) for operand in operands)
        if uses[at] > 1 or depth[at] > DEEPEST:
            cell, depth[at] = query.add_name(f"{prefix}{at}", cell), 0
        found[at] = cell
    return found
