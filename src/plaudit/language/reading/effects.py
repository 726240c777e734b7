"""Which calls only print, log or warn, and which expressions change nothing when they run."""

import ast
import types
from collections.abc import Callable, Iterator
from inspect import getattr_static

from plaudit.language.reading.advice import FOREIGN, find_whole_name

Find = Callable[[str], object]
"""Returns what a name stands for; raises KeyError where that is not known."""

_REPORTING_PACKAGES = {
    "absl", "clearml", "comet_ml", "logging", "loguru", "mlflow", "neptune", "pprint", "rich", "structlog",
    "tensorboard", "tensorboardX", "tqdm", "trackio", "wandb", "warnings",
}  # fmt: skip
"""Packages whose functions, and whose objects' methods, only tell people something."""

_REPORTING_FUNCTIONS = ("print", "pprint.pprint", "jax._src.debugging.debug_print", "jax._src.debugging.debug_callback")

_REPORTING_METHODS = {
    "debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log", "print", "trace",
    "log_dict", "log_metric", "log_metrics", "log_scalar", "log_value", "record_mean", "add_scalar",
    "add_scalars", "add_histogram", "add_text", "add_image", "add_figure", "add_video",
}  # fmt: skip
"""Methods that only tell people something, of an object that is not known while reading: `self.logger.info(...)`."""

_HARMLESS_BUILTINS = {
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "format", "getattr", "hasattr", "hash",
    "id", "int", "isinstance", "len", "list", "max", "min", "range", "repr", "reversed", "round", "set", "sorted",
    "str", "sum", "tuple", "type", "zip",
}  # fmt: skip
_HARMLESS_MODULES = ("copy", "math", "time", "datetime", "statistics")
_HARMLESS_METHODS = {
    "abs", "all", "amax", "amin", "any", "argmax", "argmin", "astype", "bool", "copy", "clone", "cpu", "count",
    "detach", "dim", "exp", "flatten", "float", "format", "get", "int", "item", "items", "join", "keys", "log", "long",
    "lower", "max", "mean", "median", "min", "norm", "numel", "numpy", "prod", "reshape", "round", "size", "sqrt",
    "square", "squeeze", "std", "strip", "sum", "title", "to", "tolist", "unsqueeze", "upper", "values", "var",
    "view",
}  # fmt: skip
"""Methods that return something new and leave alone what they belong to."""

FILLING = {
    "add", "append", "appendleft", "clear", "extend", "insert", "pop", "popleft", "push", "put", "setdefault", "update",
}  # fmt: skip
"""Methods that change what a list, set, dict or queue holds."""

SPECIAL = {"__delattr__", "__delitem__", "__init__", "__setattr__", "__setitem__", "__setstate__"}
"""Methods that change what they belong to, and that every object may have."""

_CHANGING = {
    "at", "copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask", "setflags", "shuffle",
}  # fmt: skip
"""Functions of NumPy that change what they are given."""


def is_reporting(call: ast.Call, find: Find) -> bool:
    """Return whether a call only prints, logs or warns: what it returns, and whether it runs, makes no difference."""
    called = resolve(call.func, find)
    if called is not None and find_whole_name(called) in _REPORTING_FUNCTIONS:
        return True
    if called is not None and _name_package(called) in _REPORTING_PACKAGES:
        return True
    if not isinstance(call.func, ast.Attribute):
        return False
    owner = resolve(call.func.value, find)
    if owner is not None and _name_package(owner) in _REPORTING_PACKAGES:
        return True
    if isinstance(owner, types.ModuleType | type):
        return False
    return call.func.attr in _REPORTING_METHODS


def is_harmless(node: ast.AST, find: Find) -> bool:
    """Return whether an expression changes nothing when it runs: no assignment, no call of what may change a value."""
    return next(list_changes(node, find), None) is None


def list_changes(node: ast.AST, find: Find) -> Iterator[ast.AST]:
    """Yield what may change something in an expression: assignments, and calls of what is not known to be harmless."""
    for each in ast.walk(node):
        if changes_something(each, find):
            yield each


def changes_something(node: ast.AST, find: Find) -> bool:
    """Return whether a part of an expression, by itself, may change something."""
    if isinstance(node, ast.Call):
        return not _is_harmless_call(node, find)
    return isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom)


def _is_harmless_call(call: ast.Call, find: Find) -> bool:
    if any(keyword.arg in ("out", "inplace") for keyword in call.keywords):
        return False
    called = resolve(call.func, find)
    if called is None:
        return isinstance(call.func, ast.Attribute) and call.func.attr in _HARMLESS_METHODS
    name = str(getattr(called, "__name__", ""))
    if getattr(called, "__module__", None) == "builtins":
        return name in _HARMLESS_BUILTINS
    package = _name_package(called)
    if package in FOREIGN:
        return not name.endswith("_") and name not in _CHANGING
    return package in _HARMLESS_MODULES


def resolve(node: ast.expr, find: Find) -> object | None:
    """Return what a name, or an attribute of a module or object, stands for; None where that is not known."""
    match node:
        case ast.Name(id=name):
            try:
                return find(name)
            except KeyError:
                return None
        case ast.Attribute(value=value, attr=attr):
            owner = resolve(value, find)
            if isinstance(owner, types.ModuleType):
                return getattr(owner, attr, None)
            return None if owner is None else getattr_static(owner, attr, None)  # runs no property
    return None


def _name_package(value: object) -> str:
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0]
    return find_whole_name(value).partition(".")[0]
