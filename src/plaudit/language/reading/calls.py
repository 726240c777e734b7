"""Reading calls: functions that every target has, reductions over vectors, and helpers, read in place."""

import ast
import types
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from plaudit.language import nodes as n
from plaudit.language.kinds import NUMBER
from plaudit.language.program import PYTHON_OPERATIONS
from plaudit.language.reading.advice import explain_unsupported_call
from plaudit.language.reading.helpers import HelperReader
from plaudit.language.reading.loops import BUILTIN_LOOPS
from plaudit.language.reading.source import Source, is_standard
from plaudit.language.reading.spellings import find_spelling
from plaudit.language.reading.values import Constant, Dictionary, Nested, Ref, Undeclared, Value, Vector, describe
from plaudit.language.reading.vectors import find_open, has_items, is_array

REDUCTIONS: Mapping[Any, type[n.Binary] | None] = {min: n.Min, max: n.Max, sum: n.Add, any: None, all: None, len: None}
"""Reductions over a vector; `min` and `max` also of two or more arguments."""

FUNCTIONS: Mapping[Any, type[n.Node]] = {
    PYTHON_OPERATIONS[kind]: kind for kind in n.KINDS.values() if kind.function and kind is not n.IsFinite
}
"""The node of each function of one or two numbers that a term may call; `math.isfinite` is refused with advice."""

OTHER_FUNCTIONS: Mapping[str, type[n.Node]] = {name: kind for kind in n.KINDS.values() for name in kind.spellings}
"""The node of each function that is another spelling, by module and name: its module need not be imported."""


class CallReader(HelperReader):
    """Reads the calls of one function."""

    def read_call(self, node: ast.Call, env: dict[str, Value]) -> Value:
        """Return what a call returns."""
        if isinstance(node.func, ast.Attribute):
            base = self.read_expression(node.func.value, env)
            if self.is_record_call(base, node.func.attr):
                return self.read_record_call(base, node, env)
            if isinstance(base, Dictionary):
                return self.read_dict_method(base, node, env)
            if isinstance(base, Ref | Undeclared) or has_items(base):
                return self.read_method(base, node, env)
            function = self.find_attribute(base, node.func)
            if isinstance(function, Ref | Undeclared):  # `prev.x()`
                raise self.error(node, f"{describe(function)} cannot be called.")
        else:
            function = self.read_expression(node.func, env)
        if isinstance(function, Nested):
            return self.read_nested(function, node, env)
        called = function.value if isinstance(function, Constant) else None  # a field, or the like
        if isinstance(getattr(called, "source", None), Source):  # a term called as a helper
            called = called.source.function  # type: ignore[attr-defined]  # as was just seen
        bound: list[Value] = []
        if isinstance(called, types.MethodType) and isinstance(called.__func__, types.FunctionType):
            bound, called = [Constant(called.__self__)], called.__func__
        if (name := find_spelling(called)) is not None:
            return self.call_spelling(name, node, env)
        if (kind := find_operation(called)) is not None:
            return self.read_function(kind, node, env)
        self.refuse_library(called, node)
        if isinstance(called, types.FunctionType) and not is_standard(called):
            return self.read_helper(called, node, env, bound)
        if is_one_of(called, (getattr, hasattr)) and len(node.args) >= 2:
            return self.read_attribute_call(called, node, env)
        if is_one_of(called, (dict, OrderedDict)):
            return self.make_dict(node, env)
        if is_one_of(called, BUILTIN_LOOPS):
            return self.read_builtin_loop(called, node, env)
        if is_one_of(called, (float, int, bool)) and len(node.args) == 1:
            self.refuse_keywords(node)
            return self.read_cast(called, node, env)
        if called is pow and len(node.args) == 2:
            left, right = self.read_several(node.args, env)
            return self.apply_arithmetic(ast.Pow(), left, right, node)
        if called is sum and len(node.args) == 2:
            vector = ast.copy_location(ast.Call(node.func, node.args[:1], []), node)
            start = self.read_expression(node.args[1], env)
            return self.apply_arithmetic(ast.Add(), start, self.read_reduction(called, vector, env), node)
        if is_one_of(called, REDUCTIONS):
            self.refuse_keywords(node)
            return self.read_reduction(called, node, env)
        raise self.error(node, *explain_unsupported_call(ast.unparse(node.func), called))

    def refuse_keywords(self, node: ast.Call) -> None:
        """Refuse keyword arguments."""
        if node.keywords:
            raise self.error(node, "this call takes plain arguments only.")

    def read_cast(self, called: object, node: ast.Call, env: dict[str, Value]) -> Value:
        """Read `float(x)`, which every number is already, `bool(x)`, and `int(x)`, the integer towards 0."""
        value = self.read_expression(node.args[0], env)
        if (unknown := find_open(value)) is not None:
            return unknown
        known = value.value if isinstance(value, Constant) else None
        if called is float and isinstance(known, str):
            try:
                return self.read_constant(float(known), node)
            except ValueError:
                raise self.error(node, f"{known!r} is not a number.") from None
        if called is bool:
            return self.to_flag(node, value)
        if called is int and not isinstance(known, bool | int) and self.find_kind(value) == NUMBER:
            return value if self.is_listed_integer(value) else self.truncate(node, value)
        return Constant(int(known)) if called is int and isinstance(known, int) else self.cast_entry(node, value)

    def is_listed_integer(self, value: Value) -> bool:
        """Return whether a value is a field whose values are listed, all of them integers."""
        name = getattr(self.reader.builder.nodes[value.at], "name", "") if isinstance(value, Ref) else ""
        field = self.reader.inputs.get(str(name))
        return field is not None and bool(field.numbers) and all(float(each).is_integer() for each in field.numbers)

    def read_function(self, kind: type[n.Node], node: ast.Call, env: dict[str, Value]) -> Value:
        """Read a function of one or two numbers."""
        self.refuse_keywords(node)
        if (unknown := self.find_open_star(node.args, env)) is not None:
            return unknown
        values = self.read_several(node.args, env)
        count = len(n.operand_names(kind))
        if kind is n.Hypot and len(values) != count:
            return self.norm(node, Vector(tuple(values)))
        if kind is n.Log and len(values) == 2:
            top, below = (self.apply_function(n.Log, node, value) for value in values)
            return self.apply_arithmetic(ast.Div(), top, below, node)
        if len(values) != count:
            wanted = "one argument" if count == 1 else "two arguments"
            raise self.error(node, f"`{ast.unparse(node.func)}` takes {wanted} here.")
        if kind is n.Abs and is_array(values[0]):
            return self.map_node(kind, node, x=values[0])
        for value, argument in zip(values, node.args, strict=False):
            if is_array(value):
                advice = f"For an array write np.{n.split_function(kind)[1]}(v), entry by entry."
                raise self.error(argument, f"`{ast.unparse(node.func)}` takes one number at a time.", advice)
        if kind is n.Power:
            return self.raise_to_power(values[0], values[1], node)
        return self.apply_function(kind, node, *values)

    def read_reduction(self, called: object, node: ast.Call, env: dict[str, Value]) -> Value:
        """Read `min max sum any all len` of arguments, a vector, or a generator."""
        if len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
            elements, unknown = self.list_elements(node.args[0], env)
        elif called in (min, max) and node.args:
            values = self.read_several(node.args, env)
            return find_open(*values) or self.reduce_values(called, [(True, value) for value in values], node)
        else:
            raise self.error(node, f"`{ast.unparse(node.func)}` takes one vector here.")
        if called in (any, all):
            found = self.chain(called is all, self.combine_elements(called, elements, node))
            return unknown or found
        read = [element() for element in elements]
        values = [value for counts, value in read if counts is not False]
        if called is len and isinstance(node.args[0], ast.GeneratorExp):
            raise self.error(node, "a generator has no length.", "Write len([x for x in v]).")
        if unknown is not None or (called is not len and find_open(*values)):
            return unknown or find_open(*values) or values[0]
        dropped = [counts for counts, _ in read if not isinstance(counts, bool)]
        if dropped and called is not sum:
            advice = "Keep every element, with one that does not count: max(x if condition else 0 for x in v)."
            raise self.error(node, f"`{ast.unparse(node.func)}` of a filter by data may have no element.", advice)
        return self.reduce_values(called, [(counts, value) for counts, value in read if counts is not False], node)

    def reduce_values(self, called: object, elements: list[tuple[int | bool, Value]], node: ast.Call) -> Value:
        """Return `len`, `sum`, `min` or `max` of elements, each with where it counts."""
        if called is len:
            return Constant(len(elements))
        kind = REDUCTIONS[called]
        assert kind is not None
        if called is sum and not elements:
            return Constant(0)
        values = [
            value if counts is True else self.join(counts, value, Constant(0), node) for counts, value in elements
        ]
        if called is sum and any(is_array(value) for value in values):
            return self.spread(lambda *entries: self.fold(kind, list(entries), node), *values, node=node)
        for value in values:
            if has_items(value):
                name = ast.unparse(node.func)
                advice = f"Of all entries write np.{name}(m); of two arrays, entry by entry, np.{name}imum(a, b)."
                raise self.error(node, f"`{name}` compares numbers, and this is {describe(value)}.", advice)
        return self.fold(kind, values, node)


def find_operation(called: object) -> type[n.Node] | None:
    """Return the operation that a function is; None for anything else."""
    name = f"{getattr(called, '__module__', '')}.{getattr(called, '__name__', '')}"
    for function, kind in FUNCTIONS.items():
        if called is function:
            return kind
    return OTHER_FUNCTIONS.get(name)


def is_one_of(called: object, functions: Iterable[object]) -> bool:
    """Return whether a value, which may have no hash, is one of several functions."""
    return any(called is function for function in functions)
