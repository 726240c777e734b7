"""Systems by name: what each rewards, its versions, a small episode of it, and the commands it brings."""

from plaudit.plugins.registry import BUILT_IN, System, find_system, list_systems, load, system

__all__ = ["BUILT_IN", "System", "find_system", "list_systems", "load", "system"]
