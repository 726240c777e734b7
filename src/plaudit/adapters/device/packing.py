"""Columns side by side, one array for each dtype: a few copies to the host instead of one for each column."""

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import ShapeMismatch


class Fetched(NamedTuple):
    """Columns on the host."""

    columns: Mapping[str, NDArray[Any]]
    """A row for each step of an environment that is to be recorded."""
    places: NDArray[np.int64]
    """Where each row was: times before one another, and the environments of a time in order."""


class Copy(Protocol):
    """A copy to the host that was begun."""

    def is_ready(self) -> bool:
        """Return whether it has arrived."""
        ...

    def fetch(self) -> Fetched:
        """Wait for it and return it."""
        ...


class Packing:
    """Which columns lie in which array: the same for all calls with columns of these shapes and dtypes."""

    def __init__(self, columns: Mapping[str, Any], lead: tuple[int, ...]) -> None:
        """Find the places; `lead` is the shape of the batch.

        Raises:
            ShapeMismatch: A column is not of the batch's shape.
        """
        self.lead, self.rows = lead, prod(lead)
        self.groups: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
        """By dtype, the columns and the shape of an entry of each."""
        for name, column in sorted(columns.items()):  # as JAX passes them on
            shape = tuple(column.shape)
            if shape[: len(lead)] != lead:
                raise ShapeMismatch(f"{name} has the shape {shape}, but the environments' steps {lead}.")
            self.groups.setdefault(str(column.dtype), []).append((name, shape[len(lead) :]))

    def flatten(self, group: str, columns: Mapping[str, Any]) -> list[Any]:
        """Return the columns of a dtype with two axes each."""
        return [columns[name].reshape((self.rows, prod(shape))) for name, shape in self.groups[group]]

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return the columns out of the array of each dtype."""
        found: dict[str, NDArray[Any]] = {}
        for group, members in self.groups.items():
            array, start = arrays[group], 0
            for name, shape in members:
                width = prod(shape)
                found[name] = array[:, start : start + width].reshape((len(array), *shape))
                start += width
        return found


def check_capacity(chosen: int, capacity: int) -> None:
    """Raise ValueError where more was to be recorded than there was space for."""
    if chosen > capacity:
        raise ValueError(
            f"{chosen:,} steps of a sample were to be recorded at once, and there was space for {capacity:,}."
        )
