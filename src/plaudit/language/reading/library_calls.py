"""Reading calls of the functions and methods of array libraries: what is passed to which parameter."""

import ast
from collections.abc import Iterator
from typing import Any

from plaudit.errors import did_you_mean
from plaudit.language.reading.advice import METHOD_ADVICE, find_advice, find_whole_name
from plaudit.language.reading.context import Context
from plaudit.language.reading.dictionaries import read_argument
from plaudit.language.reading.indexing import look_up_position
from plaudit.language.reading.operands import list_items
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
from plaudit.language.reading.vectors import find_open, holds_flags, is_array

Arguments = dict[str, Any]
"""What a call passes, by the name of the parameter; None for a literal None."""


IGNORED = ("device", "requires_grad", "non_blocking", "copy", "out_dtype")
"""Keyword arguments that make no difference to a number."""


OF_NUMBERS = tuple(name for name in SPELLINGS if name.startswith("math.") and name not in OF_VECTORS)
"""Functions of Python that take one number at a time."""


def call_spelling(context: Context, name: str, node: ast.Call, *first: Value) -> Value:
    """Return what a function of a library, or a method of the value `first`, gives."""
    spelled = SPELLINGS[name]
    if name == "to" and not is_cast(context, node):
        return first[0]
    passed = bind_arguments(context, spelled.signature, node, first)
    known = [value for value in passed.values() if value is not None]
    if (unknown := find_open(*known)) is not None:
        return unknown
    validate_dtype(context, passed.pop("dtype", None), passed.get("x"), node)
    if name in OF_NUMBERS and any(is_array(value) for value in known):
        advice = f"For an array write np.{name.removeprefix('math.')}(v), entry by entry."
        raise context.error(node, f"`{ast.unparse(node.func)}` takes one number at a time.", advice)
    return spelled.function(context, node, **passed)


def is_cast(context: Context, node: ast.Call) -> bool:
    """Return whether `x.to(...)` names a dtype, and not a device alone."""
    given = [each for each in node.args if not isinstance(each, ast.Starred) and getattr(each, "attr", "") != "device"]
    given += [keyword.value for keyword in node.keywords if keyword.arg == "dtype"]
    values = [context.read(argument) for argument in given]
    known = [value.value for value in values if isinstance(value, Constant)]
    return any(type(each).__name__ == "dtype" or isinstance(each, type) for each in known)


def bind_arguments(context: Context, signature: str, node: ast.Call, first: tuple[Value, ...]) -> Arguments:
    """Return what a call passes to the parameters of `signature`, such as `x low?|min high?|max`."""
    parts = [part.partition("=") for part in signature.split()]
    parameters = [part.replace("?", "").split("|") for part, _, _ in parts]
    required = [part.split("|")[0] for part, _, _ in parts if "?" not in part and "*" not in part]
    values = [*first, *read_positional(context, node.args)]
    star = next((at for at, names in enumerate(parameters) if names[0].startswith("*")), None)
    passed: Arguments = {}
    if star is not None:
        passed[parameters[star][0][1:]] = Vector(tuple(value for value in values[star:] if value is not None))
        values = values[:star]
    elif len(values) > len(parameters):
        count = len(parameters) - len(first)
        raise context.error(node, f"`{ast.unparse(node.func)}` takes {count} argument{'s'[: count != 1]} here.")
    passed |= {names[0]: value for names, value in zip(parameters, values, strict=False)}
    for keyword in node.keywords:
        if keyword.arg in IGNORED:
            continue
        name = next((names[0] for names in parameters if keyword.arg in names), None)
        if name is None or name in passed:
            advice = f"It reads {', '.join(names[-1] for names in parameters[1:]) or 'no keywords'}."
            raise context.error(node, f"`{ast.unparse(node.func)}` is read without {keyword.arg}=.", advice)
        passed[name] = read_argument(context, keyword.value)
    for names, (_, _, default) in zip(parameters, parts, strict=True):
        if default and passed.get(names[0]) is None:
            passed[names[0]] = Constant(float(default) if set(default) & set(".e") else int(default))
    missing = [name for name in required if passed.get(name) is None]
    if missing:
        raise context.error(node, f"`{ast.unparse(node.func)}` is called without {' and '.join(missing)}.")
    return passed


def read_positional(context: Context, nodes: list[ast.expr]) -> Iterator[Value | None]:
    """Yield positional arguments; `*v` stands for the entries of `v`."""
    for node in nodes:
        if isinstance(node, ast.Starred):
            yield from list_items(context, context.read(node.value), node)
        else:
            yield read_argument(context, node)


def validate_dtype(context: Context, dtype: Value | None, value: Value | None, node: ast.AST) -> None:
    """Refuse a dtype that would change what is computed; a float is what every number is."""
    if dtype is None:
        return
    known = dtype.value if isinstance(dtype, Constant) else None
    name = str(getattr(known, "__name__", known)).removeprefix("torch.")
    if name in FLOATS or (value is not None and name in INTEGERS and holds_flags(value)):
        return
    advice = "Drop it: every number is a float. To round, write np.floor(x); for a condition, x != 0."
    raise context.error(node, f"the dtype {name} is not read.", advice)


def read_method(context: Context, base: Value, node: ast.Call) -> Value:
    """Return what a method of a value gives."""
    assert isinstance(node.func, ast.Attribute)
    name = node.func.attr
    table = base.value if isinstance(base, Constant) else None
    if name == "index" and isinstance(table, tuple) and len(node.args) == 1:
        return look_up_position(context, table, context.read(node.args[0]), node)
    if name in METHODS and (is_array(base) or not isinstance(base, Vector | Constant)):
        return call_spelling(context, f".{name}" if f".{name}" in SPELLINGS else name, node, base)
    if name in METHODS:
        raise context.error(node, f"{describe(base)} has no `.{name}()`.", "Make it an array: np.array(...).")
    advice = REFUSED.get(name) or METHOD_ADVICE.get(name, "")
    near = "" if advice else did_you_mean(name, METHODS)
    raise context.error(node, f"the method `.{name}()` is not read.{near}", advice or LISTED)


def refuse_library(context: Context, called: object, node: ast.Call) -> None:
    """Refuse a function of a library that is not read."""
    library, name = get_library(called), str(getattr(called, "__name__", ""))
    if library:
        advice = REFUSED.get(name) or find_advice(find_whole_name(called))
        near = "" if advice else did_you_mean(name, SPELLINGS)
        what = f"`{ast.unparse(node.func)}` of {library} is not read.{near}"
        raise context.error(node, what, advice or LISTED)
