"""Reading assignments: names get values, tuples and vectors are taken apart, and loops are listed turn by turn."""

import ast

from plaudit.language.calls import CallReader
from plaudit.language.syntax import explain_unsupported, explain_unsupported_target
from plaudit.language.values import Constant, Value, Vector, describe
from plaudit.language.vectors import has_items, is_open


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
        if not isinstance(target, ast.Name | ast.Tuple | ast.List):
            raise self.error(target, *explain_unsupported_target(target))
        super().bind_target(target, value, env)
        if isinstance(target, ast.Name):
            self.reader.name(value, target.id)

    def split_value(self, targets: list[ast.expr], value: Value, node: ast.AST) -> list[Value]:
        """Return a value for each target; what a star takes is a list."""
        starred = any(isinstance(target, ast.Starred) for target in targets)
        if is_open(value):
            return super().split_value(targets, value, node)
        if not has_items(value):
            what = f"{len(targets)} names are given one value, {describe(value)}."
            raise self.error(node, what, "Unpack a vector field, a tuple, or what a helper returns as a tuple.")
        count = len(self.list_items(value, node))
        if count < len(targets) - 1 if starred else count != len(targets):
            least = f"at least {len(targets) - 1}" if starred else f"{len(targets)}"
            what = f"there are {count} values here, and the names on the left take {least}."
            raise self.error(node, what, "Write a name for each value, or `*rest` for those that remain.")
        return super().split_value(targets, value, node)

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
        turns = self.list_rows(node, env)
        self.count_turns(len(turns), node)
        return turns


def _is_shared(vector: Vector, other: Value) -> bool:
    """Return whether a change of `vector` in place may be seen in `other`: it is the same, or a part or row of it."""
    if not isinstance(other, Vector):
        return False
    parts = [id(item) for item in other.items if not isinstance(item, Constant)]
    return vector is other or id(vector) in parts or any(id(item) in parts for item in vector.items)
