"""Where a Program runs: one module a target, each with one table from node to spelling."""

import importlib
import inspect
from typing import Any, Literal, get_args

from plaudit.errors import MissingExtra, TargetError, did_you_mean
from plaudit.language.program import Program
from plaudit.targets.compiled import About, Scores

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
WRITTEN = ("c", "javascript")
"""Targets whose text carries what a reward tells of itself."""
_EXTRAS = {"numba": "fast", "jax": "jax", "torch": "torch", "sql": "data", "polars": "polars"}

__all__ = ["OnBad", "Scores", "Target", "compile_program"]


def compile_program(
    program: Program, target: str, *, on_bad: str = "raise", about: About | None = None, **options: Any
) -> Any:
    """Return `program` compiled for `target`: a callable from inputs to `Scores`, or text for some."""
    if target not in _CLASSES:
        raise TargetError(
            f"there is no target {target!r}.{did_you_mean(target, _CLASSES)} Targets: {', '.join(_CLASSES)}."
        )
    if on_bad not in get_args(OnBad):
        raise TargetError(f"on_bad={on_bad!r} is not one of {', '.join(get_args(OnBad))}.")
    if not isinstance(options.get("guard", True), bool):
        raise TargetError(f"guard={options['guard']!r} is not one of True, False, 'facts'.")
    try:
        module = importlib.import_module(f"plaudit.targets.{target}")
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get(target)
        if extra is None or (error.name or "").startswith("plaudit"):
            raise
        raise MissingExtra(
            f"the target {target!r} needs {error.name}. Install it: pip install 'plaudit[{extra}]'"
        ) from None
    kind = getattr(module, _CLASSES[target])
    known = [name for name in inspect.signature(kind).parameters if name not in ("program", "about")]
    for name in options:
        if name not in known:
            near = did_you_mean(name, known)
            raise TargetError(f"the target {target!r} has no option {name!r}.{near} Its options: {', '.join(known)}.")
    if target in WRITTEN:
        options["about"] = about
    return kind(program, on_bad=on_bad, **options)
