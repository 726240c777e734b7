"""The fingerprint of a function: of its source, of what of yours it calls, and of the versions of libraries it uses."""

import ast
import dis
import functools
import hashlib
import importlib.metadata
import inspect
import json
import re
import sys
import sysconfig
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

_PLAIN = (str, int, float, bool, bytes, complex, type(None))
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial, type)


def compute_fingerprint(function: Callable[..., Any], **about: Any) -> str:
    """Return the SHA-256 of what decides the results of a function, and of what else is said about it.

    Comments, docstrings, decorators and formatting do not change it. A function of yours that it calls does, in any
    module, and so does a constant that it reads; of a library, the version does.
    """
    described = _Description().describe(function)
    text = json.dumps([described, _Description().describe(about)], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _Description:
    """Describes a value as JSON; a function once, however many call it."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}

    def describe(self, value: Any) -> Any:
        if isinstance(value, _PLAIN):
            return repr(value)
        if isinstance(value, list | tuple):
            return [self.describe(each) for each in value]
        if isinstance(value, set | frozenset):
            return sorted(json.dumps(self.describe(each)) for each in value)
        if isinstance(value, Mapping):
            return [[self.describe(name), self.describe(each)] for name, each in value.items()]
        if isinstance(fingerprint := getattr(value, "fingerprint", None), str):  # another feature, or a reward
            return ["fingerprint", fingerprint]
        if isinstance(value, re.Pattern):
            return ["pattern", repr(value.pattern), value.flags]
        if isinstance(value, functools.partial):
            return ["partial", self.describe(value.func), self.describe(value.args), self.describe(value.keywords)]
        if isinstance(value, types.MethodType):
            return ["method", self.describe(value.__func__), self._describe_object(value.__self__)]
        if isinstance(value, types.ModuleType):
            return ["module", _name_library(value.__name__) or value.__name__]
        if isinstance(value, types.FunctionType | type):
            return self._describe_code(value)
        return self._describe_object(value)

    def _describe_object(self, value: Any) -> Any:
        """Return the class of an object and its plain attributes; what else it holds has no say."""
        if isinstance(value, type):
            return self.describe(value)
        kept = {name: each for name, each in getattr(value, "__dict__", {}).items() if isinstance(each, _PLAIN)}
        return ["object", self.describe(type(value)), self.describe(kept)]

    def _describe_code(self, value: Any) -> Any:
        if id(value) in self._seen:
            return ["again", self._seen[id(value)]]
        self._seen[id(value)] = len(self._seen)
        function = inspect.unwrap(value) if isinstance(value, types.FunctionType) else value
        module = getattr(function, "__module__", None) or ""
        if (library := _name_library(module)) is not None:
            return ["library", library, f"{module}.{getattr(function, '__qualname__', '')}"]
        return ["source", _read_code(function), [[name, self.describe(each)] for name, each in _list_reads(function)]]


def _read_code(function: Any) -> str:
    """Return the code of a function or a class without what has no meaning; of one without source, its bytecode."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # typed into a shell, or a lambda in the middle of an expression
        code = getattr(function, "__code__", None)
        return repr(function) if code is None else f"{sys.implementation.cache_tag} {_list_code(code)}"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            node.decorator_list = []
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def _list_code(code: types.CodeType) -> list[Any]:
    constants = [_list_code(each) if isinstance(each, types.CodeType) else repr(each) for each in code.co_consts]
    return [code.co_code.hex(), code.co_names, code.co_varnames, constants]


def _list_reads(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function, or the functions of a class, read from around them, in a fixed order."""
    if isinstance(function, type):
        for name, each in sorted(vars(function).items()):
            each = getattr(each, "__func__", getattr(each, "fget", each))
            if isinstance(each, types.FunctionType):
                yield name, each
        return
    found: dict[str, Any] = {}
    with suppress(ValueError):  # a variable around it that has no value yet
        found |= inspect.getclosurevars(function).nonlocals
    for code in _list_nested(function.__code__):  # comprehensions and inner functions
        found |= {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
    names = {name for code in _list_nested(function.__code__) for name in code.co_names}
    written = {each.argval for each in dis.get_instructions(function) if each.opname == "STORE_GLOBAL"}
    for name, value in sorted(found.items()):
        if name in written:  # a counter, say, which is another number every time
            continue
        if not isinstance(value, types.ModuleType) or _name_library(value.__name__) is not None:
            yield name, value
            continue
        for attribute in sorted(names):  # of a module of yours, what is read of it
            each = getattr(value, attribute, None)
            if isinstance(each, _FUNCTIONS + _PLAIN) and each is not None:
                yield f"{name}.{attribute}", each


def _list_nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _list_nested(each)


@cache
def _name_library(module: str) -> str | None:
    """Return the name and the version of the library that a module belongs to; None for your own code."""
    top = module.partition(".")[0]
    if not top or top == "__main__":
        return None
    if top in sys.stdlib_module_names:
        return "python"
    if top == "plaudit":  # what is ready-made says its own version
        return "plaudit"
    names = importlib.metadata.packages_distributions().get(top)
    place = getattr(sys.modules.get(top), "__file__", None)
    if not names or (place is not None and not _is_installed(place)):
        return None
    return f"{names[0]} {importlib.metadata.version(names[0])}"


def _is_installed(place: str) -> bool:
    """Return whether a file lies where libraries are installed: one that is installed to be edited does not."""
    roots = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    return any(Path(place).is_relative_to(root) for root in roots)
