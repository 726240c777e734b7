"""What the source of a function or a module says: code without what has no meaning, what it changes, definitions."""

import ast
import dis
import inspect
import linecache
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

__all__ = ["find_changed", "find_definitions", "list_codes", "list_imports", "parse_code"]

_MUTATORS = frozenset(
    {"add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove"}
    | {"setdefault", "sort", "update"}
)
_BLOCKS = ast.If | ast.For | ast.While | ast.With | ast.Try
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def parse_code(value: Any) -> ast.AST | None:
    """Return the code of a function or a class without comments, docstrings and decorators; None without source.

    Decorators of what is within it stay; its own stands in its place, if it matters.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(getattr(value, "__code__", value))))
    except (OSError, TypeError, SyntaxError):  # typed into a shell, or a lambda in the middle of an expression
        return None
    for at, node in enumerate(ast.walk(tree)):
        if isinstance(node, _FUNCTIONS | ast.ClassDef):
            if at <= 1:  # the module, and what it defines
                node.decorator_list = []
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return tree


def list_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and those within it: of comprehensions, lambdas and inner functions."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from list_codes(each)


def list_imports(function: Callable[..., Any]) -> Iterator[tuple[int, str]]:
    """Yield the level and the name of every module that a function imports itself."""
    for code in list_codes(function.__code__):
        before: list[Any] = []
        for each in dis.get_instructions(code):
            if each.opname == "IMPORT_NAME":
                yield before[-2].argval, each.argval
            before.append(each)


def find_changed(function: Callable[..., Any]) -> set[str]:
    """Return the names, such as those of a counter or a cache, that a function changes the values of.

    What it changes of its first parameter is named with a dot before it.
    """
    names = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF"}
    own = set(function.__code__.co_freevars)
    found = set()
    for code in list_codes(function.__code__):
        for each in dis.get_instructions(code):
            if each.opname in names and (each.opname != "STORE_DEREF" or each.argval in own):
                found.add(each.argval)
    tree = parse_code(function)
    first = next(iter(function.__code__.co_varnames[: function.__code__.co_argcount]), "")
    for node in ast.walk(tree) if tree is not None else ():
        for target in _list_targets(node):
            if isinstance(target, ast.Name):
                found.add(target.id)
            elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == first:
                found.add(f".{target.attr}")
    return found


def _list_targets(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what a piece of code changes from within: of `a.b[0] = 1`, `a.b` and `a`."""
    if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
        changed: ast.expr = node if isinstance(node, ast.Attribute) else node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
        changed = node.func.value
    else:
        return
    while isinstance(changed, ast.Attribute | ast.Subscript):
        yield changed
        changed = changed.value
    yield changed


def find_definitions(scope: Mapping[str, Any], name: str) -> list[ast.stmt]:
    """Return the statements of a module that give a name its value; none where the module has no source."""
    file = scope.get("__file__")
    if not isinstance(file, str):
        return []
    linecache.checkcache(file)
    return _list_definitions("".join(linecache.getlines(file))).get(name, [])


@lru_cache(maxsize=64)
def _list_definitions(text: str) -> dict[str, list[ast.stmt]]:
    found: dict[str, list[ast.stmt]] = {}
    with suppress(SyntaxError, ValueError):
        _collect_definitions(ast.parse(text), found)
    return found


def _collect_definitions(block: ast.AST, found: dict[str, list[ast.stmt]]) -> None:
    for each in ast.iter_child_nodes(block):
        targets: list[ast.expr] = []
        if isinstance(each, ast.Assign):
            targets = each.targets
        elif isinstance(each, ast.AnnAssign | ast.AugAssign):
            targets = [each.target]
        elif isinstance(each, ast.ImportFrom):
            for alias in each.names:
                found.setdefault(alias.asname or alias.name, []).append(each)
        elif isinstance(each, _BLOCKS | ast.ExceptHandler):
            _collect_definitions(each, found)
        for target in targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and isinstance(each, ast.stmt):
                    found.setdefault(node.id, []).append(each)
