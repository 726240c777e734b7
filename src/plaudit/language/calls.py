"""Reading calls: functions that every target has, reductions over short vectors, and helpers, read in place."""

import ast
import operator
import types
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any

from plaudit.language import nodes as n
from plaudit.language.advice import explain_unsupported_call
from plaudit.language.field import to_number
from plaudit.language.helpers import HelperReader
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN
from plaudit.language.program import PYTHON_OPERATIONS
from plaudit.language.reader import Constant, Nested, Ref, Undeclared, Value, Vector, describe
from plaudit.language.source import Source, is_standard
from plaudit.language.syntax import FOREIGN

REDUCTIONS: tuple[Any, ...] = (min, max, sum, any, all, len)
"""Reductions over a vector; `min` and `max` also of two or more arguments."""

FUNCTIONS: Mapping[Any, type[n.Node]] = {
    PYTHON_OPERATIONS[kind]: kind for kind in n.KINDS.values() if kind.function and kind is not n.IsFinite
}
"""The node of each function of one or two numbers that a term may call; `math.isfinite` is refused with advice."""

SPELLINGS: Mapping[str, type[n.Node]] = {name: kind for kind in n.KINDS.values() for name in kind.spellings}
"""The node of each function that is another spelling, by module and name: its module need not be imported."""


class CallReader(HelperReader):
    """Reads the calls of one function."""

    def read_call(self, node: ast.Call, env: dict[str, Value]) -> Value:
        """Return what a call returns."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "index":
            table = self.read_expression(node.func.value, env)
            if isinstance(table, Constant) and isinstance(table.value, tuple) and len(node.args) == 1:
                return self.look_up_position(table.value, self.read_expression(node.args[0], env), node)
        function = self.read_expression(node.func, env)
        if isinstance(function, Nested):
            return self.read_nested(function, node, env)
        called = function.value if isinstance(function, Constant) else None  # a field, or the like
        if isinstance(getattr(called, "source", None), Source):  # a term called as a helper
            called = called.source.function  # type: ignore[attr-defined]  # as was just seen
        if (kind := find_operation(called)) is not None:
            return self.read_function(kind, node, env)
        foreign = (getattr(called, "__module__", "") or "").partition(".")[0] in FOREIGN
        if isinstance(called, types.FunctionType) and not foreign and not is_standard(called):
            return self.read_helper(called, node, env)
        if any(called is reduction for reduction in REDUCTIONS):
            self.refuse_keywords(node)
            return self.read_reduction(called, node, env)
        raise self.error(node, *explain_unsupported_call(ast.unparse(node.func), called))

    def refuse_keywords(self, node: ast.Call) -> None:
        """Refuse keyword arguments and those behind a star."""
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self.error(node, "this call takes plain arguments only.")

    def read_function(self, kind: type[n.Node], node: ast.Call, env: dict[str, Value]) -> Value:
        """Read a function of one or two numbers."""
        self.refuse_keywords(node)
        count = len(n.operand_names(kind))
        if len(node.args) != count:
            wanted = "one argument" if count == 1 else "two arguments"
            raise self.error(node, f"`{ast.unparse(node.func)}` takes {wanted} here.")
        values = [self.read_expression(argument, env) for argument in node.args]
        at = [
            self.reader.add_number(value, argument, self.source)
            for value, argument in zip(values, node.args, strict=True)
        ]
        if kind.partial:
            return self.reader.add_partial(kind(*at), node, self.source)
        return Ref(self.reader.add(kind(*at)), FLAG if kind.flag else NUMBER)

    def read_reduction(self, called: object, node: ast.Call, env: dict[str, Value]) -> Value:
        """Read `min max sum any all len` of arguments, a vector, or one generator over vectors."""
        reader, source = self.reader, self.source
        if len(node.args) == 1:
            values = self.list_elements(node.args[0], env)
        elif called in (min, max) and node.args:
            values = [partial(self.read_expression, part, env) for part in node.args]
        else:
            raise self.error(node, f"`{ast.unparse(node.func)}` takes one vector here.")
        if called is len:
            vector = None if isinstance(node.args[0], ast.GeneratorExp) else self.read_expression(node.args[0], env)
            return Ref(vector.at, UNKNOWN) if isinstance(vector, Undeclared) else Constant(len(values))
        if called in (any, all):
            return self.chain(called is all, [partial(self.read_truth, value, node) for value in values])
        if not values:
            raise self.error(node, "the vector is empty.")
        kind = {min: n.Min, max: n.Max, sum: n.Add}[called]  # type: ignore[index]
        read = [value() for value in values]
        known = [to_number(value.value) for value in read if isinstance(value, Constant)]
        if len(known) == len(read) and None not in known:
            fold = {min: min, max: max, sum: operator.add}[called]  # type: ignore[index]
            return self.read_constant(reduce(fold, known), node)  # type: ignore[call-overload]  # left to right, as everywhere
        numbers = [reader.add_number(value, node, source) for value in read]
        result = numbers[0]
        for number in numbers[1:]:
            result = reader.add(kind(result, number))
        return Ref(result, NUMBER)

    def read_truth(self, element: Callable[[], Value], node: ast.AST) -> int | bool:
        """Return an element of `any` or `all` as a flag."""
        value = element()
        if isinstance(value, Constant) and to_number(value.value) is not None:
            return bool(value.value)
        return self.reader.add_flag(value, node, self.source)

    def list_elements(self, node: ast.expr, env: dict[str, Value]) -> list[Callable[[], Value]]:
        """Return the readers of each element of a vector, or of a generator over one or two of them."""
        if not isinstance(node, ast.GeneratorExp):
            return [partial(_hand_back, item) for item in self.list_items(self.read_expression(node, env), node)]
        if len(node.generators) != 1:
            raise self.error(node, "only one `for` can be read.", "Write two reductions, or compute it before scoring.")
        loop = node.generators[0]
        if loop.ifs:
            raise self.error(
                loop.ifs[0], "a filter cannot be read.", "Write `value if condition else 0` for each element."
            )
        rows = self.list_rows(loop.iter, env)
        match loop.target:
            case ast.Name(id=name):
                names = [name]
            case ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]):
                names = [first, second]
            case _:
                raise self.error(loop.target, "the loop variable is one name, or two for a zip.")
        if rows and len(rows[0]) != len(names):
            raise self.error(loop.target, f"{len(names)} names for {len(rows[0])} values.")
        return [partial(self.read_expression, node.elt, env | dict(zip(names, row, strict=True))) for row in rows]

    def list_rows(self, node: ast.expr, env: dict[str, Value]) -> list[tuple[Value, ...]]:
        """Return what a generator runs over: the elements of a vector, or pairs from a zip of two."""
        zipped = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip"
        if not zipped or not isinstance(node, ast.Call):
            return [(item,) for item in self.list_items(self.read_expression(node, env), node)]
        if len(node.args) != 2 or any(k.arg != "strict" for k in node.keywords):
            raise self.error(node, "a zip joins two vectors here.")
        values = [self.read_expression(argument, env) for argument in node.args]
        left, right = (self.list_items(value, node) for value in values)
        if len(left) != len(right) and not any(isinstance(value, Undeclared) for value in values):
            raise self.error(node, f"the vectors differ in length: {len(left)} and {len(right)}.")
        return list(zip(left, right, strict=False))

    def list_items(self, value: Value, node: ast.AST) -> list[Value]:
        """Return the elements of a vector or constant tuple."""
        match value:
            case Vector(items):
                return list(items)
            case Constant(known) if isinstance(known, tuple):
                return [self.read_constant(item, node) for item in known]
            case Undeclared(_, name):
                return [Undeclared(self.reader.add(n.Input(f"{name}[0]")), f"{name}[0]")]
        advice = "Give the field a length: Field('torque', length=12)."
        raise self.error(node, f"{describe(value)} is not a vector.", advice)


def find_operation(called: object) -> type[n.Node] | None:
    """Return the operation that a function is; None for anything else."""
    name = f"{getattr(called, '__module__', '')}.{getattr(called, '__name__', '')}"
    for function, kind in FUNCTIONS.items():
        if called is function:
            return kind
    return SPELLINGS.get(name)


def _hand_back(value: Value) -> Value:
    return value
