"""Where a Program runs: one module a target, each with one table from node to spelling."""

import importlib
from collections.abc import Callable
from typing import Any, Literal, cast, get_args

from plaudit.errors import MissingExtra, TargetError, did_you_mean
from plaudit.language.program import Program
from plaudit.targets.compiled import About, Scores
from plaudit.targets.registry import describe_registered, find_registered, list_options

Target = Literal["python", "numba", "numpy", "jax", "torch", "sql", "polars", "c", "javascript"]
OnBad = Literal["raise", "mask", "clip"]
"""What is done about a row that cannot be scored: an error, no reward, or its numbers clipped to their ranges."""

_CLASSES = {
    "python": "PythonReward",
    "numba": "NumbaReward",
    "numpy": "NumpyReward",
    "jax": "JaxReward",
    "torch": "TorchReward",
    "sql": "SqlReward",
    "polars": "PolarsReward",
    "c": "CReward",
    "javascript": "JavaScriptReward",
}
EXTRAS = {"numba": "fast", "jax": "jax", "torch": "torch", "sql": "data", "polars": "polars"}
"""What is installed with plaudit for a target: `plaudit[fast]`."""

__all__ = ["About", "OnBad", "Scores", "Target", "compile_program", "find_target"]


def compile_program(
    program: Program, target: str, *, on_bad: str = "raise", about: Callable[[], About] | None = None, **options: Any
) -> Any:
    """Return `program` compiled for `target`: a callable from inputs to `Scores`, or text for some."""
    kind = find_target(target)
    if on_bad not in get_args(OnBad):
        raise TargetError(f"on_bad={on_bad!r} is not one of {', '.join(get_args(OnBad))}.")
    if not isinstance(options.get("guard", True), bool):
        raise TargetError(f"guard={options['guard']!r} is not one of True, False, 'facts'.")
    named, takes_any = list_options(kind)
    known = [name for name in named if name != "about"]
    for name in options:
        if name not in known and not takes_any:
            near = did_you_mean(name, known)
            raise TargetError(f"the target {target!r} has no option {name!r}.{near} Its options: {', '.join(known)}.")
    if "about" in named and about is not None:
        options["about"] = about()
    return kind(program, on_bad=on_bad, **options)


def find_target(name: str) -> Callable[..., Any]:
    """Import the target called `name`, of plaudit or of a package that registers it.

    Raises:
        TargetError: There is none, two packages register it, or it cannot be used.
        MissingExtra: It needs a package that is not installed.
    """
    if name not in _CLASSES:
        found = find_registered(name)
        if found is None:
            raise _explain_unknown(name)
        return found
    try:
        module = importlib.import_module(f"plaudit.targets.{name}")
    except ModuleNotFoundError as error:
        extra = EXTRAS.get(name)
        if extra is None or (error.name or "").startswith("plaudit"):
            raise
        raise MissingExtra(
            f"the target {name!r} needs {error.name}. Install it: pip install 'plaudit[{extra}]'"
        ) from None
    return cast(Callable[..., Any], getattr(module, _CLASSES[name]))


def _explain_unknown(name: str) -> TargetError:
    others, left_out = describe_registered(_CLASSES)
    known = [*_CLASSES, *others]
    said = f"there is no target {name!r}.{did_you_mean(name, known)} Targets: {', '.join(known)}."
    return TargetError(" ".join([said, *(f"Left out: {problem}" for problem in left_out)]))
