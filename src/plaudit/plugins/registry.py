"""The systems that plaudit knows by name: the built-in ones, and those of installed packages.

A system is a module with a reward, its versions, a small episode of it, and perhaps commands
(`docs/how-to/write-a-plugin.md`). A package registers one with an entry point in the group `plaudit.systems`. Built-in
systems go through the same registry; they take precedence over other systems of the same name. Systems are imported
on demand.
"""

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, cast

from plaudit.entry_points import import_target, read_entry_points
from plaudit.errors import DefinitionError, did_you_mean
from plaudit.reward.reward import Reward

if TYPE_CHECKING:
    import click

GROUP = "plaudit.systems"
"""The group of entry points."""
KINDS = ("run", "play", "train", "experiment")
"""The commands that a system can provide: `plaudit run NAME` and so on."""
IN_THE_BOX = "built-in"
"""Shown as the package of a built-in system."""


class System(Protocol):
    """The interface of a system: a module or object with a reward, its versions and a small episode.

    A system can also have COMMANDS, a mapping from "run", "play", "train" or "experiment" to "module:attribute" of a
    click command, and `draw_step(record, reward)`, which returns a picture of a recorded step as SVG, or None.
    """

    @property
    def reward(self) -> Reward:
        """The reward in its default version."""

    @property
    def VERSIONS(self) -> tuple[str, ...]:  # noqa: N802 - a constant of each module
        """The labels of all versions, the default first."""

    def version(self, label: str) -> Reward:
        """Return the reward in a version.

        Args:
            label: One of VERSIONS.

        Returns:
            The reward.
        """

    def episode(self) -> Sequence[Mapping[str, Any]]:
        """Return a small example episode.

        Returns:
            Rows of keyword arguments for `reward.score`.
        """


@dataclass(frozen=True, slots=True)
class Registration:
    """A system by name, before it is imported."""

    name: str
    target: str
    """The module, as in `package.module`, or an object in it: `package.module:attribute`."""
    package: str
    """The distribution that registers it, with its version, or "built-in"."""
    about: str = ""
    """A description, if known before importing it."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """The commands, if known before importing it."""
    problem: str = ""
    """Why it cannot be used, if known before importing it."""

    def load(self) -> System:
        """Import the system; DefinitionError says why it cannot be used."""
        if self.problem:
            raise DefinitionError(self.problem)
        if self.package == IN_THE_BOX:
            return cast(System, importlib.import_module(self.target))
        with self._explain_failure():
            found = import_target(self.target)
            _validate_system(found)
        return cast(System, found)

    def describe(self) -> str:
        """Return a description: for a plugin, the first line of its docstring."""
        return self.about or (self.load().__doc__ or "").strip().partition("\n")[0]

    def find_commands(self) -> Mapping[str, str]:
        """Return the locations of the system's commands; a plugin is imported for that."""
        return self.commands if self.package == IN_THE_BOX else getattr(self.load(), "COMMANDS", {})

    def load_command(self, kind: str) -> "click.Command":
        """Import a command of the system; DefinitionError if it is not one."""
        import click

        target = self.find_commands()[kind]
        if self.package == IN_THE_BOX:
            return cast(click.Command, import_target(target))
        with self._explain_failure():
            found = import_target(target)
            if not isinstance(found, click.Command):
                raise TypeError(f"{target} is a {type(found).__name__}, not a click.Command")
        return found

    @contextmanager
    def _explain_failure(self) -> Iterator[None]:
        """Turn exceptions of a plugin into one error that names it; redirect its output to stderr."""
        try:
            with redirect_stdout(sys.stderr):
                yield
        except (Exception, SystemExit) as error:
            reason = f"{type(error).__name__}: {error}"
            raise DefinitionError(f"the system {self.name!r} of {self.package} cannot be used. {reason}") from None


_BUILT_IN = {
    entry.name: entry
    for entry in (
        Registration(
            "apex",
            "plaudit.systems.apex",
            IN_THE_BOX,
            about="several agents that share a task and switch how they talk to one another",
            commands={"run": "plaudit.systems.apex.commands:run"},
        ),
        Registration(
            "deepthinker",
            "plaudit.systems.deepthinker",
            IN_THE_BOX,
            about="one phase of a research agent: what it gained, less what it cost",
            commands={"run": "plaudit.systems.deepthinker.commands:run"},
        ),
        Registration(
            "roadsense",
            "plaudit.systems.roadsense",
            IN_THE_BOX,
            about="a car that follows a convoy and hears its warnings over the radio",
            commands={
                "train": "plaudit.systems.roadsense.commands.train:train",
                "experiment": "plaudit.systems.roadsense.commands.experiment:experiment",
            },
        ),
        Registration(
            "hackmatrix",
            "plaudit.systems.hackmatrix",
            IN_THE_BOX,
            about="a tactical game on a 6 × 6 board: fifteen components of one step",
            commands={
                "play": "plaudit.systems.hackmatrix.commands.play:play",
                "train": "plaudit.systems.hackmatrix.commands.train:train",
            },
        ),
    )
}

BUILT_IN: Mapping[str, str] = MappingProxyType({name: entry.about for name, entry in _BUILT_IN.items()})
"""The built-in systems, with a description of each."""


def list_systems() -> list[Registration]:
    """List the registered systems, built-in ones first, without importing them.

    Returns:
        Registrations with name, package and, if the system cannot be used, the `problem`.

    >>> [each.name for each in list_systems()][:4]
    ['apex', 'deepthinker', 'roadsense', 'hackmatrix']
    """
    return [*_BUILT_IN.values(), *_find_plugins()]


def find_system(name: str) -> Registration | None:
    """Find a registered system without importing it.

    Args:
        name: The name of the system.

    Returns:
        Its registration, or None if there is no such system.

    >>> find_system("apex").package, find_system("nothing-known")
    ('built-in', None)
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    return next((entry for entry in _find_plugins() if entry.name == name), None)


def system(name: str) -> System:
    """Import a system by name.

    Args:
        name: The name of the system, such as "roadsense".

    Returns:
        The system: a module or object with `reward`, `VERSIONS`, `version` and `episode`.

    Raises:
        DefinitionError: If there is no such system, or it cannot be imported.

    >>> system("roadsense").VERSIONS[:3]
    ('R0', 'R1', 'R2')
    """
    entry = find_system(name)
    if entry is None:
        known = [each.name for each in list_systems() if not each.problem]
        raise DefinitionError(
            f"there is no system {name!r}.{did_you_mean(name, known)} Choose from: {', '.join(known)}."
        )
    return entry.load()


def load(name: str, version: str | None = None) -> Reward:
    """Load the reward of a system.

    Args:
        name: The name of the system, such as "roadsense".
        version: The label of a version; the default version if omitted.

    Returns:
        The reward.

    Raises:
        DefinitionError: If there is no such system or version.

    >>> load("roadsense", "R8").version
    'R8'
    """
    found = system(name)
    return found.reward if version is None else found.version(validate_label(name, version, found.VERSIONS))


def find_drawing(reward: str) -> Callable[[Any, Reward], Any] | None:
    """Return `draw_step` of the system whose name is the reward's name, or the start of it.

    None if there is no such system or it draws nothing; DefinitionError if it cannot be used.

    >>> find_drawing("roadsense_drive") is find_drawing("roadsense"), find_drawing("nothing_known")
    (True, None)
    """
    name = reward
    while name:
        entry = find_system(name)
        if entry is not None and not entry.problem:
            return getattr(entry.load(), "draw_step", None)
        name = name.rpartition("_")[0]
    return None


def validate_label(system: str, label: str, versions: Iterable[str]) -> str:
    """Return `label` if it is one of `versions`; DefinitionError that lists them if not.

    >>> validate_label("roadsense", "R8", ("R0", "R8"))
    'R8'
    """
    known = tuple(versions)
    if label not in known:
        near = did_you_mean(str(label), known)
        raise DefinitionError(f"{system} has no version {label!r}.{near} Choose from: {', '.join(known)}.")
    return label


# -- other packages ---------------------------------------------------------------------------------------------------


@cache
def _find_plugins() -> tuple[Registration, ...]:
    """Return the systems of other packages; a name that is taken or invalid is a problem."""
    taken = dict.fromkeys(_BUILT_IN, "plaudit")
    found = []
    for entry in sorted(read_entry_points(GROUP), key=lambda entry: (entry.package, entry.name)):
        problem = entry.problem
        if not problem and not re.fullmatch(r"[A-Za-z_][\w-]*", entry.name):
            problem = f"{entry.package} registers the system {entry.name!r}: a name can have letters, digits, - and _."
        elif not problem and entry.name in taken:
            problem = (
                f"{entry.package} registers the system {entry.name!r}, a name that {taken[entry.name]} already uses."
            )
        found.append(Registration(entry.name, entry.target, entry.package, problem=problem))
        if not problem:
            taken[entry.name] = entry.package
    return tuple(found)


def _validate_system(found: Any) -> None:
    if not isinstance(getattr(found, "reward", None), Reward):
        raise TypeError("its `reward` is not a Reward")
    versions = getattr(found, "VERSIONS", None)
    if not isinstance(versions, tuple) or not versions or not all(isinstance(label, str) for label in versions):
        raise TypeError("its `VERSIONS` is not a tuple of strings")
    for name in ("version", "episode"):
        if not callable(getattr(found, name, None)):
            raise TypeError(f"its `{name}` is not a function")
    if hasattr(found, "draw_step") and not callable(found.draw_step):
        raise TypeError("its `draw_step` is not a function")
    commands = getattr(found, "COMMANDS", {})
    if not isinstance(commands, Mapping) or not all(isinstance(target, str) for target in commands.values()):
        raise TypeError('its `COMMANDS` is not a mapping to strings such as "module:attribute"')
    for kind in commands:
        if kind not in KINDS:
            raise ValueError(f"it provides a command {kind!r}; choose from: {', '.join(KINDS)}")
