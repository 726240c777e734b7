"""Reading expressions: each becomes a node, a constant, or a short vector of them."""

import ast
import types
from abc import abstractmethod
from collections.abc import Callable
from functools import partial

from plaudit.errors import did_you_mean
from plaudit.language import nodes as n
from plaudit.language.advice import explain_unsupported_attribute
from plaudit.language.arrays import ArrayReader, copy_array, is_library_array
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN, format_category
from plaudit.language.program import PYTHON_OPERATIONS
from plaudit.language.reader import Constant, Reader, Record, Ref, Unassigned, Undeclared, Value, Vector, describe
from plaudit.language.source import Source, list_assigned
from plaudit.language.syntax import ARITHMETIC, COMPARISONS, explain_unsupported
from plaudit.language.vectors import (
    find_open,
    find_shape,
    has_items,
    is_array,
    is_open,
    list_entries,
    transpose,
)

LARGEST_POWER = 64


class ExpressionReader(ArrayReader):
    """Reads the expressions of one function."""

    def __init__(self, reader: Reader, source: Source) -> None:
        """Begin to read the function `source`."""
        super().__init__(reader, source)
        self.locals = list_assigned(source.tree)

    @abstractmethod
    def run(self, env: dict[str, Value]) -> Value:
        """Return what the function returns."""

    @abstractmethod
    def read_call(self, node: ast.Call, env: dict[str, Value]) -> Value:
        """Return what a call returns."""

    @abstractmethod
    def read_lambda(self, node: ast.Lambda, env: dict[str, Value]) -> Value:
        """Return the function that a lambda makes."""

    @abstractmethod
    def read_walrus(self, node: ast.NamedExpr, env: dict[str, Value]) -> Value:
        """Return what is assigned inside an expression."""

    @abstractmethod
    def read_subscript(self, node: ast.Subscript, env: dict[str, Value]) -> Value:
        """Return what `base[index]` stands for."""

    @abstractmethod
    def read_comprehension(self, node: ast.ListComp, env: dict[str, Value]) -> Value:
        """Return the values of a list comprehension."""

    def read_expression(self, node: ast.expr, env: dict[str, Value]) -> Value:
        """Return what an expression stands for."""
        match node:
            case ast.Constant(value=value):
                return self.read_constant(value, node)
            case ast.Name():
                return self.read_name(node, env)
            case ast.Attribute():
                return self.read_attribute(node, env)
            case ast.BinOp(left=left, op=op, right=right):
                return self.apply_arithmetic(
                    op, self.read_expression(left, env), self.read_expression(right, env), node
                )
            case ast.UnaryOp(op=op, operand=operand):
                return self.apply_unary(op, self.read_expression(operand, env), node)
            case ast.Compare():
                return self.read_comparison(node, env)
            case ast.BoolOp():
                return self.read_boolean(node, env)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.read_choice(test, body, orelse, node, env)
            case ast.Subscript():
                return self.read_subscript(node, env)
            case ast.Tuple(elts=elements):
                return self.find_open_star(elements, env) or self.read_tuple(self.read_several(elements, env))
            case ast.List(elts=elements):
                return self.find_open_star(elements, env) or Vector(tuple(self.read_several(elements, env)))
            case ast.ListComp():
                return self.read_comprehension(node, env)
            case ast.Call():
                return self.read_call(node, env)
            case ast.Lambda():
                return self.read_lambda(node, env)
            case ast.NamedExpr():
                return self.read_walrus(node, env)
        raise self.error(node, *explain_unsupported(node))

    def read_tuple(self, items: list[Value]) -> Value:
        """Return a tuple written in the function."""
        known = [item.value for item in items if isinstance(item, Constant)]
        return Constant(tuple(known)) if len(known) == len(items) else Vector(tuple(items))

    def read_several(self, elements: list[ast.expr], env: dict[str, Value]) -> list[Value]:
        """Return the values of a tuple, list or call; `*v` stands for the entries of `v`."""
        found: list[Value] = []
        for element in elements:
            if isinstance(element, ast.Starred):
                found += self.list_items(self.read_expression(element.value, env), element)
            else:
                found.append(self.read_expression(element, env))
        return found

    def find_open_star(self, elements: list[ast.expr], env: dict[str, Value]) -> Ref | None:
        """Return an unknown where it is not known yet how many values `*v` stands for."""
        stars = [self.read_expression(each.value, env) for each in elements if isinstance(each, ast.Starred)]
        return find_open(*(value for value in stars if is_open(value)))

    def read_constant(self, value: object, node: ast.AST) -> Value:
        """Return a constant of the language; refuse what it does not have."""
        if isinstance(value, str | tuple | types.ModuleType | type) or callable(value):
            return Constant(value)
        number = to_number(value)
        if number is not None:
            return Constant(number)
        if is_library_array(value):
            return self.read_array(value, node)
        if type(value).__name__ == "dtype":
            return Constant(value)
        if value is None:
            raise self.error(node, "there is no None in a term.", "Give the field a `missing=` value instead.")
        if isinstance(value, list | dict | set):
            raise self.error(node, f"a {type(value).__name__} can change.", "Use a tuple of constants.")
        raise self.error(
            node, f"a {type(value).__name__} is not part of the language.", "Use numbers, bools, strings or tuples."
        )

    def read_name(self, node: ast.Name, env: dict[str, Value]) -> Value:
        """Return a local name, or a constant from outside the function."""
        if node.id in env:
            value = env[node.id]
            if isinstance(value, Unassigned):
                raise self.error(node, f"some path leaves {node.id!r} without a value.", "Assign it before the `if`.")
            return value
        if node.id in self.locals:
            raise self.error(node, f"{node.id!r} is read before it is assigned.", "Assign it above this line.")
        try:
            outer = self.source.find_outer(node.id)
        except KeyError:
            near = did_you_mean(node.id, [*env, *self.source.function.__globals__])
            raise self.error(
                node,
                f"the name {node.id!r} is not known.{near}",
                "Define constants above the term; a field is a parameter.",
            ) from None
        self.source.known[node.id] = outer = copy_array(outer)  # kept as it was when the function was first read
        return self.read_constant(outer, node)

    def read_attribute(self, node: ast.Attribute, env: dict[str, Value]) -> Value:
        """Return `prev.x`, `curr.x`, a constant of a module or class, or the shape of an array."""
        return self.find_attribute(self.read_expression(node.value, env), node)

    def find_attribute(self, base: Value, node: ast.Attribute) -> Value:
        """Return the attribute that `node` names, of what it is read from."""
        if node.attr in ("shape", "size", "ndim", "T") and (is_open(base) or is_array(base)):
            if (unknown := find_open(base)) is not None:
                return unknown
            if node.attr == "T":
                return self.fit(transpose, base, node=node)
            shape = self.fit(find_shape, base, node=node)
            return Constant({"shape": shape, "size": len(list_entries(base)), "ndim": len(shape)}[node.attr])
        if isinstance(base, Record):
            return self.reader.read_record(base.name, node.attr, node, self.source)
        if isinstance(base, Constant) and isinstance(base.value, types.ModuleType | type):
            key = (base.value, node.attr)
            if key not in self.source.known:
                if not hasattr(base.value, node.attr):
                    raise self.error(node, f"{ast.unparse(node)!r} does not exist.")
                self.source.known[key] = copy_array(getattr(base.value, node.attr))
            return self.read_constant(self.source.known[key], node)
        raise self.error(node, *explain_unsupported_attribute(node, describe(base)))

    def apply_arithmetic(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        """Return `left op right`."""
        if isinstance(op, ast.MatMult):
            return self.multiply_matrices(left, right, node)
        if isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor):
            return self.spread(partial(self.apply_bits, op, node=node), left, right, node=node)
        if type(op) not in ARITHMETIC and not isinstance(op, ast.Pow):
            raise self.error(node, *explain_unsupported(op))
        if has_items(left) or has_items(right):
            return self.apply_to_vectors(op, left, right, node)
        if isinstance(left, Constant) and isinstance(right, Constant):
            return self.fold_constants(node, op, left, right)
        unknown = find_open(left, right)
        if isinstance(op, ast.Pow):
            found = self.raise_to_power(left, right, node)
            return unknown or found
        kind = ARITHMETIC[type(op)]
        operands = (self.reader.add_number(left, node, self.source), self.reader.add_number(right, node, self.source))
        if unknown is not None:
            return unknown
        if kind.partial:
            return self.reader.add_partial(kind(*operands), node, self.source)
        return Ref(self.reader.add(kind(*operands)), NUMBER)

    def fold_constants(self, node: ast.AST, op: ast.operator, left: Constant, right: Constant) -> Value:
        """Return arithmetic on constants, computed by Python itself."""
        numbers = [to_number(value.value) for value in (left, right)]
        if None in numbers:
            raise self.error(node, "arithmetic needs numbers.")
        python = pow if isinstance(op, ast.Pow) else PYTHON_OPERATIONS[ARITHMETIC[type(op)]]
        if isinstance(op, ast.Pow) and abs(numbers[1] or 0) > 1024:
            raise self.error(node, "the exponent is too large.")
        try:
            return self.read_constant(python(*numbers), node)  # type: ignore[arg-type]  # None was refused above
        except ArithmeticError as error:
            raise self.error(node, f"this constant cannot be computed: {error}.") from None

    def raise_to_power(self, base: Value, exponent: Value, node: ast.AST) -> Value:
        """Return a power: written out where its exponent is a constant integer, else of a base that is not negative."""
        known = to_number(exponent.value) if isinstance(exponent, Constant) else None
        if known is not None and float(known).is_integer():
            if abs(known) > LARGEST_POWER:
                raise self.error(
                    node,
                    f"a constant integer exponent is from -{LARGEST_POWER} to {LARGEST_POWER}.",
                    "For a larger one write math.exp(n * math.log(x)).",
                )
            return self.expand_power(base, int(known), node)
        reader, source = self.reader, self.source
        operands = [reader.add_number(value, node, source) for value in (base, exponent)]
        zero = reader.builder.const(0)
        above = reader.add(n.Gt(operands[0], zero))
        nothing = reader.add(n.And(reader.add(n.Eq(operands[0], zero)), reader.add(n.Gt(operands[1], zero))))
        reader.require(reader.add(n.Or(above, nothing)), "raises to a power outside its domain", node, source)
        result = reader.add(n.Power(*operands))
        reader.require(reader.add(n.IsFinite(result)), "raises a power beyond every float", node, source)
        return Ref(result, NUMBER)

    def expand_power(self, base: Value, whole: int, node: ast.AST) -> Value:
        """Write a power out as products: squares are halved, so `x ** 8` is three products, and `x ** -2` 1 by one."""
        if whole < 0:
            below = self.reader.add_number(self.expand_power(base, -whole, node), node, self.source)
            return self.reader.add_partial(n.Div(self.reader.builder.const(1.0), below), node, self.source)
        square = self.reader.add_number(base, node, self.source)
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
        return find_open(base) or Ref(result, NUMBER)

    def apply_unary(self, op: ast.unaryop, value: Value, node: ast.AST) -> Value:
        """Return `op value`."""
        number = to_number(value.value) if isinstance(value, Constant) else None
        unknown = find_open(value)
        match op:
            case ast.Invert() if unknown is not None:
                return unknown
            case ast.Invert() if is_array(value) and self.holds_flags(value):
                return self.spread(lambda entry: self.apply_unary(ast.Not(), entry, node), value, node=node)
            case ast.USub() | ast.UAdd() if is_array(value):
                return self.spread(lambda entry: self.apply_unary(op, entry, node), value, node=node)
            case ast.USub() | ast.UAdd() if unknown is not None and not has_items(value):
                return unknown
            case ast.USub() if number is not None:
                return Constant(-number)
            case ast.USub():
                return Ref(self.reader.add(n.Neg(self.reader.add_number(value, node, self.source))), NUMBER)
            case ast.UAdd():
                return (
                    Ref(self.reader.add_number(value, node, self.source), NUMBER)
                    if number is None
                    else Constant(+number)
                )
            case ast.Not() if number is not None:
                return Constant(not number)
            case ast.Not():
                return Ref(self.reader.add(n.Not(self.reader.add_flag(value, node, self.source))), FLAG)
        raise self.error(node, *explain_unsupported(op))

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
        if isinstance(then, Unassigned) or isinstance(otherwise, Unassigned):
            return Unassigned()
        if is_open(then) or is_open(otherwise):
            return find_open(then, otherwise) or then
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
        if isinstance(op, ast.In | ast.NotIn):
            found = self.find_member(left, right, node)
            return found if isinstance(op, ast.In) else self.apply_unary(ast.Not(), found, node)
        if type(op) not in COMPARISONS:
            raise self.error(node, *explain_unsupported(op))
        kind = COMPARISONS[type(op)]
        if is_array(left) or is_array(right):
            return self.spread(lambda one, other: self.compare(op, one, other, node), left, right, node=node)
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

    def find_member(self, value: Value, table: Value, node: ast.AST) -> Value:
        """Return `value in table`."""
        if is_open(table):
            return find_open(table) or table
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
