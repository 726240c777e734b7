"""Settings of a run: checked when they are made, and read back from what was kept of them."""

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

from plaudit.errors import DefinitionError, did_you_mean

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Kind = TypeVar("Kind", bound=DataclassInstance)
else:
    Kind = TypeVar("Kind")


def need(holds: bool, name: str, value: object, wanted: str) -> None:
    """Raise where a setting is not what is wanted."""
    if not holds:
        raise DefinitionError(f"{name}={value!r}: it is {wanted}.")


def settings_from(kind: type[Kind], given: dict[str, Any]) -> Kind:
    """Return settings of a kind from their names and values; DefinitionError where there is no such setting."""
    known = {each.name for each in dataclasses.fields(kind)}
    for name in given:
        if name not in known:
            raise DefinitionError(f"there is no setting {name!r}.{did_you_mean(name, known)}")
    return kind(**given)
