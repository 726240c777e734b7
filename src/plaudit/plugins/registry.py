"""The systems that plaudit knows by name: those in the box, and those of other packages that are installed.

A system is a module with a reward, its versions, a small episode of it, and perhaps commands
(`docs/how-to/write-a-plugin.md`). A package registers one with an entry point in the group `plaudit.systems`. Those in the box go through the same registry
by a table of names; they win where two systems have the same name. Nothing is imported before it is asked for.
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
"""The commands that a system can bring: `plaudit run NAME` and so on."""
IN_THE_BOX = "built-in"
"""What stands for the package of a system that comes with plaudit."""


class System(Protocol):
    """What every system offers.

    It may also have COMMANDS, a mapping from one of KINDS to "module:attribute"; and `draw_step(record, reward)`, which
    returns a picture of the world at a recorded step as SVG, or None.
    """

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


@dataclass(frozen=True, slots=True)
class Registration:
    """A system by name, before it is imported."""

    name: str
    target: str
    """The module, as in `package.module`, or an object in it: `package.module:attribute`."""
    package: str
    """The distribution that registers it, with its version, or "built-in"."""
    about: str = ""
    """What it rewards, where that is known beforehand."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """The commands that are known beforehand."""
    problem: str = ""
    """Why it cannot be used, where that is known beforehand."""

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
        """Return what the system rewards: for a plugin, the first line of its docstring."""
        return self.about or (self.load().__doc__ or "").strip().partition("\n")[0]

    def find_commands(self) -> Mapping[str, str]:
        """Return where the commands that the system brings are; a plugin is imported to find out."""
        return self.commands if self.package == IN_THE_BOX else getattr(self.load(), "COMMANDS", {})

    def load_command(self, kind: str) -> "click.Command":
        """Import a command that the system brings; DefinitionError where it is none."""
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
        """Turn whatever a plugin raises into one error that names it; what it prints goes to stderr."""
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
"""The systems that come with plaudit, and what each of them rewards."""


def list_systems() -> list[Registration]:
    """Return every system that is registered, those in the box first; one with a `problem` is not found by its name."""
    return [*_BUILT_IN.values(), *_find_plugins()]


def find_system(name: str) -> Registration | None:
    """Return the system called `name`, or None; other packages are looked at only for a name that is not built in."""
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    return next((entry for entry in _find_plugins() if entry.name == name), None)


def system(name: str) -> System:
    """Return the system called `name`; it is imported now, not before.

    >>> system("roadsense").VERSIONS[:3]
    ('R0', 'R1', 'R2')
    """
    entry = find_system(name)
    if entry is None:
        known = [each.name for each in list_systems() if not each.problem]
        raise DefinitionError(f"there is no system {name!r}, only {', '.join(known)}.{did_you_mean(name, known)}")
    return entry.load()


def load(name: str, version: str | None = None) -> Reward:
    """Return the reward of the system called `name`, in its default version unless another is asked for.

    >>> load("roadsense", "R8").version
    'R8'
    """
    found = system(name)
    return found.reward if version is None else found.version(validate_label(name, version, found.VERSIONS))


def find_drawing(reward: str) -> Callable[[Any, Reward], Any] | None:
    """Return what draws recorded steps of a reward: `draw_step` of the system that has its name, or the start of it.

    None where there is no such system or it draws nothing; DefinitionError where it cannot be used.

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
        raise DefinitionError(f"{system} has no version {label!r}, only {', '.join(known)}.{near}")
    return label


# -- other packages ---------------------------------------------------------------------------------------------------


@cache
def _find_plugins() -> tuple[Registration, ...]:
    """Return what other packages register, by package; a name that is taken, or is none, is a problem."""
    taken = dict.fromkeys(_BUILT_IN, "plaudit")
    found = []
    for entry in sorted(read_entry_points(GROUP), key=lambda entry: (entry.package, entry.name)):
        problem = entry.problem
        if not problem and not re.fullmatch(r"[A-Za-z_][\w-]*", entry.name):
            problem = f"{entry.package} registers the system {entry.name!r}: a name is letters, digits, - and _."
        elif not problem and entry.name in taken:
            problem = (
                f"{entry.package} registers the system {entry.name!r}, a name that {taken[entry.name]} has already."
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
        raise TypeError("its `VERSIONS` are not a tuple of strings")
    for name in ("version", "episode"):
        if not callable(getattr(found, name, None)):
            raise TypeError(f"its `{name}` is not a function")
    if hasattr(found, "draw_step") and not callable(found.draw_step):
        raise TypeError("its `draw_step` is not a function")
    commands = getattr(found, "COMMANDS", {})
    if not isinstance(commands, Mapping) or not all(isinstance(target, str) for target in commands.values()):
        raise TypeError('its `COMMANDS` are not a mapping to strings such as "module:attribute"')
    for kind in commands:
        if kind not in KINDS:
            raise ValueError(f"it brings a command {kind!r}, and commands are {', '.join(KINDS)}")
