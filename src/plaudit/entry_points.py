"""What other packages register with plaudit: entry points of a group, found without importing any of them."""

import importlib
from collections.abc import Iterator
from typing import Any, NamedTuple


class EntryPoint(NamedTuple):
    """Something that a package registers under a name."""

    name: str
    target: str
    """The module, as in `package.module`, or an object in it: `package.module:attribute`."""
    package: str
    """The distribution that registers it, with its version."""
    problem: str = ""
    """Why it cannot be used, where that is known beforehand."""


def read_entry_points(group: str) -> Iterator[EntryPoint]:
    """Yield what each package registers in a group; one whose metadata cannot be read is a problem of its own."""
    from importlib.metadata import distributions

    seen = set()
    for distribution in distributions():
        package = "a package"
        try:
            if group not in (distribution.read_text("entry_points.txt") or ""):
                continue
            package = f"{distribution.metadata['Name']} {distribution.metadata['Version']}"
            points = [point for point in distribution.entry_points if point.group == group]
        except Exception as error:
            yield EntryPoint(package, "", package, f"{package} cannot be read: {type(error).__name__}: {error}")
            continue
        if package not in seen:  # else it is a second copy, further down the path
            seen.add(package)
            yield from (EntryPoint(point.name, point.value, package) for point in points)


def import_target(target: str) -> Any:
    """Return the module `package.module`, or what `package.module:attribute` is."""
    module, _, attributes = target.partition(":")
    found: Any = importlib.import_module(module.strip())
    for attribute in filter(None, attributes.strip().split(".")):
        found = getattr(found, attribute)
    return found
