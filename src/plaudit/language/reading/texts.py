"""Strings that are known when a term is read: f-strings, `format`, `+`, `%`, and methods such as `startswith`.

They name what is looked up: a key of a config, a way to compute. A string of a row is a category, and is only compared.
"""

import ast
import operator
from collections.abc import Callable
from typing import Any

from plaudit.language.reading.advice import explain_unsupported
from plaudit.language.reading.context import Context, reads
from plaudit.language.reading.expressions import list_items, read_constant
from plaudit.language.reading.values import Constant, Value, Vector, describe, find_open, has_items

METHODS = frozenset({
    "capitalize", "count", "endswith", "find", "format", "index", "isdigit", "join", "lower", "lstrip", "partition",
    "removeprefix", "removesuffix", "replace", "rpartition", "rsplit", "rstrip", "split", "startswith", "strip",
    "title", "upper",
})  # fmt: skip

_CONVERSIONS: dict[int, Callable[[object], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


def is_text(value: Value) -> bool:
    """Return whether a value is a string that is known."""
    return isinstance(value, Constant) and isinstance(value.value, str)


@reads(ast.JoinedStr)
def _read_formatted(context: Context, node: ast.JoinedStr) -> Value:
    """Return an f-string of constants."""
    found = [context.read(each) for each in node.values]
    if (unknown := find_open(*found)) is not None:
        return unknown
    return Constant("".join(str(_find_known(context, each, node)) for each in found))


@reads(ast.FormattedValue)
def _read_part(context: Context, node: ast.FormattedValue) -> Value:
    value = context.read(node.value)
    style = Constant("") if node.format_spec is None else context.read(node.format_spec)
    if (unknown := find_open(value, style)) is not None:
        return unknown
    known, how = (_find_known(context, each, node) for each in (value, style))
    if node.conversion in _CONVERSIONS:
        known = _CONVERSIONS[node.conversion](known)
    return _apply(context, node, format, known, how)


def read_text_method(context: Context, text: Value, node: ast.Call) -> Value:
    """Return what a method of a string that is known gives."""
    assert isinstance(node.func, ast.Attribute)
    assert isinstance(text, Constant)
    if node.func.attr not in METHODS:
        raise context.error(
            node, f"a string has no `.{node.func.attr}()` here.", f"It has {', '.join(sorted(METHODS))}."
        )
    given = [context.read(each) for each in node.args]
    named = {each.arg: context.read(each.value) for each in node.keywords if each.arg}
    if (unknown := find_open(*given, *named.values())) is not None:
        return unknown
    known = [_find_known(context, each, node) for each in given]
    keywords = {name: _find_known(context, each, node) for name, each in named.items()}
    return _apply(context, node, getattr(text.value, node.func.attr), *known, **keywords)


def read_text(context: Context, called: Any, node: ast.Call) -> Value:
    """Return `str(x)` or `repr(x)` of a constant."""
    value = context.read(node.args[0])
    return find_open(value) or _apply(context, node, called, _find_known(context, value, node))


def join_texts(context: Context, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
    """Return `"a" + "b"` or `"%s" % x`."""
    if (unknown := find_open(left, right)) is not None:
        return unknown
    known = [_find_known(context, each, node) for each in (left, right)]
    return _apply(context, node, operator.add if isinstance(op, ast.Add) else operator.mod, *known)


def _apply(context: Context, node: ast.AST, function: Any, *arguments: Any, **keywords: Any) -> Value:
    try:
        return read_constant(context, function(*arguments, **keywords), node)
    except (TypeError, ValueError, LookupError) as error:
        raise context.error(node, f"this string cannot be built: {error}.") from None


def _find_known(context: Context, value: Value, node: ast.AST) -> Any:
    """Return a constant, also a list of them; a string cannot be built from anything else."""
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, Vector) and not value.array and has_items(value):
        return [_find_known(context, each, node) for each in list_items(context, value, node)]
    what, advice = explain_unsupported(ast.JoinedStr([]))
    raise context.error(node, f"{what[:-1]} of what a row holds, and this is {describe(value)}.", advice)
