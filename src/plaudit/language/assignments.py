"""Reading assignments: names get values, tuples and vectors are taken apart, and loops are listed turn by turn."""

import ast
from collections.abc import Callable

from plaudit.language.calls import CallReader
from plaudit.language.field import to_number
from plaudit.language.reader import Constant, Ref, Undeclared, Value, Vector, describe
from plaudit.language.syntax import explain_unsupported, explain_unsupported_target

MOST_TURNS = 10_000
"""How many turns all loops of a term may have together."""


class AssignmentReader(CallReader):
    """Reads what gives names their values."""

    given: tuple[Value, ...] = ()
    """What the caller passed: never changed in place."""
    path: int | None = None
    """The path that leads to the statement that is being read."""

    def assign(self, name: str, value: Value, env: dict[str, Value]) -> None:
        """Give a local name a value."""
        env[name] = value
        self.reader.name(value, name)

    def bind_target(self, target: ast.expr, value: Value, env: dict[str, Value]) -> None:
        """Give the names of a target their values: a name, or a tuple or list of targets."""
        match target:
            case ast.Name(id=name):
                self.assign(name, value, env)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for inner, item in zip(targets, self.unpack(targets, value, target), strict=True):
                    self.bind_target(inner.value if isinstance(inner, ast.Starred) else inner, item, env)
            case _:
                raise self.error(target, *explain_unsupported_target(target))

    def unpack(self, targets: list[ast.expr], value: Value, node: ast.AST) -> list[Value]:
        """Return a value for each target; what a star takes is a tuple."""
        if self.may_be_vector(value):
            return self.list_parts(value, node) * len(targets)
        known = value.value if isinstance(value, Constant) else None
        if not isinstance(value, Vector) and not isinstance(known, tuple):
            what = f"{len(targets)} names are given one value, {describe(value)}."
            raise self.error(node, what, "Unpack a vector field, a tuple, or what a helper returns as a tuple.")
        items = self.list_items(value, node)
        star = next((at for at, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
        spare = len(items) - len(targets)
        if spare != 0 if star is None else spare < -1:
            least = f"{len(targets)}" if star is None else f"at least {len(targets) - 1}"
            what = f"there are {len(items)} values here, and the names on the left take {least}."
            raise self.error(node, what, "Write a name for each value, or `*rest` for those that remain.")
        if star is None:
            return items
        stop = star + spare + 1
        return [*items[:star], self.read_tuple(items[star:stop]), *items[stop:]]

    def may_be_vector(self, value: Value) -> bool:
        """Return whether a value may turn out to be a vector once fields are declared."""
        return isinstance(value, Undeclared) or (isinstance(value, Ref) and self.reader.scope.fields is None)

    def list_parts(self, value: Value, node: ast.AST) -> list[Value]:
        """Return the elements of a vector; of what may turn out to be one, a single element."""
        return [value] if isinstance(value, Ref) and self.may_be_vector(value) else self.list_items(value, node)

    def augment(self, statement: ast.AugAssign, env: dict[str, Value]) -> None:
        """Read `name += expression` and the like."""
        if not isinstance(statement.target, ast.Name):
            raise self.error(statement, *explain_unsupported_target(statement.target))
        name = statement.target.id
        left = self.read_name(ast.copy_location(ast.Name(name, ast.Load()), statement.target), env)
        others = [*self.given, *(value for other, value in env.items() if other != name)]
        if isinstance(left, Vector) and any(_is_shared(left, other) for other in others):
            advice = f"Write a new value: `{name} = {name} + ...`."
            raise self.error(statement, f"this changes the array that {name!r} shares with others.", advice)
        value = self.apply_arithmetic(statement.op, left, self.read_expression(statement.value, env), statement)
        self.assign(name, value, env)

    def read_walrus(self, node: ast.NamedExpr, env: dict[str, Value]) -> Value:
        """Return what is assigned inside an expression, where every row that gets to the statement gets here."""
        if env is not self.env or self.reader.path != self.path:
            raise self.error(node, *explain_unsupported(node))
        value = self.read_expression(node.value, env)
        self.assign(node.target.id, value, env)
        return value

    def read_turns(self, node: ast.expr, env: dict[str, Value]) -> list[Value]:
        """Return what a loop runs over, a value for each turn."""
        turns = self.list_iterated(node, env)
        self.reader.turns += len(turns)
        if self.reader.turns > MOST_TURNS:
            what = f"the loops of a term have at most {MOST_TURNS:,} turns in all, and here are more."
            raise self.error(node, what, "Compute part of it before scoring and pass it in as a field.")
        return turns

    def list_iterated(self, node: ast.expr, env: dict[str, Value]) -> list[Value]:
        """Return the elements of a vector, a tuple, or a call of `range`, `zip`, `enumerate` or `reversed`."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called = self.read_name(node.func, env)
            known = called.value if isinstance(called, Constant) else None
            if isinstance(known, type) and known in _ITERATORS:
                return _ITERATORS[known](self, node, env)
        return self.list_parts(self.read_expression(node, env), node)

    def list_range(self, node: ast.Call, env: dict[str, Value]) -> list[Value]:
        """Return the numbers of a `range` of constants."""
        self.refuse_keywords(node)
        values = [self.read_expression(argument, env) for argument in node.args]
        if any(self.may_be_vector(value) for value in values):  # such as the length of a field that is not declared yet
            return [values[0] if len(values) > 1 and isinstance(values[0], Constant) else Constant(0)]
        numbers = [to_number(value.value) for value in values if isinstance(value, Constant)]
        if not 1 <= len(numbers) == len(values) <= 3 or not all(isinstance(number, int) for number in numbers):
            what = "`range` takes one to three integers that are known when the term is read."
            raise self.error(node, what, "Loop as often as it can ever take, and skip: `if i >= n: continue`.")
        if len(numbers) == 3 and not numbers[2]:
            raise self.error(node, "the step of a `range` is 0.", "Write a step of 1 or more, or below 0.")
        return [Constant(number) for number in range(*numbers)[: MOST_TURNS + 1]]  # type: ignore[arg-type]  # all are int

    def list_zip(self, node: ast.Call, env: dict[str, Value]) -> list[Value]:
        """Return tuples of one element of each vector."""
        if any(keyword.arg != "strict" for keyword in node.keywords):
            raise self.error(node, "`zip` takes vectors, and `strict=`.", "Drop the other arguments.")
        columns = [self.list_iterated(argument, env) for argument in node.args]
        lengths = {len(column) for column in columns}
        if len(lengths) > 1 and self.reader.scope.fields is not None:
            counts = " and ".join(str(len(column)) for column in columns)
            raise self.error(node, f"the vectors differ in length: {counts}.", "Give `zip` vectors of one length.")
        return [self.read_tuple(list(row)) for row in zip(*columns, strict=False)]

    def list_enumerated(self, node: ast.Call, env: dict[str, Value]) -> list[Value]:
        """Return pairs of a position and an element."""
        if not 1 <= len(node.args) <= 2 or len(node.args) + len(node.keywords) > 2:
            raise self.error(node, "`enumerate` takes a vector, and where to start.", "Write `enumerate(vector)`.")
        given = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
        first = self.read_expression(given[0], env) if given else Constant(0)
        if not isinstance(first, Constant) or not isinstance(to_number(first.value), int):
            raise self.error(node, "`enumerate` starts at a constant integer.", "Write `enumerate(vector, start=1)`.")
        items = self.list_iterated(node.args[0], env)
        return [self.read_tuple([Constant(at), item]) for at, item in enumerate(items, to_number(first.value))]  # type: ignore[arg-type]  # an int

    def list_reversed(self, node: ast.Call, env: dict[str, Value]) -> list[Value]:
        """Return the elements of a vector, the last one first."""
        self.refuse_keywords(node)
        if len(node.args) != 1:
            raise self.error(node, "`reversed` takes one vector.", "Write `reversed(vector)`.")
        return self.list_iterated(node.args[0], env)[::-1]


def _is_shared(vector: Vector, other: Value) -> bool:
    """Return whether a change of `vector` in place may be seen in `other`: it is the same, or a part or row of it."""
    if not isinstance(other, Vector):
        return False
    parts = [id(item) for item in other.items if not isinstance(item, Constant)]
    return vector is other or id(vector) in parts or any(id(item) in parts for item in vector.items)


_ITERATORS: dict[type, Callable[[AssignmentReader, ast.Call, dict[str, Value]], list[Value]]] = {
    range: AssignmentReader.list_range,
    zip: AssignmentReader.list_zip,
    enumerate: AssignmentReader.list_enumerated,
    reversed: AssignmentReader.list_reversed,
}
