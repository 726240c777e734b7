"""Reading helpers: the functions that a term calls are read in place, also those that it defines itself."""

import ast
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from plaudit.errors import ReadError
from plaudit.language.reading.advice import explain_unsupported_call
from plaudit.language.reading.expressions import ExpressionReader
from plaudit.language.reading.records import RecordReader
from plaudit.language.reading.source import Source, validate_signature
from plaudit.language.reading.values import Dictionary, Nested, Value, describe

MOST_CALLS = 10_000


class HelperReader(RecordReader):
    """Reads the helpers that one function calls, and those that it defines."""

    env: dict[str, Value]
    """The names of the function, as they are where it is being read."""

    def read_helper(
        self, function: types.FunctionType, node: ast.Call, env: dict[str, Value], bound: Sequence[Value] = ()
    ) -> Value:
        """Read a helper in place, with its parameters standing for what is passed; a method is `bound` to an object."""
        self.count_call(function, function.__name__, node)
        with self.point_at_call(function, node):
            source = self.source.find_helper(function)
            validate_signature(source, helper=True)
        names = [argument.arg for argument in source.tree.args.args]
        values = function.__defaults__ or ()
        defaults = dict(zip(names[len(names) - len(values) :], values, strict=True)) | (function.__kwdefaults__ or {})
        known = {name: partial(self.read_constant, default, node) for name, default in defaults.items()}
        passed = self.read_arguments(source, known, node, env, bound)
        with self.point_at_call(function, node):
            return self.run_helper(function, type(self)(self.reader, source), passed)

    def read_nested(self, helper: Nested, node: ast.Call, env: dict[str, Value]) -> Value:
        """Read a function that is defined inside another, with the names that has around it now."""
        tree = helper.source.tree
        self.count_call(tree, tree.name, node)
        known = {name: partial(_hand_back, default) for name, default in helper.defaults.items()}
        passed = self.read_arguments(helper.source, known, node, env)
        function = type(self)(self.reader, helper.source)
        around = {name: value for name, value in helper.names().items() if name not in function.locals}
        function.locals |= helper.locals
        return self.run_helper(tree, function, around | passed)

    def run_helper(self, function: object, reader: ExpressionReader, passed: dict[str, Value]) -> Value:
        """Return what a helper returns."""
        stack = self.reader.call_stack
        stack.append(function)
        try:
            return reader.run(passed)
        finally:
            stack.pop()

    def define_helper(self, tree: ast.FunctionDef, env: dict[str, Value]) -> Nested:
        """Return the function that a `def` or a lambda inside this one makes."""
        source = self.source.nest(tree)
        validate_signature(source, helper=True)
        arguments = tree.args
        names = [argument.arg for argument in arguments.args]
        pairs = list(zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True))
        pairs += [(a.arg, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
        defaults = {name: self.read_expression(default, env) for name, default in pairs}
        return Nested(source, defaults, lambda: self.env, frozenset(self.locals))

    def read_lambda(self, node: ast.Lambda, env: dict[str, Value]) -> Value:
        """Return the function that a lambda makes."""
        body = ast.copy_location(ast.Return(node.body), node.body)
        tree = ast.FunctionDef(name="<lambda>", args=node.args, body=[body], decorator_list=[])
        return self.define_helper(ast.copy_location(tree, node), env)

    def count_call(self, function: object, name: str, node: ast.Call) -> None:
        """Refuse recursion, and calls without end."""
        reader = self.reader
        if function in reader.call_stack or function is self.source.function:
            raise self.error(
                node, f"{name!r} calls itself.", "Recursion cannot be compiled; compute it before scoring."
            )
        reader.helper_calls += 1
        if reader.helper_calls > MOST_CALLS:
            advice = "Compute part of it before scoring and pass it in as a field."
            raise self.error(node, f"more than {MOST_CALLS:,} calls of helpers.", advice)

    @contextmanager
    def point_at_call(self, function: types.FunctionType, node: ast.Call) -> Iterator[None]:
        """Let guards and errors point at the call where what is called belongs to a library."""
        reader, outer = self.reader, self.reader.called_from
        library = self.source.is_library_call(function)
        if library and outer is None:
            reader.called_from = self.source.locate(node)
        try:
            yield
        except ReadError as error:
            if not library or outer is not None:
                raise
            why = str(error).partition("\n")[0].partition(": ")[2]
            name = ast.unparse(node.func)
            own = function.__module__.startswith("plaudit.")
            advice = str(error).rpartition("\n")[2] if own else explain_unsupported_call(name, function)[1]
            raise self.error(node, f"`{name}` cannot be read with these arguments: {why}", advice) from None
        finally:
            reader.called_from = outer

    def read_arguments(
        self,
        source: Source,
        defaults: Mapping[str, Callable[[], Value]],
        node: ast.Call,
        env: dict[str, Value],
        bound: Sequence[Value] = (),
    ) -> dict[str, Value]:
        """Return what a helper's parameters stand for."""
        signature = source.tree.args
        names = [argument.arg for argument in signature.args]
        given = [*bound, *self.read_several(node.args, env)]
        if len(given) > len(names):
            raise self.error(
                node,
                f"{source.name!r} takes {len(names)} positional arguments.",
                f"Its parameters: {_list(signature)}.",
            )
        passed = dict(zip(names, given, strict=False))
        known = {*names, *(argument.arg for argument in signature.kwonlyargs)}
        for name, value in self.list_keywords(node, env):
            if name not in known or name in passed:
                what = f"{source.name!r} has no such argument, or has it twice: {name!r}."
                raise self.error(node, what, f"Its parameters: {_list(signature)}.")
            passed[name] = value
        for name, default in defaults.items():
            if name not in passed:
                passed[name] = default()
        missing = known - passed.keys()
        if missing:
            what = f"{source.name!r} is called without {', '.join(sorted(missing))}."
            raise self.error(node, what, f"Its parameters: {_list(signature)}.")
        return passed

    def list_keywords(self, node: ast.Call, env: dict[str, Value]) -> Iterator[tuple[str, Value]]:
        """Yield the keyword arguments of a call; `**d` stands for the entries of a dict."""
        for keyword in node.keywords:
            value = self.read_expression(keyword.value, env)
            if keyword.arg is not None:
                yield keyword.arg, value
            elif isinstance(value, Dictionary):
                yield from ((str(key), item) for key, item in value.items.items())
            else:
                raise self.error(node, f"`**` stands for a dict here, and this is {describe(value)}.")


def _list(signature: ast.arguments) -> str:
    return ast.unparse(signature) or "none"


def _hand_back(value: Value) -> Value:
    return value
