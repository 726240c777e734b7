"""Reading calls: functions that every target has, reductions over short vectors, and helpers, read in place."""

import ast
import operator
import types
from collections.abc import Callable
from functools import partial, reduce

from plaudit.language import nodes as n
from plaudit.language.calls import FOREIGN, MATH, REDUCTIONS, refused_call
from plaudit.language.expressions import Expressions
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN
from plaudit.language.numbers import constant_number
from plaudit.language.reader import describe
from plaudit.language.signature import check_signature
from plaudit.language.source import Source
from plaudit.language.values import Constant, Ref, Undeclared, Value, Vector

MOST_CALLS = 10_000


class Calls(Expressions):
    """Reads the calls of one function."""

    def call(self, node: ast.Call, env: dict[str, Value]) -> Value:
        """Return what a call returns."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "index":
            table = self.expression(node.func.value, env)
            if isinstance(table, Constant) and isinstance(table.value, tuple) and len(node.args) == 1:
                return self.position(table.value, self.expression(node.args[0], env), node)
        function = self.expression(node.func, env)
        called = function.value if isinstance(function, Constant) else None
        if isinstance(getattr(called, "source", None), Source):  # a term called as a helper
            called = called.source.function  # type: ignore[attr-defined]  # as was just seen
        foreign = (getattr(called, "__module__", "") or "").partition(".")[0] in FOREIGN
        if isinstance(called, types.FunctionType) and not foreign:
            return self.helper(called, node, env)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self.error(node, "this call takes plain arguments only.")
        if called in REDUCTIONS:
            return self.reduction(called, node, env)
        if called in MATH:
            kind, why = MATH[called]
            if len(node.args) != 1:
                raise self.error(node, f"`{ast.unparse(node.func)}` takes one argument here.")
            argument = self.expression(node.args[0], env)
            at = self.reader.number(argument, node.args[0], self.source)
            if why:
                return self.reader.partial(kind(at), why, node, self.source)
            return Ref(self.reader.add(kind(at)), FLAG if kind is n.IsInf else NUMBER)
        raise self.error(node, *refused_call(ast.unparse(node.func), called))

    def reduction(self, called: object, node: ast.Call, env: dict[str, Value]) -> Value:
        """Read `min max sum any all len` of arguments, a vector, or one generator over vectors."""
        reader, source = self.reader, self.source
        if len(node.args) == 1:
            values = self.elements(node.args[0], env)
        elif called in (min, max) and node.args:
            values = [partial(self.expression, part, env) for part in node.args]
        else:
            raise self.error(node, f"`{ast.unparse(node.func)}` takes one vector here.")
        if called is len:
            vector = None if isinstance(node.args[0], ast.GeneratorExp) else self.expression(node.args[0], env)
            return Ref(vector.at, UNKNOWN) if isinstance(vector, Undeclared) else Constant(len(values))
        if called in (any, all):
            return self.chain(called is all, [partial(self.truth, value, node) for value in values])
        if not values:
            raise self.error(node, "the vector is empty.")
        kind = {min: n.Min, max: n.Max, sum: n.Add}[called]  # type: ignore[index]
        read = [value() for value in values]
        known = [constant_number(value.value) for value in read if isinstance(value, Constant)]
        if len(known) == len(read) and None not in known:
            fold = {min: min, max: max, sum: operator.add}[called]  # type: ignore[index]
            return self.known(reduce(fold, known), node)  # type: ignore[call-overload]  # left to right, as everywhere
        numbers = [reader.number(value, node, source) for value in read]
        result = numbers[0]
        for number in numbers[1:]:
            result = reader.add(kind(result, number))
        return Ref(result, NUMBER)

    def truth(self, element: Callable[[], Value], node: ast.AST) -> int | bool:
        """Return an element of `any` or `all` as a flag."""
        value = element()
        if isinstance(value, Constant) and constant_number(value.value) is not None:
            return bool(value.value)
        return self.reader.flag(value, node, self.source)

    def elements(self, node: ast.expr, env: dict[str, Value]) -> list[Callable[[], Value]]:
        """Return the readers of each element of a vector, or of a generator over one or two of them."""
        if not isinstance(node, ast.GeneratorExp):
            return [partial(_given, item) for item in self.items(self.expression(node, env), node)]
        if len(node.generators) != 1:
            raise self.error(node, "only one `for` can be read.", "Write two reductions, or compute it before scoring.")
        loop = node.generators[0]
        if loop.ifs:
            raise self.error(
                loop.ifs[0], "a filter cannot be read.", "Write `value if condition else 0` for each element."
            )
        rows = self.rows(loop.iter, env)
        match loop.target:
            case ast.Name(id=name):
                names = [name]
            case ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]):
                names = [first, second]
            case _:
                raise self.error(loop.target, "the loop variable is one name, or two for a zip.")
        if rows and len(rows[0]) != len(names):
            raise self.error(loop.target, f"{len(names)} names for {len(rows[0])} values.")
        return [partial(self.expression, node.elt, env | dict(zip(names, row, strict=True))) for row in rows]

    def rows(self, node: ast.expr, env: dict[str, Value]) -> list[tuple[Value, ...]]:
        """Return what a generator runs over: the elements of a vector, or pairs from a zip of two."""
        zipped = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip"
        if not zipped or not isinstance(node, ast.Call):
            return [(item,) for item in self.items(self.expression(node, env), node)]
        if len(node.args) != 2 or any(k.arg != "strict" for k in node.keywords):
            raise self.error(node, "a zip joins two vectors here.")
        values = [self.expression(argument, env) for argument in node.args]
        left, right = (self.items(value, node) for value in values)
        if len(left) != len(right) and not any(isinstance(value, Undeclared) for value in values):
            raise self.error(node, f"the vectors differ in length: {len(left)} and {len(right)}.")
        return list(zip(left, right, strict=False))

    def items(self, value: Value, node: ast.AST) -> list[Value]:
        """Return the elements of a vector or constant tuple."""
        match value:
            case Vector(items):
                return list(items)
            case Constant(known) if isinstance(known, tuple):
                return [self.known(item, node) for item in known]
            case Undeclared(_, name):
                return [Undeclared(self.reader.add(n.Input(f"{name}[0]")), f"{name}[0]")]
        advice = "Give the field a length: Field('torque', length=12)."
        raise self.error(node, f"{describe(value)} is not a vector.", advice)

    def helper(self, function: types.FunctionType, node: ast.Call, env: dict[str, Value]) -> Value:
        """Read a helper in place, with its parameters standing for what is passed."""
        reader = self.reader
        if function in reader.calls or function is self.source.function:
            raise self.error(
                node, f"{function.__name__!r} calls itself.", "Recursion cannot be compiled; compute it before scoring."
            )
        reader.count += 1
        if reader.count > MOST_CALLS:
            raise self.error(node, f"more than {MOST_CALLS:,} calls of helpers.")
        source = self.source.helper(function)
        passed = self.arguments(function, source, node, env)
        reader.calls.append(function)
        try:
            return type(self)(reader, source).run(passed)
        finally:
            reader.calls.pop()

    def arguments(
        self, function: types.FunctionType, source: Source, node: ast.Call, env: dict[str, Value]
    ) -> dict[str, Value]:
        """Return what a helper's parameters stand for."""
        signature = source.tree.args
        check_signature(source)
        names = [argument.arg for argument in signature.args]
        if any(isinstance(argument, ast.Starred) for argument in node.args) or any(
            k.arg is None for k in node.keywords
        ):
            raise self.error(node, "`*` and `**` cannot be read in a call.", "Pass the arguments one by one.")
        if len(node.args) > len(names):
            raise self.error(node, f"{function.__name__!r} takes {len(names)} positional arguments.")
        passed = {name: self.expression(argument, env) for name, argument in zip(names, node.args, strict=False)}
        known = {*names, *(argument.arg for argument in signature.kwonlyargs)}
        for keyword in node.keywords:
            if keyword.arg not in known or keyword.arg in passed:
                raise self.error(node, f"{function.__name__!r} has no such argument, or has it twice: {keyword.arg!r}.")
            passed[str(keyword.arg)] = self.expression(keyword.value, env)
        for name, default in (function.__kwdefaults__ or {}).items():
            passed.setdefault(name, self.known(default, node))
        missing = known - passed.keys()
        if missing:
            raise self.error(node, f"{function.__name__!r} is called without {', '.join(sorted(missing))}.")
        return passed


def _given(value: Value) -> Value:
    return value
