"""Systems by name: the reward of each, its versions, a small episode, and its commands."""

from plaudit.plugins.registry import BUILT_IN, System, find_system, list_systems, load, system

__all__ = ["BUILT_IN", "System", "find_system", "list_systems", "load", "system"]
