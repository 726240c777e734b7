"""Reading expressions: each becomes a node, a constant, or a short vector of them."""

import ast
import types
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

from plaudit.errors import ReadError, did_you_mean
from plaudit.language import nodes as n
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN, category
from plaudit.language.numbers import constant_number, exact
from plaudit.language.operators import ARITHMETIC, COMPARISONS, refused
from plaudit.language.reader import Reader, describe
from plaudit.language.source import Source
from plaudit.language.values import Constant, Record, Ref, Unassigned, Undeclared, Value, Vector

LARGEST_EXPONENT = 64


class Expressions(ABC):
    """Reads the expressions of one function."""

    def __init__(self, reader: Reader, source: Source) -> None:
        """Begin to read the function `source`."""
        self.reader = reader
        self.source = source
        inner = [
            node
            for loop in ast.walk(source.tree)
            if isinstance(loop, ast.comprehension)
            for node in ast.walk(loop.target)
        ]
        stored = (node for node in ast.walk(source.tree) if isinstance(node, ast.Name) and node not in inner)
        self.locals = {node.id for node in stored if isinstance(node.ctx, ast.Store)}

    def error(self, node: ast.AST, what: str, advice: str = "") -> ReadError:
        """Return the error that points at `node`."""
        return self.source.error(node, what, advice)

    @abstractmethod
    def run(self, env: dict[str, Value]) -> Value:
        """Return what the function returns."""

    @abstractmethod
    def call(self, node: ast.Call, env: dict[str, Value]) -> Value:
        """Return what a call returns."""

    def expression(self, node: ast.expr, env: dict[str, Value]) -> Value:
        """Return what an expression stands for."""
        match node:
            case ast.Constant(value=value):
                return self.known(value, node)
            case ast.Name():
                return self.name(node, env)
            case ast.Attribute():
                return self.attribute(node, env)
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(op, self.expression(left, env), self.expression(right, env), node)
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(op, self.expression(operand, env), node)
            case ast.Compare():
                return self.comparison(node, env)
            case ast.BoolOp():
                return self.boolean(node, env)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.choice(test, body, orelse, node, env)
            case ast.Subscript(value=value, slice=index):
                return self.subscript(self.expression(value, env), self.expression(index, env), node)
            case ast.Tuple(elts=elements):
                return self.display([self.expression(element, env) for element in elements])
            case ast.Call():
                return self.call(node, env)
        raise self.error(node, *refused(node))

    def display(self, items: list[Value]) -> Value:
        """Return a tuple written in the function."""
        known = [item.value for item in items if isinstance(item, Constant)]
        return Constant(tuple(known)) if len(known) == len(items) else Vector(tuple(items))

    def known(self, value: object, node: ast.AST) -> Constant:
        """Return a constant of the language; refuse what it does not have."""
        if isinstance(value, str | tuple | types.ModuleType | type) or callable(value):
            return Constant(value)
        number = constant_number(value)
        if number is not None:
            return Constant(number)
        if value is None:
            raise self.error(node, "there is no None in a term.", "Give the field a `missing=` value instead.")
        if isinstance(value, list | dict | set):
            raise self.error(node, f"a {type(value).__name__} can change.", "Use a tuple of constants.")
        raise self.error(
            node, f"a {type(value).__name__} is not part of the language.", "Use numbers, flags, texts or tuples."
        )

    def name(self, node: ast.Name, env: dict[str, Value]) -> Value:
        """Return a local name, or a constant from outside the function."""
        if node.id in env:
            value = env[node.id]
            if isinstance(value, Unassigned):
                raise self.error(node, f"some path leaves {node.id!r} without a value.", "Assign it before the `if`.")
            return value
        if node.id in self.locals:
            raise self.error(node, f"{node.id!r} is read before it is assigned.", "Assign it above this line.")
        try:
            outer = self.source.outer(node.id)
        except KeyError:
            near = did_you_mean(node.id, [*env, *self.source.function.__globals__])
            raise self.error(
                node, f"the name {node.id!r} is not known.{near}", "Define constants above the term."
            ) from None
        return self.known(outer, node)

    def attribute(self, node: ast.Attribute, env: dict[str, Value]) -> Value:
        """Return `prev.x`, `curr.x`, or a constant of a module or class."""
        base = self.expression(node.value, env)
        if isinstance(base, Record):
            return self.reader.end(base.name, node.attr, node, self.source)
        if isinstance(base, Constant) and isinstance(base.value, types.ModuleType | type):
            key = (base.value, node.attr)
            if key not in self.source.known:
                if not hasattr(base.value, node.attr):
                    raise self.error(node, f"{ast.unparse(node)!r} does not exist.")
                self.source.known[key] = getattr(base.value, node.attr)
            return self.known(self.source.known[key], node)
        advice = "Fields are parameters, or `prev.name` and `curr.name`."
        raise self.error(node, f"`.{node.attr}` of {describe(base)} cannot be read.", advice)

    def arithmetic(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        """Return `left op right`."""
        if type(op) not in ARITHMETIC and not isinstance(op, ast.Pow):
            raise self.error(node, *refused(op))
        if isinstance(left, Constant) and isinstance(right, Constant):
            return self.folded_constant(node, op, left, right)
        if isinstance(op, ast.Pow):
            return self.power(left, right, node)
        kind, _, why = ARITHMETIC[type(op)]
        operands = (self.reader.number(left, node, self.source), self.reader.number(right, node, self.source))
        if why:
            return self.reader.partial(kind(*operands), why, node, self.source)
        return Ref(self.reader.add(kind(*operands)), NUMBER)

    def folded_constant(self, node: ast.AST, op: ast.operator, left: Constant, right: Constant) -> Value:
        """Return arithmetic on constants, computed by Python itself."""
        numbers = [constant_number(value.value) for value in (left, right)]
        if None in numbers:
            raise self.error(node, "arithmetic needs numbers.")
        python = pow if isinstance(op, ast.Pow) else ARITHMETIC[type(op)][1]
        if isinstance(op, ast.Pow) and abs(numbers[1] or 0) > 1024:
            raise self.error(node, "the exponent is too large.")
        try:
            return self.known(python(*numbers), node)  # type: ignore[arg-type]  # None was refused above
        except ArithmeticError as error:
            raise self.error(node, f"this constant cannot be computed: {error}.") from None

    def power(self, base: Value, exponent: Value, node: ast.AST) -> Value:
        """Write a power out as products: squares are halved, so `x ** 8` is three products."""
        whole = constant_number(exponent.value) if isinstance(exponent, Constant) else None
        if not isinstance(whole, int) or isinstance(whole, bool) or not 0 <= whole <= LARGEST_EXPONENT:
            raise self.error(
                node,
                f"the exponent must be a constant whole number from 0 to {LARGEST_EXPONENT}.",
                "For a square root write math.sqrt(x); for 1 / x write a division.",
            )
        square = self.reader.number(base, node, self.source)
        result: int | None = None
        while whole:
            if whole & 1:
                result = square if result is None else self.reader.add(n.Mul(result, square))
            whole >>= 1
            if whole:
                square = self.reader.add(n.Mul(square, square))
        if result is None:
            return Constant(1.0)
        self.reader.require(self.reader.add(n.IsFinite(result)), "raises a power beyond every float", node, self.source)
        return Ref(result, NUMBER)

    def unary(self, op: ast.unaryop, value: Value, node: ast.AST) -> Value:
        """Return `op value`."""
        number = constant_number(value.value) if isinstance(value, Constant) else None
        match op:
            case ast.USub() if number is not None:
                return Constant(-number)
            case ast.USub():
                return Ref(self.reader.add(n.Neg(self.reader.number(value, node, self.source))), NUMBER)
            case ast.UAdd():
                return (
                    Ref(self.reader.number(value, node, self.source), NUMBER) if number is None else Constant(+number)
                )
            case ast.Not() if number is not None:
                return Constant(not number)
            case ast.Not():
                return Ref(self.reader.add(n.Not(self.reader.flag(value, node, self.source))), FLAG)
        raise self.error(node, *refused(op))

    def condition(self, node: ast.expr, env: dict[str, Value]) -> int | bool:
        """Return the position of a condition, or what it is when it is known already."""
        value = self.expression(node, env)
        if isinstance(value, Constant) and (number := constant_number(value.value)) is not None:
            return bool(number)
        return self.reader.flag(value, node, self.source)

    def choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr, node: ast.AST, env: dict[str, Value]) -> Value:
        """Return `body if test else orelse`."""
        flag = self.condition(test, env)
        if isinstance(flag, bool):
            return self.expression(body if flag else orelse, env)
        with self.reader.under(flag):
            self.reader.mark(body, self.source)
            then = self.expression(body, env)
        with self.reader.under(self.reader.add(n.Not(flag))):
            self.reader.mark(orelse, self.source)
            otherwise = self.expression(orelse, env)
        return self.join(flag, then, otherwise, node)

    def join(self, test: int, then: Value, otherwise: Value, node: ast.AST) -> Value:
        """Return `then` where `test` is true and `otherwise` elsewhere."""
        reader, source = self.reader, self.source
        if then.same(otherwise) if isinstance(then, Constant) else then == otherwise:
            return then
        if isinstance(then, Unassigned) or isinstance(otherwise, Unassigned):
            return Unassigned()
        if isinstance(then, Undeclared) and isinstance(otherwise, Undeclared):
            return Undeclared(reader.add(n.Select(test, then.at, otherwise.at)), then.name)
        if isinstance(then, Vector) and isinstance(otherwise, Vector) and len(then.items) == len(otherwise.items):
            pairs = zip(then.items, otherwise.items, strict=True)
            return Vector(tuple(self.join(test, left, right, node) for left, right in pairs))
        kinds = {self.kind(then), self.kind(otherwise)}
        if kinds == {"text"}:
            raise self.error(node, "a text is not a value of its own.", "Keep the condition instead: fast = x > 1.")
        if kinds == {FLAG}:
            left, right, kind = reader.flag(then, node, source), reader.flag(otherwise, node, source), FLAG
        elif any(kind.startswith("category") for kind in kinds) or "text" in kinds:
            kind = next((kind for kind in kinds if kind.startswith("category")), UNKNOWN)
            left, right = (self.label(value, kind, node) for value in (then, otherwise))
        else:
            left, right, kind = reader.number(then, node, source), reader.number(otherwise, node, source), NUMBER
            kind = UNKNOWN if UNKNOWN in kinds else NUMBER
        return Ref(reader.add(n.Select(test, left, right)), kind)

    def boolean(self, node: ast.BoolOp, env: dict[str, Value]) -> Value:
        """Read `and` or `or`; what follows is reached only where it is not cut short."""
        conjunction = isinstance(node.op, ast.And)
        return self.chain(conjunction, [partial(self.joinable, value, env) for value in node.values])

    def joinable(self, node: ast.expr, env: dict[str, Value]) -> int | bool:
        """Return one side of `and` or `or`, which must be a flag."""
        value = self.expression(node, env)
        if self.kind(value) not in (FLAG, UNKNOWN):
            word = "`and` and `or` join flags"
            raise self.error(
                node, f"{word}, and this is {describe(value)}.", "Write `a if condition else b`, or compare: `x != 0`."
            )
        if isinstance(value, Constant):
            return bool(value.value)
        return self.reader.flag(value, node, self.source)

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

    def comparison(self, node: ast.Compare, env: dict[str, Value]) -> Value:
        """Return a chain of comparisons; each is reached only where those before it hold."""
        left = self.expression(node.left, env)
        state = [left]

        def link(op: ast.cmpop, comparator: ast.expr) -> int | bool:
            right = self.expression(comparator, env)
            value = self.compared(op, state[0], right, node)
            state[0] = right
            if isinstance(value, Constant):
                return bool(value.value)
            return self.reader.flag(value, node, self.source)

        links = zip(node.ops, node.comparators, strict=True)
        return self.chain(True, [partial(link, op, right) for op, right in links])

    def compared(self, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
        """Return one comparison."""
        if isinstance(op, ast.In | ast.NotIn):
            found = self.member(left, right, node)
            return found if isinstance(op, ast.In) else self.unary(ast.Not(), found, node)
        if type(op) not in COMPARISONS:
            raise self.error(node, *refused(op))
        kind, python = COMPARISONS[type(op)]
        if isinstance(left, Constant) and isinstance(right, Constant):
            try:
                return self.known(python(left.value, right.value), node)
            except TypeError:
                raise self.error(node, f"{describe(left)} has no order with {describe(right)}.") from None
        kinds = {self.kind(left), self.kind(right)}
        category_kind = next((kind for kind in kinds if kind.startswith("category")), None)
        if category_kind or "text" in kinds:
            if kind not in (n.Eq, n.Ne):
                raise self.error(
                    node, "categories have no order.", "Compare positions: ORDER.index(a) < ORDER.index(b)."
                )
            wanted = category_kind or UNKNOWN
            operands = (self.label(left, wanted, node), self.label(right, wanted, node))
        else:
            operands = (self.reader.number(left, node, self.source), self.reader.number(right, node, self.source))
        return Ref(self.reader.add(kind(*operands)), FLAG)

    def member(self, value: Value, table: Value, node: ast.AST) -> Value:
        """Return `value in table`."""
        if not isinstance(table, Constant) or not isinstance(table.value, tuple):
            raise self.error(node, "`in` needs a constant tuple on its right.", "Write `x in (1, 2, 3)`.")
        if isinstance(value, Constant):
            return Constant(value.value in table.value)
        entries = [self.known(entry, node) for entry in table.value]
        flags = [self.compared(ast.Eq(), value, entry, node) for entry in entries]
        return self.chain(False, [partial(self.reader.flag, flag, node, self.source) for flag in flags])

    def kind(self, value: Value) -> str:
        """Return the kind of a value; "text" and "other" are kinds of constants."""
        match value:
            case Ref(_, kind):
                return kind
            case Undeclared():
                return UNKNOWN
            case Constant(known) if isinstance(known, str):
                return "text"
            case Constant(known) if isinstance(known, bool):
                return FLAG
            case Constant(known) if constant_number(known) is not None:
                return NUMBER
        return "other"

    def labels_of(self, value: Value) -> tuple[str, ...]:
        """Return the categories of a value; empty where it is none."""
        fields = self.reader.scope.fields or {}
        return next((f.labels for f in fields.values() if category(f.name) == self.kind(value)), ())

    def label(self, value: Value, kind: str, node: ast.AST) -> int:
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
        other = "a text" if kind == UNKNOWN else f"a category of field {field_name!r}"
        raise self.error(node, f"{other} is compared with {describe(value)}.")

    def subscript(self, base: Value, index: Value, node: ast.AST) -> Value:
        """Return an entry of a vector or of a constant table."""
        whole = constant_number(index.value) if isinstance(index, Constant) else None
        items: tuple[object, ...] | None = None
        if isinstance(base, Vector):
            items = tuple(base.items)
        elif isinstance(base, Constant) and isinstance(base.value, tuple):
            items = base.value
        elif isinstance(base, Undeclared) and whole is not None:
            return Undeclared(self.reader.add(n.Input(f"{base.name}[0]")), f"{base.name}[0]")
        if items is None:
            raise self.error(node, f"{describe(base)} cannot be indexed.", "Index a constant tuple or a vector field.")
        if whole is not None:
            if not isinstance(whole, int) or not -len(items) <= whole < len(items):
                raise self.error(node, f"{whole} is not an index into {len(items)} entries.")
            return base.items[whole] if isinstance(base, Vector) else self.known(items[whole], node)
        if isinstance(base, Vector):
            raise self.error(node, "a vector is indexed by a constant.", "Pick the entry before scoring, as a field.")
        return self.item(items, index, node)

    def item(self, table: tuple[object, ...], index: Value, node: ast.AST) -> Value:
        """Return the entry of a constant table at a computed index."""
        numbers = [constant_number(entry) for entry in table]
        if not numbers or None in numbers or not all(exact(entry) for entry in numbers if entry is not None):
            raise self.error(node, "a table indexed by a computed number holds finite numbers or flags.")
        flags = all(isinstance(entry, bool) for entry in numbers)
        entries = tuple(bool(entry) if flags else float(entry or 0) for entry in numbers)
        at = self.reader.number(index, node, self.source)
        ref = self.reader.partial(
            n.Item(entries, at), f"indexes a table of {len(entries)} outside it", node, self.source
        )
        return Ref(ref.at, FLAG if flags else NUMBER)

    def position(self, table: tuple[object, ...], value: Value, node: ast.AST) -> Value:
        """Return `TABLE.index(value)`."""
        if isinstance(value, Constant):
            if value.value not in table:
                raise self.error(node, f"{value.value!r} is not in the tuple.")
            return Constant(table.index(value.value))
        if self.kind(value) == UNKNOWN:
            return Ref(self.reader.number(value, node, self.source), UNKNOWN)
        why = "looks up a value that is not in its tuple"
        labels = self.labels_of(value)
        if labels and isinstance(value, Ref):
            known = tuple(label in table for label in labels)
            if not all(known):
                self.reader.require(self.reader.add(n.Item(known, value.at)), why, node, self.source)
            places = tuple(float(table.index(label)) if label in table else 0.0 for label in labels)
            return self.reader.partial(n.Item(places, value.at), why, node, self.source)
        flags = [self.compared(ast.Eq(), value, self.known(entry, node), node) for entry in table]
        positions = [self.reader.flag(flag, node, self.source) for flag in flags]
        self.reader.require(self.reader.builder.any(positions), why, node, self.source)
        result = self.reader.builder.const(0)
        for place, flag in reversed(list(enumerate(positions))):
            result = self.reader.add(n.Select(flag, self.reader.builder.const(place), result))
        return Ref(result, NUMBER)
