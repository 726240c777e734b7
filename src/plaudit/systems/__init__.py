"""The built-in systems by name: what each rewards, its versions, and a small episode of it."""

import importlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, cast

from plaudit.errors import DefinitionError, did_you_mean
from plaudit.reward.reward import Reward

BUILT_IN: Mapping[str, str] = MappingProxyType(
    {
        "apex": "several agents that share a task and switch how they talk to one another",
        "deepthinker": "one phase of a research agent: what it gained, less what it cost",
        "roadsense": "a car that follows a convoy and hears its warnings over the radio",
        "hackmatrix": "a tactical game on a 6 × 6 board: fifteen components of one step",
    }
)
"""The systems that come with plaudit, and what each of them rewards."""


class System(Protocol):
    """What every built-in system offers."""

    @property
    def reward(self) -> Reward:
        """The reward in its default version."""

    @property
    def VERSIONS(self) -> tuple[str, ...]:  # noqa: N802 - a constant of each module
        """The labels of all versions, the default first."""

    def version(self, label: str) -> Reward:
        """Return the reward in the version called `label`."""

    def episode(self) -> Sequence[Mapping[str, Any]]:
        """Return a small episode: rows that are keyword arguments of `reward.score`."""


def system(name: str) -> System:
    """Return the built-in system called `name`; it is imported now, not before.

    >>> system("roadsense").VERSIONS[:3]
    ('R0', 'R1', 'R2')
    """
    if name not in BUILT_IN:
        near = did_you_mean(name, BUILT_IN)
        raise DefinitionError(f"there is no built-in system {name!r}, only {', '.join(BUILT_IN)}.{near}")
    return cast(System, importlib.import_module(f"plaudit.systems.{name}"))


def load(name: str, version: str | None = None) -> Reward:
    """Return the reward of the built-in system called `name`, in its default version unless another is asked for.

    >>> load("roadsense", "R8").version
    'R8'
    """
    found = system(name)
    return found.reward if version is None else found.version(version)
