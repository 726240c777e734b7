"""What a line changes that is dropped otherwise: methods and properties of the class, and helpers, that assign.

`print(self.step())` makes no difference by what it prints, but by what `step` assigns to `self`. Such a call is read
for what it assigns. A function that cannot assign anything need not be read: its code says so.
"""

import ast
import dis
import types
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, partial
from inspect import getattr_static

from plaudit.language.reading.context import Context
from plaudit.language.reading.effects import FILLING, resolve
from plaudit.language.reading.owners import MISSING, find_function, find_member
from plaudit.language.reading.presence import is_own
from plaudit.language.reading.source import is_installed, read_closure
from plaudit.language.reading.values import Nested, Record

_WHOLE = (
    ast.BoolOp, ast.Dict, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.Lambda, ast.ListComp, ast.SetComp,
)  # fmt: skip
"""Expressions that run a part of them several times, perhaps, or in another order than it is written."""

_STORES = {
    "DELETE_ATTR", "DELETE_GLOBAL", "DELETE_SUBSCR", "STORE_ATTR", "STORE_GLOBAL", "STORE_SLICE", "STORE_SUBSCR",
}  # fmt: skip
_CHANGING = {"__delattr__", "__delitem__", "__dict__", "__setattr__", "__setitem__", "delattr", "setattr", "vars"}


def read_changes(context: Context, node: ast.AST, is_change: Callable[[Context, ast.AST], bool] | None = None) -> None:
    """Read those parts of an expression that may change something, in the order in which they run."""
    is_change = is_change or may_change_here
    if not any(is_change(context, each) for each in ast.walk(node)):
        return
    chained = isinstance(node, ast.Compare) and len(node.ops) > 1
    if is_change(context, node) or chained or isinstance(node, _WHOLE):
        assert isinstance(node, ast.expr)
        context.read(node)
        return
    for each in ast.iter_child_nodes(node):
        read_changes(context, each, is_change)


def may_change_here(context: Context, node: ast.AST) -> bool:
    """Return whether a part of an expression, by itself, may change what the function goes on to read."""
    match node:
        case ast.NamedExpr():
            return True
        case ast.Attribute(value=value, attr=name) if _is_self(context, value):
            return _is_property(context, name) and may_own_change(context, name)
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if _is_self(context, value):
            return may_own_change(context, name)
        case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[value, name, *_]) if _is_self(context, value):
            return not isinstance(name, ast.Constant) or may_own_change(context, str(name.value))
        case ast.Call(func=ast.Name(id=name)) if isinstance(nested := context.names.get(name), Nested):
            return any(map(_may_change_anything, ast.walk(nested.source.tree)))
        case ast.Call(func=ast.Name(id=name)) if isinstance(known := context.names.get(name), Record):
            return is_own(context, known.path) and may_own_change(context, known.path[1])
        case ast.Call(func=ast.Name() | ast.Attribute() as called):
            function = _find_called(resolve(called, context.find))
            return isinstance(function, types.FunctionType) and _may_change(function, None)
        case ast.Call():
            return True  # `steps[0]()`
    return False


def _may_change_anything(node: ast.AST) -> bool:
    """Return whether a part of a function may change more than the names of that function."""
    if isinstance(node, ast.Attribute | ast.Subscript):
        return not isinstance(node.ctx, ast.Load)
    return isinstance(
        node, ast.Call | ast.NamedExpr | ast.Nonlocal | ast.Global | ast.Await | ast.Yield | ast.YieldFrom
    )


def _find_called(called: object) -> object:
    """Return the plain function that a call runs: of a partial function, a class, or an object that is called."""
    while isinstance(called, partial):
        called = called.func
    function = find_function(called)
    if isinstance(function, types.FunctionType) or function is None:
        return function
    own = called if isinstance(called, type) else type(called)
    name = "__init__" if isinstance(called, type) else "__call__"
    return find_function(getattr_static(own, name, None))


def may_own_change(context: Context, name: str) -> bool:
    """Return whether a method or property of the class may assign anything where it runs."""
    if context.owner is None:
        return False
    function = find_function(find_member(context.owner, name))
    return isinstance(function, types.FunctionType) and _may_change(function, context.owner.kind)


def _is_property(context: Context, name: str) -> bool:
    member = MISSING if context.owner is None else find_member(context.owner, name)
    return isinstance(member, property | cached_property)


def _is_self(context: Context, node: ast.expr) -> bool:
    path = getattr(context.names.get(node.id), "path", ()) if isinstance(node, ast.Name) else ()
    return bool(path) and path == (context.receiver,)


def list_own_names(context: Context, name: str) -> frozenset[str]:
    """Return the names that a method or property of the class mentions, and what it calls."""
    function = MISSING if context.owner is None else find_function(find_member(context.owner, name))
    if context.owner is None or not isinstance(function, types.FunctionType):
        return frozenset()
    return frozenset[str]().union(*map(_list_names, _list_all_called(function, context.owner.kind)))


@lru_cache(maxsize=256)
def _may_change(function: types.FunctionType, kind: type | None) -> bool:
    """Return whether a function, or one that it calls, may change anything but its own names."""
    for each in _list_all_called(function, kind):
        steps = {step.opname for code in _list_codes(each.__code__) for step in dis.get_instructions(code)}
        names = _list_names(each)
        if steps & _STORES or names & (_CHANGING | FILLING) or any(name.rstrip("_") + "_" == name for name in names):
            return True
    return False


def _list_all_called(function: types.FunctionType, kind: type | None) -> Iterator[types.FunctionType]:
    """Yield a function, and those of the author that it may call."""
    waiting, seen = [function], set[types.FunctionType]()
    while waiting:
        each = waiting.pop()
        if each not in seen and not is_installed(each):
            seen.add(each)
            yield each
            waiting += _list_called(each, kind)


def _list_names(function: types.FunctionType) -> frozenset[str]:
    return frozenset(name for code in _list_codes(function.__code__) for name in code.co_names)


def _list_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _list_codes(each)


def _list_called(function: types.FunctionType, kind: type | None) -> Iterator[types.FunctionType]:
    """Yield the functions that one may call: of its module, of modules and classes that it names, and of its class."""
    names = _list_names(function)
    around = {**function.__globals__, **read_closure(function)}
    known = [around[name] for name in {*names, *function.__code__.co_freevars} if name in around]
    holders = [each for each in (*known, kind) if isinstance(each, types.ModuleType | type)]
    for holder in holders:
        known += [getattr_static(holder, name, MISSING) for name in names]
    yield from (each for each in map(find_function, known) if isinstance(each, types.FunctionType))
