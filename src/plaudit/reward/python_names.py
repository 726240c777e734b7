"""The names of a text of Python: what each stands for, where it is imported from; and values as such text."""

import ast
import builtins
import dataclasses
import sys
import types
from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import chain, count
from pathlib import Path
from typing import Any

from plaudit.errors import shorten
from plaudit.language.parameters import is_array
from plaudit.language.reading.owners import MISSING, find_function
from plaudit.language.reading.source import Owner, Source
from plaudit.language.schedule import Schedule, cosine, exponential, linear, piecewise
from plaudit.reward.function_parameters import is_same
from plaudit.reward.task.text import OURS, WIDTH, write_value

_SCHEDULES = (cosine, exponential, linear, piecewise)


class Names:
    """The names of a text: what each stands for, where it is imported from, and what cannot be."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}
        self.problems: list[str] = []
        self.ours: set[str] = {"Field", "Reward"}
        self._imports: dict[str, dict[str, str]] = {}
        self._taken = {*dir(builtins), *OURS, *(each.__name__ for each in _SCHEDULES), "np", "reward", "task"}

    def reserve(self, text: str) -> None:
        """Keep the names that a text defines or uses for other things."""
        nodes = list(ast.walk(ast.parse(text)))
        self._taken |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        self._taken |= {node.id for node in nodes if isinstance(node, ast.Name)}

    def add(self, module: str, name: str, value: object) -> str:
        """Return what the text calls `name` of a module: another name where it has that already."""
        others = (f"{name}_{number}" for number in count(2))
        free = (each for each in chain([name], others) if self._is_free(each, value))
        each = name if value in _SCHEDULES else next(free)
        self.values[each] = value
        self._imports.setdefault(module, {})[each] = name
        return each

    def _is_free(self, name: str, value: object) -> bool:
        return name not in self._taken and self.values.get(name, value) is value

    def list_imports(self) -> Iterator[str]:
        """Yield the imports of what was added."""
        for module, known in sorted(self._imports.items()):
            parts = [name if name == each else f"{name} as {each}" for each, name in sorted(known.items())]
            written, lines = ", ".join(parts), [f"    {part}," for part in parts]
            if (place := _find_module(module)) is None:
                yield f"# of the notebook where this runs: {', '.join(sorted(known.values()))}"
                yield from (f"{each} = {name}" for each, name in sorted(known.items()) if each != name)
            else:
                whole = f"from {place} import {written}"
                yield whole if len(whole) <= WIDTH else "\n".join([f"from {place} import (", *lines, ")"])

    def find(self, value: Any) -> str | None:
        """Return how the text names a function, a method or a class; None where it cannot be imported."""
        first, *path = value.__qualname__.split(".")
        root = found = getattr(sys.modules.get(value.__module__), first, None)
        for part in path:
            found = getattr(found, part, None)
        if root is None or find_function(found) is not value:
            return None
        return ".".join([self.add(value.__module__, first, root), *path])

    def refer(self, what: str, source: Source | None) -> str:
        """Return how the text names the function that a part of a reward was read from."""
        if source is None:
            self.problems.append(f"{what}: it was loaded from a specification, and has no function")
            return "..."
        owner, function = source.owner, source.function
        name = None
        if owner is None or owner.receiver is None:
            name = self.find(function)
        elif isinstance(owner.receiver, type):
            name = self.find(owner.receiver)
        else:
            name = self._refer_object(owner.receiver, function)
        if name is None:
            self.problems.append(f"{what}: {_describe_place(function, owner)}")
        return f"{name}.{owner.method}" if owner is not None and owner.receiver is not None else str(name)

    def _refer_object(self, value: Any, function: types.FunctionType) -> str | None:
        """Return how the text names an object whose method is read: a name of its module, or as a dataclass is made."""
        known = next((key for key, each in function.__globals__.items() if each is value), None)
        if known is not None:
            return self.add(function.__module__, known, value)
        return self._write_object("", value) if dataclasses.is_dataclass(value) and self.find(type(value)) else None

    def resolve(self, name: str) -> Any:
        """Return what a dotted name of the text stands for; None where it stands for nothing."""
        first, *path = name.split(".")
        found = self.values.get(first)
        for part in path:
            found = getattr(found, part, None)
        return found

    def write(self, what: str, value: Any) -> str:
        """Return a value as Python; `what` it belongs to stands in messages."""
        match value:
            case Schedule():
                made = next(each for each in _SCHEDULES if each.__name__ == value.kind)
                self.add("plaudit.schedules", made.__name__, made)
                return str(value)
            case None | bool() | int() | float() | str() if not isinstance(value, Enum):
                return write_value(value)
            case slice() | range():
                return repr(value)
            case Mapping():
                return (
                    f"{{{', '.join(f'{write_value(key)}: {self.write(what, each)}' for key, each in value.items())}}}"
                )
            case list():
                return f"[{', '.join(self.write(what, each) for each in value)}]"
        if type(value) is tuple:
            return f"({', '.join(self.write(what, each) for each in value)}{',' if len(value) == 1 else ''})"
        if is_array(value):
            self.ours.add("np")
            return f"np.array({self.write(what, value.tolist())})"
        if hasattr(value, "dtype") and hasattr(value, "tolist"):
            return write_value(value)
        return self._write_object(what, value)

    def _write_object(self, what: str, value: Any) -> str:
        kind = type(value)
        if isinstance(value, Enum) and (name := self.find(kind)) is not None:
            return f"{name}.{value.name}"
        if isinstance(value, type | types.FunctionType) and (name := self.find(value)) is not None:
            return name
        if dataclasses.is_dataclass(value) and (name := self.find(kind)) is not None:
            made = {part.name: getattr(value, part.name) for part in dataclasses.fields(value) if part.init}
            usual = {part.name: _find_default(part) for part in dataclasses.fields(value)}
            return self._write_call(what, name, {key: v for key, v in made.items() if not is_same(usual[key], v)})
        if hasattr(value, "__dict__") and not callable(value) and not isinstance(value, types.ModuleType):
            simple = self.add("types", "SimpleNamespace", types.SimpleNamespace)
            return self._write_call(what, simple, vars(value))
        self.problems.append(f"{what}: {shorten(value, 60)} is a {kind.__name__}, which has no text")
        return "..."

    def _write_call(self, what: str, name: str, arguments: Mapping[str, Any]) -> str:
        return f"{name}({', '.join(f'{key}={self.write(what, value)}' for key, value in arguments.items())})"


def _find_default(part: "dataclasses.Field[Any]") -> object:
    if part.default_factory is not dataclasses.MISSING:
        return part.default_factory()
    return MISSING if part.default is dataclasses.MISSING else part.default


def _find_module(name: str) -> str | None:
    """Return what a module is imported as, also one that was run as a script; None of a notebook."""
    module = sys.modules[name]
    if name == "__main__" and module.__spec__ is not None:
        return module.__spec__.name  # python -m
    file = Path(getattr(module, "__file__", None) or "")
    if file.stem.isidentifier() and file.stem != "__init__" and file.stem != name.rpartition(".")[2]:
        return file.stem
    return None if name == "__main__" else name


def _describe_place(function: types.FunctionType, owner: Owner | None) -> str:
    if owner is not None and owner.receiver is not None and not isinstance(owner.receiver, type):
        return f"{owner.method}() is of an object that has no name in the module {function.__module__!r}"
    outer, inside, _ = function.__qualname__.rpartition(".<locals>.")
    where = f"inside {outer}()" if inside else f"not as {function.__qualname__!r} of the module {function.__module__!r}"
    return f"{function.__name__}() is defined {where}"
