"""Targets of other packages, found by entry points in the group `plaudit.targets` (`docs/how-to/write-a-plugin.md`).

A target is a class, or a function, that takes a Program and, by keyword, `on_bad` and options of its own. What it
returns is a function from inputs to `Scores`, or holds text that something else runs. Nothing is imported before it is
asked for, and no package is looked at for a target that comes with plaudit.
"""

import inspect
from collections.abc import Callable, Collection
from functools import cache
from typing import Any

from plaudit.entry_points import EntryPoint, import_target, read_entry_points
from plaudit.errors import TargetError

GROUP = "plaudit.targets"
"""The group of entry points."""


@cache
def list_registered() -> tuple[EntryPoint, ...]:
    """Return what other packages register as targets, by name and package."""
    return tuple(sorted(read_entry_points(GROUP)))


def find_registered(name: str) -> Callable[..., Any] | None:
    """Import the target that another package registers under a name; None where none does.

    Raises:
        TargetError: Two packages register it, or it cannot be used; the message says which package, and why.
    """
    found = [entry for entry in list_registered() if entry.name == name and not entry.problem]
    if not found:
        return None
    if len(found) > 1:
        packages = " and ".join(entry.package for entry in found)
        raise TargetError(f"the target {name!r} is registered by {packages}. Uninstall all but one of them.")
    [entry] = found
    try:
        kind = import_target(entry.target)
        _validate_target(entry.target, kind)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise TargetError(f"the target {name!r} of {entry.package} cannot be used. {reason}") from None
    return kind  # type: ignore[no-any-return]


def describe_registered(built_in: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the names of targets that other packages register, and why others are left out."""
    entries = list_registered()
    names = [entry.name for entry in entries if not entry.problem and entry.name not in built_in]
    taken = [
        f"{entry.package} registers the target {entry.name!r}, a name that plaudit already uses."
        for entry in entries
        if entry.name in built_in
    ]
    return list(dict.fromkeys(names)), [*(entry.problem for entry in entries if entry.problem), *taken]


def list_options(kind: Callable[..., Any]) -> tuple[list[str], bool]:
    """Return the names that a target takes besides the Program, and whether it takes any others."""
    _program, *others = inspect.signature(kind).parameters.values()
    named = [each.name for each in others if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return named, any(each.kind is each.VAR_KEYWORD for each in others)


def _validate_target(target: str, kind: Any) -> None:
    """Raise where something is not what a target is."""
    if not callable(kind):
        raise TypeError(f"{target} is a {type(kind).__name__}, not a class or a function")
    if not inspect.signature(kind).parameters:
        raise TypeError(f"{target} takes no arguments; its first argument must be the Program")
    named, any_name = list_options(kind)
    if "on_bad" not in named and not any_name:
        raise TypeError(f"{target} has no keyword on_bad=, which every target takes")
