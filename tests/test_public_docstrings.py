"""Every public name says what it does, what it takes, what comes back, what can go wrong, and shows it."""

import ast
import enum
import importlib
import importlib.util
import inspect
import re
import textwrap
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

PAGES = Path(__file__).parent.parent / "docs" / "reference" / "api"
SECTION = r"^\s*{}:\n"


@cache
def modules() -> list[str]:
    """Return the modules that the API reference documents: `::: plaudit.analysis` or `::: plaudit.Reward`."""
    named = [
        name for path in sorted(PAGES.glob("*.md")) for name in re.findall(r"^::: ([\w.]+)", path.read_text(), re.M)
    ]
    return sorted({"plaudit", *(name for name in named if is_module(name))})


def is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def public_names() -> Iterator[str]:
    for module in modules():
        for name in importlib.import_module(module).__all__:
            yield f"{module}.{name}"


def find(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def documented_parts(path: str) -> Iterator[tuple[str, Any]]:
    """Yield a name with what has a docstring of ours there: a function, or a class and its public methods."""
    value = find(path)
    if inspect.isfunction(value):
        yield path, value
    elif inspect.isclass(value):
        yield path, value
        for name, member in vars(value).items():
            function = getattr(member, "__func__", member)
            if (
                not name.startswith("_")
                and isinstance(function, types.FunctionType)
                and "<" not in function.__qualname__
            ):
                yield f"{path}.{name}", function


def parameters(function: Any) -> list[str]:
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls", "unknown")]
    return [name for name in names if not name.startswith("_")]


def raises(function: Any) -> bool:
    """Say whether the function itself, not what it calls, raises an error."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return False
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


def returns(function: Any) -> bool:
    annotation = str(function.__annotations__.get("return", None))
    return annotation not in ("None", "<class 'NoneType'>", "NoReturn", "typing.NoReturn")


def missing_from(path: str, value: Any) -> list[str]:
    """Return what a docstring lacks."""
    doc = inspect.getdoc(value) or ""
    lines = doc.splitlines()
    if not lines:
        return ["a docstring"]
    found = []
    if not lines[0].endswith((".", "?")) or (len(lines) > 1 and lines[1].strip()):
        found.append("a first line that is one sentence")
    if inspect.isclass(value):
        is_plain = issubclass(value, BaseException | enum.Enum) or getattr(value, "_is_protocol", False)
        if not is_plain and ">>>" not in doc and "Example:" not in doc:
            found.append("an example")
        return found
    described = re.search(SECTION.format("Args"), doc, re.M)
    undescribed = [name for name in parameters(value) if not re.search(rf"^\s+\*{{0,2}}{name}( \(.*\))?:", doc, re.M)]
    if parameters(value) and (not described or undescribed):
        found.append(f"Args: {', '.join(undescribed)}")
    if returns(value) and not re.search(SECTION.format("(Returns|Yields)"), doc, re.M):
        found.append("Returns")
    if raises(value) and not re.search(SECTION.format("Raises"), doc, re.M):
        found.append("Raises")
    if "." not in value.__qualname__ and ">>>" not in doc and "Example:" not in doc:
        found.append("an example")
    return found


@pytest.mark.parametrize("path", list(public_names()))
def test_a_public_name_is_documented(path):
    lacking = {name: missing for name, value in documented_parts(path) if (missing := missing_from(name, value))}
    assert lacking == {}
