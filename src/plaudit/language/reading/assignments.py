"""Reading assignments: names get values, tuples and vectors are taken apart, and loops are listed turn by turn."""

import ast

from plaudit.errors import UnknownField
from plaudit.language.field import RECORDS
from plaudit.language.reading.mutations import MutationReader
from plaudit.language.reading.syntax import explain_unsupported, explain_unsupported_target
from plaudit.language.reading.values import Record, Unassigned, Undeclared, Value, Vector, describe, format_part
from plaudit.language.reading.vectors import has_items, is_open


class AssignmentReader(MutationReader):
    """Reads what gives names their values."""

    path: int | None = None
    """The path that leads to the statement that is being read."""

    def assign(self, name: str, value: Value, env: dict[str, Value]) -> None:
        """Give a local name a value."""
        env[name] = value
        self.reader.name(value, name)

    def assign_values(self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign, env: dict[str, Value]) -> None:
        """Read an assignment; what needs a field that is not declared is refused where somebody uses it."""
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        try:
            if isinstance(statement, ast.AugAssign):
                return self.augment(statement, env)
            assert statement.value is not None
            value = self.read_expression(statement.value, env)
        except UnknownField as error:
            if not all(isinstance(target, ast.Name) for target in targets):
                raise
            value = Unassigned(error=error)
        for target in targets:
            self.bind_target(target, value, env)
        return None

    def bind_target(self, target: ast.expr, value: Value, env: dict[str, Value]) -> None:
        """Give the names of a target their values: a name, or a tuple or list of targets."""
        if isinstance(target, ast.Subscript):
            self.assign_item(target, value, env)
        elif isinstance(target, ast.Attribute):
            self.assign_part(target, value, env)
        elif not isinstance(target, ast.Name | ast.Tuple | ast.List):
            raise self.error(target, *explain_unsupported_target(target))
        else:
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

    def assign_part(self, target: ast.Attribute, value: Value, env: dict[str, Value]) -> None:
        """Read `self.x = value`: from here on `self.x` is that value, as a local name is; nothing is kept."""
        base = self.read_expression(target.value, env)
        if not isinstance(base, Record | Undeclared) or not base.path or base.path[0] in RECORDS:
            raise self.error(target, *explain_unsupported_target(target))
        env[format_part(base, target.attr)] = value

    def augment(self, statement: ast.AugAssign, env: dict[str, Value]) -> None:
        """Read `name += expression` and the like."""
        target = statement.target
        left = self.read_expression(_load(target), env)
        if isinstance(left, Vector) and isinstance(target, ast.Name) and self.is_given(left):
            name = ast.unparse(target)
            advice = f"Write a new value: `{name} = {name} + ...`."
            raise self.error(statement, f"this changes the array that {name!r} shares with others.", advice)
        value = self.apply_arithmetic(statement.op, left, self.read_expression(statement.value, env), statement)
        if isinstance(left, Vector):
            self.forget_shared(left, env, ast.unparse(target))
        self.bind_target(target, value, env)

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


def _load(target: ast.expr) -> ast.expr:
    """Return the target of an assignment as an expression that is read."""
    read: ast.expr = ast.parse(ast.unparse(target), mode="eval").body
    for node in ast.walk(read):
        ast.copy_location(node, target)
    return read
