"""Reading calls of the functions and methods of array libraries: what is passed to which parameter."""

import ast
from abc import ABC
from collections.abc import Iterator
from typing import Any

from plaudit.errors import did_you_mean
from plaudit.language.reading.advice import METHODS as METHOD_ADVICE
from plaudit.language.reading.advice import find_advice, find_whole_name
from plaudit.language.reading.making import MakingReader
from plaudit.language.reading.spellings import (
    FLOATS,
    INTEGERS,
    LISTED,
    METHODS,
    OF_VECTORS,
    REFUSED,
    SPELLINGS,
    get_library,
)
from plaudit.language.reading.values import Constant, Value, Vector, describe
from plaudit.language.reading.vectors import find_open, is_array

Arguments = dict[str, Any]
"""What a call passes, by the name of the parameter; None for a literal None."""

IGNORED = ("device", "requires_grad", "non_blocking", "copy", "out_dtype")
"""Keyword arguments that make no difference to a number."""

OF_NUMBERS = tuple(name for name in SPELLINGS if name.startswith("math.") and name not in OF_VECTORS)
"""Functions of Python that take one number at a time."""


class LibraryCallReader(MakingReader, ABC):
    """Reads calls of the functions and methods of array libraries."""

    def call_spelling(self, name: str, node: ast.Call, env: dict[str, Value], *first: Value) -> Value:
        """Return what a function of a library, or a method of the value `first`, gives."""
        spelled = SPELLINGS[name]
        if name == "to" and not self.is_cast(node, env):
            return first[0]
        passed = self.bind_arguments(spelled.signature, node, env, first)
        known = [value for value in passed.values() if value is not None]
        if (unknown := find_open(*known)) is not None:
            return unknown
        self.validate_dtype(passed.pop("dtype", None), passed.get("x"), node)
        if name in OF_NUMBERS and any(is_array(value) for value in known):
            advice = f"For an array write np.{name.removeprefix('math.')}(v), entry by entry."
            raise self.error(node, f"`{ast.unparse(node.func)}` takes one number at a time.", advice)
        return spelled.function(self, node, **passed)

    def is_cast(self, node: ast.Call, env: dict[str, Value]) -> bool:
        """Return whether `x.to(...)` names a dtype, and not a device alone."""
        given = [
            each for each in node.args if not isinstance(each, ast.Starred) and getattr(each, "attr", "") != "device"
        ]
        given += [keyword.value for keyword in node.keywords if keyword.arg == "dtype"]
        values = [self.read_expression(argument, env) for argument in given]
        known = [value.value for value in values if isinstance(value, Constant)]
        return any(type(each).__name__ == "dtype" or isinstance(each, type) for each in known)

    def bind_arguments(
        self, signature: str, node: ast.Call, env: dict[str, Value], first: tuple[Value, ...]
    ) -> Arguments:
        """Return what a call passes to the parameters of `signature`, such as `x low?|min high?|max`."""
        parts = [part.partition("=") for part in signature.split()]
        parameters = [part.replace("?", "").split("|") for part, _, _ in parts]
        required = [part.split("|")[0] for part, _, _ in parts if "?" not in part and "*" not in part]
        values = [*first, *self.read_positional(node.args, env)]
        star = next((at for at, names in enumerate(parameters) if names[0].startswith("*")), None)
        passed: Arguments = {}
        if star is not None:
            passed[parameters[star][0][1:]] = Vector(tuple(value for value in values[star:] if value is not None))
            values = values[:star]
        elif len(values) > len(parameters):
            count = len(parameters) - len(first)
            raise self.error(node, f"`{ast.unparse(node.func)}` takes {count} argument{'s'[: count != 1]} here.")
        passed |= {names[0]: value for names, value in zip(parameters, values, strict=False)}
        for keyword in node.keywords:
            if keyword.arg in IGNORED:
                continue
            name = next((names[0] for names in parameters if keyword.arg in names), None)
            if name is None or name in passed:
                advice = f"It reads {', '.join(names[-1] for names in parameters[1:]) or 'no keywords'}."
                raise self.error(node, f"`{ast.unparse(node.func)}` is read without {keyword.arg}=.", advice)
            passed[name] = self.read_argument(keyword.value, env)
        for names, (_, _, default) in zip(parameters, parts, strict=True):
            if default and passed.get(names[0]) is None:
                passed[names[0]] = Constant(float(default) if set(default) & set(".e") else int(default))
        missing = [name for name in required if passed.get(name) is None]
        if missing:
            raise self.error(node, f"`{ast.unparse(node.func)}` is called without {' and '.join(missing)}.")
        return passed

    def read_positional(self, nodes: list[ast.expr], env: dict[str, Value]) -> Iterator[Value | None]:
        """Yield positional arguments; `*v` stands for the entries of `v`."""
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.list_items(self.read_expression(node.value, env), node)
            else:
                yield self.read_argument(node, env)

    def read_argument(self, node: ast.expr, env: dict[str, Value]) -> Value | None:
        """Return an argument; None where it is a literal None."""
        value = self.read_iterable(node, env)
        return None if isinstance(value, Constant) and value.value is None else value

    def validate_dtype(self, dtype: Value | None, value: Value | None, node: ast.AST) -> None:
        """Refuse a dtype that would change what is computed; a float is what every number is."""
        if dtype is None:
            return
        known = dtype.value if isinstance(dtype, Constant) else None
        name = str(getattr(known, "__name__", known)).removeprefix("torch.")
        if name in FLOATS or (value is not None and name in INTEGERS and self.holds_flags(value)):
            return
        advice = "Drop it: every number is a float. To round, write np.floor(x); for a condition, x != 0."
        raise self.error(node, f"the dtype {name} is not read.", advice)

    def read_method(self, base: Value, node: ast.Call, env: dict[str, Value]) -> Value:
        """Return what a method of a value gives."""
        assert isinstance(node.func, ast.Attribute)
        name = node.func.attr
        table = base.value if isinstance(base, Constant) else None
        if name == "index" and isinstance(table, tuple) and len(node.args) == 1:
            return self.look_up_position(table, self.read_expression(node.args[0], env), node)
        if name in METHODS and (is_array(base) or not isinstance(base, Vector | Constant)):
            return self.call_spelling(f".{name}" if f".{name}" in SPELLINGS else name, node, env, base)
        if name in METHODS:
            raise self.error(node, f"{describe(base)} has no `.{name}()`.", "Make it an array: np.array(...).")
        advice = REFUSED.get(name) or METHOD_ADVICE.get(name, "")
        near = "" if advice else did_you_mean(name, METHODS)
        raise self.error(node, f"the method `.{name}()` is not read.{near}", advice or LISTED)

    def refuse_library(self, called: object, node: ast.Call) -> None:
        """Refuse a function of a library that is not read."""
        library, name = get_library(called), str(getattr(called, "__name__", ""))
        if library:
            advice = REFUSED.get(name) or find_advice(find_whole_name(called))
            near = "" if advice else did_you_mean(name, SPELLINGS)
            what = f"`{ast.unparse(node.func)}` of {library} is not read.{near}"
            raise self.error(node, what, advice or LISTED)
