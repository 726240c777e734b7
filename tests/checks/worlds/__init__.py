"""Small simulators, each with a task, a sound reward and a flawed one, written without knowledge of the rules."""

import importlib
import pkgutil

from checks.worlds.world import World

WORLDS: tuple[World, ...] = tuple(
    importlib.import_module(f"{__name__}.{module.name}").WORLD
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name)
    if module.name != "world"
)

__all__ = ["WORLDS", "World"]
