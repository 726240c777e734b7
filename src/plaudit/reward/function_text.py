"""Functions of a task as text that people read and edit, and text as functions; reading runs none of it."""

import ast
import builtins
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from plaudit.errors import DefinitionError
from plaudit.language.program import Program, sign
from plaudit.language.reading.source import Source, read_current
from plaudit.language.writing.render import render_function
from plaudit.reward.declared import UNNAMED, Fact, make_fact_of

MOST_CHARACTERS = 100_000
_PLAIN = (bool, int, float, str)


def parse_function(text: object, what: str) -> Fact:
    r"""Return the function that a text of Python defines; its body is read and never run.

    Raises:
        DefinitionError: The text is not a single function of the language; errors say `what` it is.

    >>> parse_function("def slow(speed):\n    return speed <= 2", "fact").reads
    ('speed',)
    """
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise DefinitionError(f"a {what} is the text of a function of Python, not {text!r:.60}")
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DefinitionError(f"the text of a {what} does not parse: {error}\n  {text!r:.200}") from None
    if len(body) != 1 or not isinstance(tree := body[0], ast.FunctionDef) or tree.decorator_list or tree.args.defaults:
        raise DefinitionError(
            f"the text of a {what} is one plain function, `def name(field): return ...`, and not {text!r:.100}"
        )
    try:
        constants = [ast.literal_eval(each) for each in tree.args.kw_defaults if each is not None]
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise DefinitionError(
            f"{what} {tree.name!r}: a keyword-only parameter has a plain value, such as 0.5"
        ) from None
    lines = tuple(line + "\n" for line in text.splitlines())
    source = Source(tree.name, UNNAMED, lines, 1, tree, _build_function(tree))
    named = [arg.arg for arg, given in zip(tree.args.kwonlyargs, tree.args.kw_defaults, strict=True) if given]
    return make_fact_of(source, what, dict(zip(named, constants, strict=True)), ast.get_docstring(tree) or "", text)


def _build_function(tree: ast.FunctionDef) -> types.FunctionType:
    """Return the function without running anything but its `def`: there are no annotations, and no defaults."""
    bare = ast.FunctionDef(tree.name, _strip_arguments(tree.args), [ast.Pass()], [])
    module = ast.fix_missing_locations(ast.Module([bare], []))
    return types.FunctionType(compile(module, UNNAMED, "exec").co_consts[0], _find_names(), tree.name)


def _strip_arguments(given: ast.arguments) -> ast.arguments:
    fields, constants = ([ast.arg(each.arg) for each in part] for part in (given.args, given.kwonlyargs))
    return ast.arguments([], fields, None, constants, [None] * len(constants), None, [])


@cache
def _find_names() -> dict[str, Any]:
    """Return what a text may name besides its parameters and Python's own functions."""
    import numpy as np  # which whoever defines a reward need not load

    from plaudit import functions

    own = {name: getattr(functions, name) for name in functions.__all__}
    plain = {name: each for name, each in vars(math).items() if not name.startswith("_")}
    return {**plain, **own, "math": math, "np": np, "numpy": np, "sign": sign, "__name__": UNNAMED}


def write_function(fact: Fact) -> str:
    """Return a function as text that stands alone: numbers from around it are written out.

    Raises:
        DefinitionError: It calls or looks up something else that stands around it.
    """
    if fact.text is not None:
        return fact.text
    assert fact.source is not None
    try:
        return _unparse(fact.source, fact.constants, fact.doc)
    except _StandsElsewhere as name:
        raise DefinitionError(
            f"{fact.name!r} cannot be written as text by itself: it uses {name!s}. Save the task of a reward that has "
            f"it, `reward.task`; or make {name!s} a keyword-only parameter with a plain value."
        ) from None


def settle_function(fact: Fact, read: Callable[[], Program]) -> Fact:
    """Return a function that can be written as text: one that uses what stands around it, as it is read."""
    try:
        write_function(fact)
    except DefinitionError:
        return replace(fact, text=render_function(read(), fact.name, fact.doc))
    return fact


class _StandsElsewhere(Exception):
    """A function uses something by name that a text cannot hold."""


def _unparse(source: Source, constants: Mapping[str, object], doc: str) -> str:
    tree = ast.parse(ast.unparse(source.tree)).body[0]  # a copy
    assert isinstance(tree, ast.FunctionDef)
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    body = tree.body[1:] if ast.get_docstring(tree) else tree.body
    written = [_WriteOut(source.function, own).visit(part) for part in body]
    if doc:
        written.insert(0, ast.Expr(ast.Constant(doc)))
    arguments = _strip_arguments(tree.args)
    arguments.kw_defaults = [_write_value(each.arg, constants[each.arg]) for each in arguments.kwonlyargs]
    return ast.unparse(ast.fix_missing_locations(ast.FunctionDef(tree.name, arguments, written, [])))


class _WriteOut(ast.NodeTransformer):
    """Writes out the values of names from around a function, and drops annotations."""

    def __init__(self, function: types.FunctionType, own: set[str]) -> None:
        self._function, self._own = function, own

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._own or not isinstance(node.ctx, ast.Load):
            return node
        try:
            value = read_current(self._function, node.id)
        except KeyError:
            raise _StandsElsewhere(node.id) from None
        if type(value) in _PLAIN or type(value) in (tuple, list):
            return _write_value(node.id, value)
        if value is vars(builtins).get(node.id) or value is _find_names().get(node.id):
            return node
        raise _StandsElsewhere(node.id)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        return node if node.value is None else ast.Assign([node.target], self.visit(node.value))


def _write_value(name: str, value: object) -> ast.expr:
    if type(value) in _PLAIN and value == value and value not in (math.inf, -math.inf):
        return ast.Constant(value)  # type: ignore[arg-type]  # one of the plain types
    if type(value) in (tuple, list):
        return ast.Tuple([_write_value(name, each) for each in value], ast.Load())  # type: ignore[attr-defined]
    raise _StandsElsewhere(name)


def strip_function(text: str) -> str:
    """Return the text of a function without comments, docstring and layout: two that agree in it do the same."""
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    if ast.get_docstring(tree) is not None:
        tree.body = tree.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
