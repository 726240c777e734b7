"""What a checkpoint says of itself, and whether a run can go on from it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from plaudit.errors import DefinitionError, FileError
from plaudit.systems.training import archive


class Settings(Protocol):
    """The settings of a run."""

    @property
    def steps(self) -> int:
        """Steps of the whole run."""

    @property
    def batch(self) -> int:
        """Steps of one update."""

    @property
    def updates(self) -> int:
        """Updates of the whole run."""

    @property
    def anneals(self) -> bool:
        """Whether something changes along the run, so that its length matters from the start."""

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON has them."""


SettingsT = TypeVar("SettingsT", bound=Settings)


@dataclass(frozen=True)
class About(Generic[SettingsT]):
    """What a checkpoint says of itself."""

    kind: str
    """`run`, which can be gone on with, or `policy`, the weights alone."""
    plaudit: str
    """The version that wrote it."""
    version: str
    """The reward that is trained on, by its label."""
    fingerprint: str
    """And by its formula."""
    update: int
    """Updates done."""
    config: SettingsT

    @property
    def steps(self) -> int:
        """Steps done, over all environments."""
        return self.update * self.config.batch

    def to_json(self, format: int = 1) -> str:
        """Return it as a text, of a checkpoint that is laid out by a format."""
        return json.dumps({"format": format, **vars(self), "config": self.config.to_dict()})


def read_about(path: Path, settings: Callable[[dict[str, Any]], SettingsT], *, format: int) -> About[SettingsT]:
    """Return what a checkpoint says of itself; FileError if it is none, is damaged, or is of another format."""
    text = archive.read_about(path)
    try:
        given = json.loads(text)
    except ValueError as error:
        raise archive.damaged(path, error) from None
    if not isinstance(given, dict) or "format" not in given:
        raise FileError(f"{path} is no checkpoint: it does not say of which format it is.")
    found = given.pop("format")
    if found != format:
        raise FileError(
            f"{path} is a checkpoint of format {found}, written by plaudit {given.get('plaudit')}; "
            f"this plaudit reads format {format}."
        )
    try:
        return About(**{**given, "config": settings(given["config"])})
    except (TypeError, LookupError, AttributeError, DefinitionError) as error:
        raise archive.damaged(path, error) from None


def check_fits(path: Path, about: About[SettingsT], wanted: About[SettingsT], *, system: str) -> None:
    """Raise where a checkpoint is not of the run of a system that is wanted, and say what differs."""
    if about.kind != wanted.kind:
        raise FileError(f"{path} holds a {about.kind}, and a {wanted.kind} is needed to go on.")
    if about.plaudit != wanted.plaudit:
        raise FileError(
            f"{path} was written by plaudit {about.plaudit}, and this is {wanted.plaudit}; "
            f"a run goes on with the version that it began with."
        )
    if (about.version, about.fingerprint) != (wanted.version, wanted.fingerprint):
        raise FileError(
            f"{path} was trained on {system}@{about.version} ({about.fingerprint[:12]}), "
            f"and not on {system}@{wanted.version} ({wanted.fingerprint[:12]})."
        )
    have, want = about.config.to_dict(), wanted.config.to_dict()
    for name in have:
        if have[name] != want[name] and not (name == "steps" and not about.config.anneals):
            hint = " Its settings change along the run, so its length is fixed." if name == "steps" else ""
            raise FileError(f"{path} was trained with {name}={have[name]!r}, and not {want[name]!r}.{hint}")
    if wanted.config.updates < about.update:
        raise DefinitionError(f"{path} has {about.steps:,} steps already, and {wanted.config.steps:,} were asked for.")
