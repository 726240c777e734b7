"""How each plain operation is written: a template whose slots {0}, {1} … are its operands."""

import math

from plaudit.errors import UnsupportedNode
from plaudit.language import nodes as n
from plaudit.language.kinds import FLAG, NUMBER, kinds
from plaudit.targets.sql.dialects import Dialect
from plaudit.targets.sql.lowering import Lowered
from plaudit.targets.sql.postgres import total_template

_COMMON: dict[type[n.Node], str] = {
    n.Neg: "(-{0})",
    n.Abs: "abs({0})",
    n.Not: "(NOT {0})",
    n.Sqrt: "sqrt({0})",
    n.Exp: "exp({0})",
    n.Expm1: "expm1({0})",
    n.Log: "ln({0})",
    n.Log1p: "log1p({0})",
    n.Sin: "sin({0})",
    n.Cos: "cos({0})",
    n.Tanh: "tanh({0})",
    n.Floor: "floor({0})",
    n.Ceil: "ceil({0})",
    n.Round: "round({0})",
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


class Speller:
    """Chooses the template of each node of one lowered Program.

    With `asserted`, what is written ends in a test that takes unknown for false, so that a condition may be unknown.
    """

    def __init__(self, lowered: Lowered, dialect: Dialect, *, asserted: bool = False) -> None:
        self.asserted = asserted
        self.lowered = lowered
        self.dialect = dialect
        self.nodes = lowered.program.nodes
        self.kinds = kinds(self.nodes, lowered.program.inputs, lowered.program.params)

    def leaf(self, at: int) -> str | None:
        """Return the text of a constant, None for anything else."""
        match self.nodes[at]:
            case n.Const(value):
                return self.dialect.literal(value)
            case n.Label(_, value):
                return self.dialect.string(value)
        return None

    def template(self, at: int) -> tuple[str, tuple[int, ...]]:
        """Return how a node is written, and the operands that stand in its slots."""
        node = self.nodes[at]
        operands = n.operands(node)
        if self.dialect.name == "postgres" and (template := total_template(self.lowered, at)):
            return template, operands
        if type(node) in _SIGNS:
            return self._comparison(node, operands), operands
        match node:
            case n.And(left, right) if held := self._held(left, right):
                return held
            case n.Number():
                return f"CASE WHEN {{0}} THEN {self._number(1)} ELSE {self._number(0)} END", operands
            case n.IsInf():
                return self._sure(f"(abs({{0}}) = {self._number(math.inf)})", operands), operands
            case n.IsFinite():
                return self._sure(f"(abs({{0}}) < {self._number(math.inf)})", operands), operands
            case n.Min() | n.Max():
                return self._extreme(node, operands), operands
            case n.Clip():
                return self._clip(operands), operands
            case n.Item():
                return self._item(node), operands
        common = self.dialect.functions.get(type(node)) or _COMMON.get(type(node))
        if common is None:
            raise UnsupportedNode(
                f"reward {self.lowered.program.name!r} uses {type(node).__name__}, "
                f"which {self.dialect.name} cannot express"
            )
        return common, operands

    def _number(self, value: float) -> str:
        return self.dialect.literal(float(value))

    def _nan(self, at: int) -> bool:
        return self.kinds[at] == NUMBER and self.lowered.may_be_nan(at)

    def _sure(self, template: str, operands: tuple[int, ...]) -> str:
        """Return a test that is false, and not unknown, where SQLite has NULL for a NaN."""
        unknown = not self.dialect.nan and not self.asserted and any(self._nan(at) for at in operands)
        return f"({template} IS TRUE)" if unknown else template

    def _not_nan(self, slot: int) -> str:
        return "NOT " + self.dialect.nan.format(f"{{{slot}}}")

    def _comparison(self, node: n.Node, operands: tuple[int, ...]) -> str:
        """Return a comparison that a NaN fails, as in Python; to most engines NaN is the largest number."""
        sign = _SIGNS[type(node)]
        left, right = (self._nan(at) for at in operands)
        if not self.dialect.nan:
            if isinstance(node, n.Ne) and (left or right):
                return "(({0} = {1}) IS NOT TRUE)"
            return self._sure(f"({{0}} {sign} {{1}})", operands)
        plain = f"{{0}} {sign} {{1}}"
        match node:
            case n.Lt() | n.Le() if right:
                plain += f" AND {self._not_nan(1)}"
            case n.Gt() | n.Ge() if left:
                plain += f" AND {self._not_nan(0)}"
            case n.Eq() if left and right:
                plain += f" AND {self._not_nan(0)}"
            case n.Ne() if left and right:
                plain += f" OR {self.dialect.nan.format('{0}')}"
        return f"({plain})"

    def _held(self, left: int, right: int) -> tuple[str, tuple[int, ...]] | None:
        """Return two comparisons of one number with constants on either side: a NaN fails the upper one."""
        low, high = self.nodes[left], self.nodes[right]
        if not isinstance(low, n.Lt | n.Le) or not isinstance(high, n.Lt | n.Le) or low.right != high.left:
            return None
        if not all(isinstance(self.nodes[at], n.Const) for at in (low.left, high.right)):
            return None
        operands = (low.right, low.left, high.right)
        if isinstance(low, n.Le) and isinstance(high, n.Le):
            return self._sure("({0} BETWEEN {1} AND {2})", operands[:1]), operands
        if self.leaf(low.left) == self._number(-math.inf) and self.leaf(high.right) == self._number(math.inf):
            return self._sure("(abs({0}) < {1})", operands[:1]), (low.right, high.right)
        template = f"({{1}} {_SIGNS[type(low)]} {{0}} AND {{0}} {_SIGNS[type(high)]} {{2}})"
        return self._sure(template, operands[:1]), operands

    def _extreme(self, node: n.Node, operands: tuple[int, ...]) -> str:
        smaller = isinstance(node, n.Min)
        if not any(self._nan(at) for at in operands):
            name = self.dialect.least[0 if smaller else 1]
            return f"{name}({{0}}, {{1}})"
        passed = f"{{1}} {'<' if smaller else '>'} {{0}}"
        risky = 0 if smaller else 1
        if self.dialect.nan and self._nan(operands[risky]):
            passed += f" AND {self._not_nan(risky)}"
        return f"CASE WHEN {passed} THEN {{1}} ELSE {{0}} END"

    def _clip(self, operands: tuple[int, ...]) -> str:
        if not any(self._nan(at) for at in operands):
            least, greatest = self.dialect.least
            return f"{least}({greatest}({{0}}, {{1}}), {{2}})"
        over = "{0} > {2}" + (f" AND {self._not_nan(0)}" if self.dialect.nan else "")
        return f"CASE WHEN {{0}} < {{1}} THEN {{1}} WHEN {over} THEN {{2}} ELSE {{0}} END"

    def _item(self, node: n.Item) -> str:
        """Return a table as a CASE; the first entry is what stands outside it too."""
        literal = self.dialect.literal
        if self.kinds[node.index] in (NUMBER, FLAG):
            keys = [literal(float(i)) for i in range(len(node.table))]
        else:
            name = self.kinds[node.index].partition(" ")[2]
            labels = next(f.labels for f in self.lowered.program.inputs.values() if f.name == name)
            keys = [self.dialect.string(label).replace("{", "{{").replace("}", "}}") for label in labels]
        first = literal(node.table[0])
        rows = zip(keys, map(literal, node.table), strict=False)
        pairs = "".join(f" WHEN {key} THEN {entry}" for key, entry in rows if entry != first)
        return f"CASE {{0}}{pairs} ELSE {first} END" if pairs else first
