"""The fingerprint of a function: of its source, of what of yours it calls and reads, and of libraries' versions."""

import ast
import functools
import hashlib
import importlib
import importlib.metadata
import json
import operator
import re
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from plaudit.llm.source import find_changed, find_definitions, list_codes, list_imports, parse_code

_PLAIN = (str, int, float, bool, bytes, complex, type(None), type(...))
_BUILT_IN = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)
_GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
_BEGINNERS = frozenset({"__init__", "__new__", "__post_init__", "__setstate__"})
"""Methods that give attributes their first values, and do not change them later."""
Name = tuple[int, str]
"""A name in the module, or in the closure, that has this id."""


def compute_fingerprint(function: Callable[..., Any], **about: Any) -> str:
    """Return the SHA-256 of what decides the results of a function, and of what else is said about it.

    Comments, docstrings, formatting and the name of the module do not change it. A function or a class of yours that it
    uses does, in any module, and so does what it reads; of a library, the version does. What the code itself changes,
    such as a counter or a cache, and objects of libraries, such as a client, count by the statement that makes them.
    """
    first = _Description(set())
    first.describe([function, about])
    described = _Description(first.changed)
    text = json.dumps([described.describe(function), described.describe(about)], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _Description:
    """Describes a value as JSON; a function or a class once, however many use it."""

    def __init__(self, changed: set[Name]) -> None:
        self.changed = changed
        """Names whose values the described code changes."""
        self._seen: dict[int, tuple[int, Any]] = {}
        self._within: set[int] = set()
        self._defining: set[Name] = set()

    def describe(self, value: Any) -> Any:
        if type(value) in _PLAIN:
            return repr(value)
        if isinstance(value, types.FunctionType | type):
            return self._describe_code(value)
        if id(value) in self._within:
            return ["itself"]
        self._within.add(id(value))
        try:
            return self._describe_value(value)
        finally:
            self._within.discard(id(value))

    def _describe_value(self, value: Any) -> Any:
        if isinstance(fingerprint := getattr(value, "fingerprint", None), str):  # another feature, or a reward
            return ["fingerprint", fingerprint]
        if isinstance(value, Enum):
            return ["member", self.describe(type(value)), value.name]
        if isinstance(value, np.ndarray | np.generic) or callable(getattr(type(value), "__array__", None)):
            return self._describe_array(value)
        if isinstance(value, _PLAIN):  # of a class of its own
            plain: Any = next(each for each in _PLAIN if isinstance(value, each))
            return ["plain", self.describe(type(value)), plain.__repr__(value), self._describe_attributes(value)]
        if isinstance(value, list | tuple | set | frozenset | dict | types.MappingProxyType):
            return self._describe_container(value)
        if isinstance(value, re.Pattern):
            return ["pattern", repr(value.pattern), value.flags]
        if isinstance(value, functools.partial):
            return ["partial", self.describe(value.func), self.describe(value.args), self.describe(value.keywords)]
        if isinstance(value, types.MethodType):
            return ["method", self.describe(value.__func__), self.describe(value.__self__)]
        if isinstance(value, types.ModuleType):
            return ["module", _name_library(value.__name__) or "yours"]
        if isinstance(value, _BUILT_IN):
            return self._describe_built_in(value)
        if callable(wrapped := getattr(value, "__wrapped__", None)):  # as by functools.cache
            return ["wrapped", _name_class(type(value)), self.describe(wrapped)]
        if isinstance(value, staticmethod | classmethod | property | functools.cached_property):
            return self._describe_descriptor(value)
        return self._describe_object(value)

    def _describe_container(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, dict | types.MappingProxyType):
            items: Any = [[self.describe(name), self.describe(each)] for name, each in value.items()]
        elif isinstance(value, set | frozenset):
            items = sorted(json.dumps(self.describe(each)) for each in value)
        else:
            items = [self.describe(each) for each in value]
        if kind.__module__ == "builtins":
            return [kind.__name__, items]
        return ["container", self.describe(kind), items, self._describe_attributes(value)]

    def _describe_built_in(self, value: Any) -> Any:
        owner = getattr(value, "__self__", None)
        bound = [] if owner is None or isinstance(owner, types.ModuleType | type) else [self.describe(owner)]
        return ["built in", _name_library(value.__module__ or "") or "python", value.__qualname__, *bound]

    def _describe_descriptor(self, value: Any) -> Any:
        names = ("__func__", "fget", "fset", "func")
        return [type(value).__name__, *(self.describe(getattr(value, each)) for each in names if hasattr(value, each))]

    def _describe_array(self, value: Any) -> Any:
        with suppress(Exception):  # of a device, say
            array = np.asarray(value)
            if array.dtype.hasobject:
                return ["array", _name_class(type(value)), self.describe(array.tolist())]
            digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
            return ["array", _name_class(type(value)), array.dtype.str, list(array.shape), digest]
        return ["opaque", _name_class(type(value))]

    def _describe_object(self, value: Any) -> Any:
        """Return the class of an object and its attributes; of a library, what it is equal by."""
        kind = type(value)
        if _name_library(kind.__module__) is None:
            return ["object", self.describe(kind), self._describe_attributes(value)]
        own_equality = any("__eq__" in vars(each) for each in kind.__mro__[:-1])
        is_value = own_equality and not isinstance(value, Mapping)
        if is_value or isinstance(value, _GETTERS):
            with suppress(Exception):
                made = value.__reduce_ex__(4)
                parts = (
                    [made]
                    if isinstance(made, str)
                    else [*made[1:3], *([] if each is None else [*each] for each in made[3:5])]
                )
                return ["value", _name_class(kind), self.describe(parts)]
        return ["opaque", _name_class(kind)]

    def _describe_attributes(self, value: Any) -> Any:
        """Return the attributes of an object of a class of yours, but for those that its methods change."""
        found = dict(getattr(value, "__dict__", {}))
        changed = set()
        for kind in type(value).__mro__:
            if _name_library(kind.__module__) is not None:
                continue
            slots = vars(kind).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                with suppress(AttributeError):
                    found[name] = getattr(value, name)
            for name, each in vars(kind).items():
                function = _find_function(each)
                if isinstance(each, functools.cached_property):
                    changed.add(name)
                elif function is not None and name not in _BEGINNERS:
                    changed |= {other[1:] for other in find_changed(function) if other[0] == "."}
        return [[name, self.describe(found[name])] for name in sorted(found) if name not in changed]

    # -- code ---------------------------------------------------------------------------------------------------------

    def _describe_code(self, value: Any) -> Any:
        if id(value) in self._seen:
            return ["again", self._seen[id(value)][0]]
        self._seen[id(value)] = len(self._seen), value  # and kept, so that nothing else gets its id
        if isinstance(value, type):
            return self._describe_class(value)
        module = value.__globals__.get("__name__", "")
        if (library := _name_library(module)) is not None:
            wrapped = getattr(value, "__wrapped__", None)
            inner = [] if wrapped is None else [self.describe(wrapped), self.describe(getattr(value, "registry", None))]
            return ["library", library, f"{module}.{value.__code__.co_qualname}", *inner]
        defaults = [value.__defaults__, value.__kwdefaults__]
        return ["source", self._dump(value), self.describe(defaults), self._describe_reads(value)]

    def _describe_class(self, value: type) -> Any:
        if _name_library(value.__module__) is not None:
            return ["library", _name_class(value)]
        above = [each for each in (*value.__bases__, type(value)) if each not in (object, type)]
        own = []
        for name, each in sorted(vars(value).items()):
            function = _find_function(each)
            made = function is not None and function.__code__.co_filename == "<string>"  # as by dataclass
            if not made and (function is not None or not name.startswith("__")) and not _is_slot(each):
                own.append([name, self.describe(each)])
        return ["class", self._dump(value), [self.describe(each) for each in above], own]

    def _dump(self, value: Any) -> Any:
        tree = parse_code(value)
        if tree is not None:
            return ast.dump(tree)
        code = getattr(value, "__code__", None)
        return value.__qualname__ if code is None else [sys.implementation.cache_tag, self._list_code(code)]

    def _list_code(self, code: types.CodeType) -> list[Any]:
        constants = [
            self._list_code(each) if isinstance(each, types.CodeType) else self.describe(each)
            for each in code.co_consts
        ]
        return [code.co_code.hex(), code.co_names, code.co_varnames, constants]

    def _describe_reads(self, function: types.FunctionType) -> list[Any]:
        """Return what a function reads from around it, in a fixed order."""
        scope, changed = function.__globals__, find_changed(function)
        self.changed |= {(id(scope), name) for name in changed if name in scope}
        names = {name for code in list_codes(function.__code__) for name in code.co_names}
        found = []
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            with suppress(ValueError):  # a variable that has no value yet
                if name not in changed:
                    found.append([name, self.describe(cell.cell_contents)])
        for name in sorted(names & scope.keys()):
            found += self._describe_global(scope, name, names)
        for level, name in list_imports(function):
            with suppress(ImportError, ValueError):
                found += self._describe_module(_import(scope, level, name), name, names)
        return found

    def _describe_global(
        self, scope: Mapping[str, Any], name: str, names: set[str], above: tuple[types.ModuleType, ...] = ()
    ) -> Iterator[list[Any]]:
        """Yield the description of a name of a module; of a module of yours, those that are read of it."""
        value = scope[name]
        if isinstance(value, types.ModuleType):
            yield from self._describe_module(value, name, names, above)
            return
        described = None if (id(scope), name) in self.changed else self.describe(value)
        if described is None or described[0] == "opaque":
            described = [described, self._describe_definitions(scope, name)]
        yield [name, described]

    def _describe_module(
        self, module: types.ModuleType, name: str, names: set[str], above: tuple[types.ModuleType, ...] = ()
    ) -> Iterator[list[Any]]:
        if _name_library(module.__name__) is not None:
            yield [name, self.describe(module)]
        elif module not in above:
            for attribute in sorted(names & vars(module).keys()):
                for path, described in self._describe_global(vars(module), attribute, names, (*above, module)):
                    yield [f"{name}.{path}", described]

    def _describe_definitions(self, scope: Mapping[str, Any], name: str) -> list[Any]:
        """Return the statements that make a value that does not say itself what it is, and what they read."""
        if (id(scope), name) in self._defining:
            return []
        self._defining.add((id(scope), name))
        found: list[Any] = []
        for each in find_definitions(scope, name):
            if isinstance(each, ast.ImportFrom):
                alias = next(alias for alias in each.names if name in (alias.asname, alias.name))
                with suppress(ImportError, ValueError):
                    module = _import(scope, each.level, each.module or "")
                    if _name_library(module.__name__) is None:
                        found.append(self._describe_definitions(vars(module), alias.name))
                continue
            names = {node.id for node in ast.walk(each) if isinstance(node, ast.Name)} - {name}
            names |= {node.attr for node in ast.walk(each) if isinstance(node, ast.Attribute)}
            read = [self._describe_global(scope, other, names) for other in sorted(names & scope.keys())]
            found.append([ast.dump(each), [part for parts in read for part in parts]])
        return found


def _find_function(value: Any) -> types.FunctionType | None:
    """Return the function behind an entry of a class; None where there is none with code."""
    for name in ("__func__", "fget", "func", "__wrapped__"):
        value = getattr(value, name, value)
    return value if isinstance(value, types.FunctionType) else None


def _is_slot(value: Any) -> bool:
    return isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType)


def _import(scope: Mapping[str, Any], level: int, name: str) -> types.ModuleType:
    """Return the module that an import statement names: of a library not more than the library itself."""
    whole = "." * level + name
    if level == 0 and _name_library(name) is not None:
        return types.ModuleType(name)
    return importlib.import_module(whole, scope.get("__package__") if level else None)


def _name_class(kind: type) -> str:
    return f"{_name_library(kind.__module__) or 'yours'} {kind.__qualname__}"


@cache
def _name_library(module: str) -> str | None:
    """Return the name and the version of the library that a module belongs to; None for your own code."""
    top = module.partition(".")[0]
    if not top or top == "__main__":
        return None
    place = getattr(sys.modules.get(top), "__file__", None)
    if top in sys.stdlib_module_names and (place is None or Path(place).is_relative_to(sysconfig.get_path("stdlib"))):
        return "python"
    if top == "plaudit":  # what is ready-made says its own version
        return "plaudit"
    if place is not None and not _is_installed(place):
        return None
    with suppress(importlib.metadata.PackageNotFoundError):
        return f"{top} {importlib.metadata.version(top)}"
    names = _list_distributions().get(top)
    return f"{names[0]} {importlib.metadata.version(names[0])}" if names else None


@cache
def _list_distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


def _is_installed(place: str) -> bool:
    """Return whether a file lies where libraries are installed: one that is installed to be edited does not."""
    roots = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    return any(Path(place).is_relative_to(root) for root in roots)
