"""Whose method a function is, and what else its class has: methods, properties, constants."""

import dataclasses
import dis
import functools
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from inspect import getattr_static
from typing import Any

from plaudit.errors import ReadError
from plaudit.language.reading.decorators import refuse_wrapper, unwrap
from plaudit.language.reading.source import Owner, ReadFunction, Source, is_installed, parse_source

MISSING = object()
"""What is found where there is nothing."""


def read_source(function: object) -> Source:
    """Return the source of a function, a method or a property, without decorators that leave its value alone."""
    receiver = getattr(function, "__self__", None) if isinstance(function, types.MethodType) else None
    plain = find_function(function)
    refuse_wrapper(plain)
    source = parse_source(plain)
    return replace(source, owner=find_owner(source.function, receiver))


def unbind(function: Any) -> tuple[Any, dict[str, Any]]:
    """Return what a partial function or an object calls, and the values that it binds by name."""
    if isinstance(function, functools.partial):
        inner, bound = unbind(function.func)
        if function.args:
            name = getattr(inner, "__name__", "f")
            first = inner.__code__.co_varnames[0] if isinstance(inner, types.FunctionType) else "scale"
            raise ReadError(
                f"{name!r} cannot be read: functools.partial binds {len(function.args)} of its arguments by position.\n"
                f"Bind them by name: functools.partial({name}, {first}={function.args[0]!r:.40})."
            )
        return inner, {**bound, **function.keywords}
    called = getattr_static(type(function), "__call__", None)
    if isinstance(called, types.FunctionType) and not isinstance(find_function(function), types.FunctionType):
        return types.MethodType(called, function), {}
    return function, {}


def find_function(member: object) -> object:
    """Return the plain function behind decorators, a method, a property or a term; anything else as it is."""
    while True:
        member = unwrap(member)
        if isinstance(member, ReadFunction) and member.source is not None:
            return member.source.function
        if isinstance(member, property):
            inner: object = member.fget
        elif isinstance(member, functools.cached_property):
            inner = member.func
        elif isinstance(member, types.MethodType | staticmethod | classmethod):
            inner = member.__func__
        else:
            return member
        member = inner


def find_owner(function: types.FunctionType, receiver: object = None) -> Owner | None:
    """Return the class that a function is a method of, None if none is seen; `receiver` is what it was taken from."""
    if receiver is not None:
        kind = receiver if isinstance(receiver, type) else type(receiver)
        return Owner(kind, function.__name__, receiver)
    *path, name = function.__qualname__.split(".")
    found: object = function.__globals__.get(path[0]) if path else None
    for part in path[1:]:
        found = getattr_static(found, part, None)
    member = vars(found).get(name) if isinstance(found, type) else None
    if not isinstance(found, type) or isinstance(member, staticmethod | classmethod):
        return None
    return Owner(found, name) if find_function(member) is function else None


def find_member(owner: Owner, name: str) -> object:
    """Return what a class has under a name, as it stands there; MISSING where it has nothing of its own."""
    if (
        owner.receiver is not None
        and name in getattr(owner.receiver, "__dict__", {})
        and owner.receiver is not owner.kind
    ):
        return MISSING  # the object has a value of its own
    return _find_raw(owner.kind, name)


def has_setter(owner: Owner | None, name: str) -> bool:
    """Return whether a class runs something where one of its objects is given a value under a name."""
    return owner is not None and hasattr(type(_find_raw(owner.kind, name)), "__set__")


def find_rival(owner: Owner, name: str) -> type | None:
    """Return a subclass that inherits the method but has something else under a name; None if the class is certain."""
    if owner.receiver is not None:
        return None
    own, method = _find_raw(owner.kind, name), _find_raw(owner.kind, owner.method)
    for kind in _list_subclasses(owner.kind):
        if _find_raw(kind, owner.method) is method and _find_raw(kind, name) is not own and _is_current(kind):
            return kind
    return None


def find_next(owner: Owner, kind: type, name: str) -> tuple[object, type | None]:
    """Return what `super().name` is in a method of `kind`, and a subclass in which it is something else, if any."""
    found = _find_behind(owner.kind, kind, name)
    if owner.receiver is None:
        method = _find_raw(owner.kind, owner.method)
        for each in _list_subclasses(owner.kind):
            if _find_raw(each, owner.method) is method and _find_behind(each, kind, name) is not found:
                return found, each
    return found, None


def _find_behind(kind: type, before: type, name: str) -> object:
    """Return what the classes have under a name that come behind another one in the order of a class."""
    order = kind.__mro__
    behind = order[order.index(before) + 1 : -1] if before in order else ()
    return next((vars(each)[name] for each in behind if name in vars(each)), MISSING)


def find_setter(owner: Owner, name: str) -> str:
    """Return which function of a class may give its objects another value under a name; an empty string if none."""
    kinds = [*owner.kind.__mro__, *_list_subclasses(owner.kind)]
    for kind in kinds:
        if dataclasses.is_dataclass(kind) and name in kind.__dataclass_fields__:
            return f"{kind.__qualname__}.__init__"
        for function, names in _list_stores(kind).items():
            if name in names or "*" in names:
                return f"{kind.__qualname__}.{function}"
    return ""


def mentions(kind: type, name: str) -> bool:
    """Return whether a function of a class has an attribute of this name in it."""
    for each in kind.__mro__:
        for function in map(find_function, vars(each).values()):
            if isinstance(function, types.FunctionType) and name in function.__code__.co_names:
                return True
    return False


def find_part(value: object, part: str) -> object:
    """Return an attribute, or the entry of a dict or list, by its name; MISSING where there is none."""
    if isinstance(value, Mapping):
        return value.get(part, MISSING)
    if isinstance(value, list | tuple) and part.isdigit():
        return value[int(part)] if int(part) < len(value) else MISSING
    found = getattr_static(value, part, MISSING)
    return MISSING if hasattr(type(found), "__get__") else found


def _find_raw(kind: type, name: str) -> object:
    return next((vars(each)[name] for each in kind.__mro__ if each is not object and name in vars(each)), MISSING)


def _list_subclasses(kind: type) -> Iterator[type]:
    each: type
    for each in kind.__subclasses__():
        yield each
        yield from _list_subclasses(each)


def _is_current(kind: type) -> bool:
    """Return whether a class is still what its name says, and not an earlier version that a notebook ran."""
    found: object = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        if part == "<locals>" or found is None:
            return True
        found = getattr_static(found, part, None)
    return found is kind


@lru_cache(maxsize=256)
def _list_stores(kind: type) -> Mapping[str, frozenset[str]]:
    """Return which attributes each function of a class assigns; "*" where that cannot be seen."""
    found = {}
    for name, member in vars(kind).items():
        setters: list[object] = [member.fset, member.fdel] if isinstance(member, property) else []
        for function in map(find_function, (member, *setters)):
            if isinstance(function, types.FunctionType) and (names := _list_assigned(function)):
                found[name] = names
    return found


def _list_assigned(function: types.FunctionType) -> frozenset[str]:
    waiting, names = [function.__code__], set[str]()
    while waiting:
        code = waiting.pop()
        waiting += [each for each in code.co_consts if isinstance(each, types.CodeType)]
        if not is_installed(function) and not {"setattr", "__dict__", "__setattr__", "vars"}.isdisjoint(code.co_names):
            names.add("*")
        steps = dis.get_instructions(code)
        names |= {str(step.argval) for step in steps if step.opname in ("STORE_ATTR", "DELETE_ATTR")}
    return frozenset(names)
