"""Targets: the places where a Program runs. One module each, with one table from node to spelling."""

import importlib
from collections.abc import Callable
from typing import Any, Literal, cast, get_args

from plaudit.errors import MissingExtra, TargetError, did_you_mean
from plaudit.language.program import Program
from plaudit.targets.compiled import About, Scores
from plaudit.targets.registry import describe_registered, find_registered, list_options

Target = Literal["python", "numba", "numpy", "jax", "torch", "sql", "polars", "c", "cuda", "javascript"]
"""The names of the built-in targets, for `reward.compile`."""
OnBad = Literal["raise", "mask", "clip"]
"""How to treat a row that cannot be scored: raise an error, give no reward, or clip its numbers to their ranges."""

_CLASSES = {
    "python": "PythonReward",
    "numba": "NumbaReward",
    "numpy": "NumpyReward",
    "jax": "JaxReward",
    "torch": "TorchReward",
    "sql": "SqlReward",
    "polars": "PolarsReward",
    "c": "CReward",
    "cuda": "CudaReward",
    "javascript": "JavaScriptReward",
}
PLAIN = ("numpy", "jax", "torch")
"""The targets that take `guard="plain"`."""
EXTRAS = {"numba": "fast", "jax": "jax", "torch": "torch", "sql": "data", "polars": "polars"}
"""The extra of plaudit that a target needs: `plaudit[fast]`."""

__all__ = ["About", "OnBad", "Scores", "Target", "compile_program", "find_target"]


def compile_program(
    program: Program, target: str, *, on_bad: str = "raise", about: Callable[[], About] | None = None, **options: Any
) -> Any:
    """Compile a Program for a target.

    `reward.compile(target)` calls this with the Program of the reward.

    Args:
        program: The Program: `reward.program`.
        target: The name of a target of plaudit, or of one that an installed package registers.
        on_bad: How to treat a row that cannot be scored: "raise", "mask" or "clip".
        about: Returns the name, version and docstrings of the reward, for targets that write them into text.
        **options: Options of the target, such as `guard` or `dtype`.

    Returns:
        A callable from inputs to `Scores`, or an object that holds text or expressions.

    Raises:
        TargetError: The target or the option is unknown, or the target cannot express the Program.
        MissingExtra: The target needs a package that is not installed.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> score = compile_program(reaching.program, "numpy", on_bad="mask")
    >>> score({"distance": [1.0, 3.0]}).total
    array([1., 0.])
    """
    kind = find_target(target)
    if on_bad not in get_args(OnBad):
        raise TargetError(f"on_bad={on_bad!r} is not one of {', '.join(get_args(OnBad))}.")
    guard = options.get("guard", True)
    if not isinstance(guard, bool) and guard != "plain":
        raise TargetError(f"guard={guard!r} is not one of True, False, 'facts', 'plain'.")
    if guard == "plain" and target not in PLAIN:
        raise TargetError(f"guard='plain' is for the targets {', '.join(PLAIN)}, and not for {target!r}. Leave it out.")
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
    """Import a target by its name.

    Args:
        name: A target of plaudit, or one that an installed package registers.

    Returns:
        The class or function that compiles a Program for the target.

    Raises:
        TargetError: The name is unknown, two packages register it, or the target cannot be used.
        MissingExtra: The target needs a package that is not installed.

    >>> find_target("numpy").__name__
    'NumpyReward'
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
