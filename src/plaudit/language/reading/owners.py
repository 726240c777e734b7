"""Whose method a function is, and what else its class has: methods, properties, constants."""

import ast
import dataclasses
import dis
import functools
import math
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from inspect import getattr_static, ismemberdescriptor
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
    found, name = find_class(function), function.__name__
    if found is None or isinstance(vars(found).get(name), staticmethod | classmethod):
        return None
    return Owner(found, name)


def find_class(function: types.FunctionType) -> type | None:
    """Return the class that has a function among its own, also one that a function made; None where none is found."""
    *path, name = function.__qualname__.split(".")
    if not path or path[-1] == "<locals>":
        return None
    found: object = function.__globals__.get(path[0])
    for part in path[1:]:
        found = getattr_static(found, part, None)
    if isinstance(found, type) and find_function(vars(found).get(name)) is function:
        return found
    return _search_class(function, ".".join(path))


def find_lost_class(function: types.FunctionType) -> str:
    """Return the name of the class that a function is a method of, where it is not found; otherwise an empty string."""
    *path, _ = function.__qualname__.split(".")
    return path[-1] if path and path[-1] != "<locals>" and find_class(function) is None else ""


def _search_class(function: types.FunctionType, name: str) -> type | None:
    """Return the class of this name, of all there are, that has a function among its own."""
    waiting: list[type] = [object]
    seen = set[type]()
    kind: type
    while waiting:
        for kind in type.__subclasses__(waiting.pop()):
            if kind in seen:
                continue
            seen.add(kind)
            waiting.append(kind)
            if kind.__qualname__ == name and find_function(vars(kind).get(function.__name__)) is function:
                return kind
    return None


def find_member(owner: Owner, name: str) -> object:
    """Return what a class has under a name, as it stands there; MISSING where it has nothing of its own."""
    if (
        owner.receiver is not None
        and name in getattr(owner.receiver, "__dict__", {})
        and owner.receiver is not owner.kind
    ):
        return MISSING  # the object has a value of its own
    if has_special(owner, "__getattribute__"):
        return MISSING  # whatever that gives
    return _find_raw(owner.kind, name)


def has_setter(owner: Owner | None, name: str) -> bool:
    """Return whether a class runs something where one of its objects is given a value under a name."""
    if owner is None:
        return False
    return hasattr(type(_find_raw(owner.kind, name)), "__set__") or has_special(owner, "__setattr__")


def has_special(owner: Owner | None, *names: str) -> bool:
    """Return whether a class has one of some special methods that its author wrote."""
    found = () if owner is None else [find_function(_find_raw(owner.kind, name)) for name in names]
    return any(isinstance(each, types.FunctionType) and not is_installed(each) for each in found)


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


def find_setter(owner: Owner, name: str, *, seen: bool = False) -> str:
    """Return which function of a class may give its objects another value under a name; an empty string if none.

    If it must be `seen`, what may set anything, such as `vars(self)`, does not count.
    """
    kinds = [*owner.kind.__mro__, *_list_subclasses(owner.kind)]
    for kind in kinds:
        if dataclasses.is_dataclass(kind) and name in kind.__dataclass_fields__:
            return f"{kind.__qualname__}.__init__"
        for function, names in _list_stores(kind).items():
            if name in names or ("*" in names and not seen):
                return f"{kind.__qualname__}.{function}"
    return ""


def list_held(owner: Owner, source: Source) -> dict[str, object]:
    """Return the numbers, strings and lists that an object holds, that the method reads, and that only `__init__` sets.

    The method may read them through other methods of its class.
    """
    held = {} if isinstance(owner.receiver, type) else getattr(owner.receiver, "__dict__", {})
    known = {name: value for name, value in held.items() if _is_short(value) and _is_set_once(owner.kind, name)}
    found: set[str] = set()
    waiting, seen = [owner.method] if known else [], set[str]()
    while waiting:
        seen.add(name := waiting.pop())
        function = find_function(_find_raw(owner.kind, name))
        if not isinstance(function, types.FunctionType):
            continue
        with suppress(ReadError):
            tree = source.find_helper(function).tree
            receiver = next((each.arg for each in tree.args.args), "")
            read = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
            names = {node.attr for node in read if isinstance(node.value, ast.Name) and node.value.id == receiver}
            found |= names
            waiting += [each for each in names if each not in seen]
    return {name: value for name, value in known.items() if name in found}


def _is_short(value: object) -> bool:
    """Return whether a value can be written down in a few words."""
    if isinstance(value, list | tuple):
        return len(repr(value)) <= _LONGEST and all(map(_is_short, value))
    finite = not isinstance(value, float) or math.isfinite(value)
    return type(value) in (bool, int, float, str, types.NoneType) and finite and len(repr(value)) <= _LONGEST


_LONGEST = 60


def _is_set_once(kind: type, name: str) -> bool:
    """Return whether no function of a class but `__init__` gives its objects a value under a name."""
    stores = [(function, names) for each in kind.__mro__ for function, names in _list_stores(each).items()]
    return not any(name in names or "*" in names for function, names in stores if function != "__init__")


def has_member(owner: Owner, name: str) -> bool | None:
    """Return whether every object of a class has an attribute; None where that is not known."""
    member = _find_raw(owner.kind, name)
    if has_special(owner, "__getattribute__"):
        return None
    if member is not MISSING:
        return None if isinstance(member, property | functools.cached_property) or ismemberdescriptor(member) else True
    if name in getattr(owner.receiver, "__dict__", {}):
        return None if find_setter(owner, f"del {name}") else True
    named = any(name in vars(each).get("__annotations__", {}) for each in owner.kind.__mro__)
    if (
        named
        or _find_raw(owner.kind, "__getattr__") is not MISSING
        or find_rival(owner, name) is not None
        or find_setter(owner, name)
    ):
        return None
    return None if owner.receiver is None and mentions(owner.kind, name) else False


def has_method(owner: Owner, name: str) -> bool:
    """Return whether every object of a class has the same method under a name."""
    known = isinstance(find_function(find_member(owner, name)), types.FunctionType)
    is_property = isinstance(find_member(owner, name), property | functools.cached_property)
    return known and not is_property and find_rival(owner, name) is None and not find_setter(owner, name, seen=True)


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
    """Return which attributes each function of a class assigns, `del x` of those it deletes; "*" for any."""
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
        for step in steps:
            if step.opname in ("STORE_ATTR", "DELETE_ATTR"):
                names |= {str(step.argval)} | ({f"del {step.argval}"} if step.opname == "DELETE_ATTR" else set())
    return frozenset(names)
