"""Reading conditions: choices, `and` and `or`, comparisons, membership, and the categories they are about."""

import ast
from abc import abstractmethod
from collections.abc import Callable
from functools import partial

from plaudit.errors import did_you_mean
from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN, format_category
from plaudit.language.program import PYTHON_OPERATIONS
from plaudit.language.reading.arrays import ArrayReader
from plaudit.language.reading.syntax import COMPARISONS, explain_unsupported
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Record,
    Ref,
    Unassigned,
    Undeclared,
    Value,
    Vector,
    describe,
)
from plaudit.language.reading.vectors import find_open, has_items, is_array, is_open


class ConditionReader(ArrayReader):
    """Reads the conditions of one function, and what is chosen by them."""

    @abstractmethod
    def read_expression(self, node: ast.expr, env: dict[str, Value]) -> Value:
        """Return what an expression stands for."""

    @abstractmethod
    def apply_unary(self, op: ast.unaryop, value: Value, node: ast.AST) -> Value:
        """Return `op value`."""

    def read_condition(self, node: ast.expr, env: dict[str, Value]) -> int | bool:
        """Return the position of a condition, or what it is when it is known already."""
        return self.read_truth(self.read_expression(node, env), node)

    def read_choice(
        self, test: ast.expr, body: ast.expr, orelse: ast.expr, node: ast.AST, env: dict[str, Value]
    ) -> Value:
        """Return `body if test else orelse`."""
        flag = self.read_condition(test, env)
        if isinstance(flag, bool):
            return self.read_expression(body if flag else orelse, env)
        with self.reader.under(flag):
            self.reader.mark(body, self.source)
            then = self.read_expression(body, env)
        with self.reader.under(self.reader.add(n.Not(flag))):
            self.reader.mark(orelse, self.source)
            otherwise = self.read_expression(orelse, env)
        return self.join(flag, then, otherwise, node)

    def join(self, test: int, then: Value, otherwise: Value, node: ast.AST) -> Value:
        """Return `then` where `test` is true and `otherwise` elsewhere."""
        reader, source = self.reader, self.source
        if then.is_same(otherwise) if isinstance(then, Constant) else then == otherwise:
            return then
        lost = [value for value in (then, otherwise) if isinstance(value, Unassigned)]
        if lost:
            return next((value for value in lost if value.error or value.why), lost[0])
        if is_open(then) or is_open(otherwise):
            return find_open(then, otherwise) or then
        if isinstance(then, Dictionary) and isinstance(otherwise, Dictionary):
            pairs = {
                key: (then.items.get(key, Unassigned()), otherwise.items.get(key, Unassigned()))
                for key in {**then.items, **otherwise.items}
            }
            return Dictionary({key: self.join(test, *pair, node) for key, pair in pairs.items()})
        if has_items(then) and has_items(otherwise):
            return self.join_vectors(test, then, otherwise, node)
        kinds = {self.find_kind(then), self.find_kind(otherwise)}
        if kinds == {"string"}:
            raise self.error(node, "a string is not a value of its own.", "Keep the condition instead: fast = x > 1.")
        if kinds == {FLAG}:
            left, right, kind = reader.add_flag(then, node, source), reader.add_flag(otherwise, node, source), FLAG
        elif any(kind.startswith("category") for kind in kinds) or "string" in kinds:
            kind = next((kind for kind in kinds if kind.startswith("category")), UNKNOWN)
            left, right = (self.find_label(value, kind, node) for value in (then, otherwise))
        else:
            left, right, kind = (
                reader.add_number(then, node, source),
                reader.add_number(otherwise, node, source),
                NUMBER,
            )
            kind = UNKNOWN if UNKNOWN in kinds else NUMBER
        return Ref(reader.add(n.Select(test, left, right)), kind)

    def read_boolean(self, node: ast.BoolOp, env: dict[str, Value]) -> Value:
        """Read `and` or `or`; what follows is reached only where it is not cut short."""
        conjunction = isinstance(node.op, ast.And)
        return self.leave_open(self.chain(conjunction, [partial(self.read_flag, value, env) for value in node.values]))

    def leave_open(self, value: Value) -> Value:
        """Return a condition that may yet turn out to be of arrays, where no field is declared."""
        return Ref(value.at, UNKNOWN) if isinstance(value, Ref) and self.reader.scope.fields is None else value

    def read_flag(self, node: ast.expr, env: dict[str, Value]) -> int | bool:
        """Return one side of `and` or `or`, which must be a flag."""
        value = self.read_expression(node, env)
        if self.find_kind(value) not in (FLAG, UNKNOWN):
            advice = "Write `a if condition else b`, or compare: `x != 0`."
            if isinstance(value, Vector):
                advice = "Join arrays with `&` and `|`: (v > 0) & (w > 0); or write any(v > 0)."
            raise self.error(node, f"`and` and `or` join conditions, and this is {describe(value)}.", advice)
        if isinstance(value, Constant):
            return bool(value.value)
        return self.reader.add_flag(value, node, self.source)

    def chain(self, conjunction: bool, parts: list[Callable[[], int | bool]]) -> Value:
        """Return the conjunction or disjunction of `parts`, each read where those before it leave it open."""
        reader = self.reader
        outer = reader.path
        result: int | None = None
        try:
            for part in parts:
                flag = part()
                if isinstance(flag, bool):
                    if flag is conjunction:
                        continue
                    if result is None:
                        return Constant(flag)
                    flag = reader.builder.const(flag)
                result = flag if result is None else reader.add((n.And if conjunction else n.Or)(result, flag))
                open_ = result if conjunction else reader.add(n.Not(result))
                reader.path = open_ if outer is None else reader.add(n.And(outer, open_))
        finally:
            reader.path = outer
        return Constant(conjunction) if result is None else Ref(result, FLAG)

    def read_comparison(self, node: ast.Compare, env: dict[str, Value]) -> Value:
        """Return a chain of comparisons; each is reached only where those before it hold."""
        left = self.read_expression(node.left, env)
        if len(node.ops) == 1:
            return self.compare(node.ops[0], left, self.read_expression(node.comparators[0], env), node)
        state = [left]

        def link(op: ast.cmpop, comparator: ast.expr) -> int | bool:
            right = self.read_expression(comparator, env)
            value = self.compare(op, state[0], right, node)
            state[0] = right
            if isinstance(value, Constant):
                return bool(value.value)
            if isinstance(value, Vector):
                raise self.error(node, "arrays are compared once at a time.", "Write (low < v) & (v < high).")
            return self.reader.add_flag(value, node, self.source)

        links = zip(node.ops, node.comparators, strict=True)
        return self.leave_open(self.chain(True, [partial(link, op, right) for op, right in links]))

    def compare(self, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
        """Return one comparison."""
        if (same := self.compare_to_none(op, left, right)) is not None:
            return Constant(same)
        if isinstance(op, ast.In | ast.NotIn):
            found = self.find_member(left, right, node)
            return found if isinstance(op, ast.In) else self.apply_unary(ast.Not(), found, node)
        if type(op) not in COMPARISONS:
            raise self.error(node, *explain_unsupported(op))
        kind = COMPARISONS[type(op)]
        if is_array(left) or is_array(right):
            return self.spread(lambda one, other: self.compare(op, one, other, node), left, right, node=node)
        if (has_items(left) or has_items(right)) and (unknown := find_open(left, right)) is not None:
            return unknown
        if isinstance(left, Constant) and isinstance(right, Constant):
            try:
                return self.read_constant(PYTHON_OPERATIONS[kind](left.value, right.value), node)
            except TypeError:
                raise self.error(node, f"{describe(left)} has no order with {describe(right)}.") from None
        kinds = {self.find_kind(left), self.find_kind(right)}
        category_kind = next((kind for kind in kinds if kind.startswith("category")), None)
        if category_kind or "string" in kinds:
            if kind not in (n.Eq, n.Ne):
                raise self.error(
                    node, "categories have no order.", "Compare positions: ORDER.index(a) < ORDER.index(b)."
                )
            wanted = category_kind or UNKNOWN
            operands = (self.find_label(left, wanted, node), self.find_label(right, wanted, node))
        else:
            operands = (
                self.reader.add_number(left, node, self.source),
                self.reader.add_number(right, node, self.source),
            )
        return find_open(left, right) or Ref(self.reader.add(kind(*operands)), FLAG)

    def compare_to_none(self, op: ast.cmpop, left: Value, right: Value) -> bool | None:
        """Return what a comparison with None gives: what is read from a row never is None."""
        nones = [isinstance(value, Constant) and value.value is None for value in (left, right)]
        if not any(nones) or not isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
            return None
        return all(nones) is isinstance(op, ast.Is | ast.Eq)

    def find_member(self, value: Value, table: Value, node: ast.AST) -> Value:
        """Return `value in table`."""
        if isinstance(table, Record) and isinstance(value, Constant) and isinstance(value.value, str):
            return Constant(
                not isinstance(self.reader.read_part((*table.path, value.value), node, self.source), Record)
            )
        if is_open(table):
            return find_open(table) or table
        if isinstance(table, Dictionary):
            table = Constant(tuple(table.items))
        if not has_items(table):
            raise self.error(node, "`in` needs a constant tuple on its right.", "Write `x in (1, 2, 3)`.")
        if isinstance(value, Constant) and isinstance(table, Constant) and isinstance(table.value, tuple):
            return Constant(value.value in table.value)
        entries = self.list_items(table, node)
        flags = [self.compare(ast.Eq(), value, entry, node) for entry in entries]
        return self.chain(False, [partial(self.read_truth, flag, node) for flag in flags])

    def find_kind(self, value: Value) -> str:
        """Return the kind of a value; "string" and "other" are kinds of constants."""
        match value:
            case Ref(_, kind):
                return kind
            case Undeclared():
                return UNKNOWN
            case Constant(known) if isinstance(known, str):
                return "string"
            case Constant(known) if isinstance(known, bool):
                return FLAG
            case Constant(known) if to_number(known) is not None:
                return NUMBER
        return "other"

    def find_labels(self, value: Value) -> tuple[str, ...]:
        """Return the categories of a value; empty where it is none."""
        fields = self.reader.scope.fields or {}
        return next((f.labels for f in fields.values() if format_category(f.name) == self.find_kind(value)), ())

    def find_label(self, value: Value, kind: str, node: ast.AST) -> int:
        """Return the position of `value` as a category of `kind`."""
        field_name = kind.removeprefix("category ")
        match value:
            case Ref(at, found) if found in (kind, UNKNOWN):
                return at
            case Undeclared(at, _):
                return at
            case Constant(known) if isinstance(known, str):
                declared = (self.reader.scope.fields or {}).get(field_name)
                if declared is not None and known not in declared.labels:
                    near = did_you_mean(known, declared.labels)
                    raise self.error(
                        node,
                        f"{known!r} is not a value of field {field_name!r}.{near}",
                        f"Its values: {', '.join(declared.labels)}.",
                    )
                return self.reader.add(n.Label(field_name, known))
        other = "a string" if kind == UNKNOWN else f"a category of field {field_name!r}"
        raise self.error(node, f"{other} is compared with {describe(value)}.")
