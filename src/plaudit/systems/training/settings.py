"""Settings of a run: checked when they are made, and read back from what was kept of them."""

import dataclasses
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from plaudit.errors import DefinitionError, did_you_mean

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Kind = TypeVar("Kind", bound=DataclassInstance)
else:
    Kind = TypeVar("Kind")


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
    def seed(self) -> int:
        """What all chance depends on."""

    @property
    def anneals(self) -> bool:
        """Whether something changes along the run, so that its length matters from the start."""

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON has them."""

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Self:
        """Return the settings that JSON has."""


SettingsT = TypeVar("SettingsT", bound=Settings)


def require_setting(holds: bool, name: str, value: object, wanted: str) -> None:
    """Raise where a setting is not what is wanted."""
    if not holds:
        raise DefinitionError(f"{name}={value!r} must be {wanted}.")


def build_settings(kind: type[Kind], given: dict[str, Any]) -> Kind:
    """Return settings of a kind from their names and values; DefinitionError where there is no such setting."""
    known = {each.name for each in dataclasses.fields(kind)}
    for name in given:
        if name not in known:
            raise DefinitionError(f"there is no setting {name!r}.{did_you_mean(name, known)}")
    return kind(**given)
