"""What is read of each step that is played: features or, without them, the observation, `info` and the action."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields as list_dataclass_fields
from dataclasses import is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.adapters.gymnasium.scoring import Features
from plaudit.analysis.observe.columns import OUTCOMES, build_column
from plaudit.analysis.observe.spaces import Leaf, make_name
from plaudit.analysis.observe.transitions import Column, Mask
from plaudit.errors import DefinitionError, EnvironmentFailed, PlauditError, WrongType, shorten
from plaudit.language.field import RECORDS
from plaudit.targets.inputs import read_record

_NAME = re.compile(r"(?:(?:prev|curr)\.)?[A-Za-z_][A-Za-z0-9_]*(?:\[\d+\])*")
_PAID = re.compile(r"(?:^|_)rewards?(?:_|$)")
"""Names in `info` of what the environment itself pays, which is not what happens in it."""
_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)

Where = Callable[[int], str]
"""From a row to where it was: "in step 3 of 'random' with seed 0"."""


class LeafTable:
    """Parts of observations or of actions, a row each."""

    def __init__(self, leaves: Sequence[Leaf], rows: int) -> None:
        self.leaves = leaves
        self._parts = [(leaf.read, leaf.allocate(rows)) for leaf in leaves]

    def write(self, at: int, value: Any) -> None:
        """Write a row."""
        for read, rows in self._parts:
            rows[at] = read(value)

    def split(self, rows: Any = slice(None)) -> dict[str, Column]:
        """Return a column for each field, of some rows."""
        found: dict[str, Column] = {}
        for leaf, (_, table) in zip(self.leaves, self._parts, strict=True):
            found |= leaf.split(table[rows])
        return found

    def stack(self) -> Column | None:
        """Return all entries side by side, (rows, k), or (rows,) of a single one; None where there are none."""
        columns = list(self.split().values())
        return None if not columns else columns[0] if len(columns) == 1 else np.stack(columns, 1)


class FeatureReader:
    """Reads what features give."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._columns: dict[str, list[Any]] = {}

    def begin(self, obs: Any) -> None:
        """Begin an episode."""

    def read(self, at: int, obs: Any, action: Any, next_obs: Any, info: dict[str, Any], where: Where) -> None:
        """Read a step."""
        try:
            row = _flatten(self._features(obs, action, next_obs, info))
        except PlauditError as error:
            error.add_note(f"This happened {where(at)}.")
            raise
        if at == 0:
            self._columns = {name: [] for name in row}
        elif row.keys() != self._columns.keys():
            first, now = (", ".join(names) or "nothing" for names in (self._columns, row))
            raise DefinitionError(
                f"the features return {first} in the first step and {now} {where(at)}; return the same names in every "
                "step."
            )
        for name, value in row.items():
            self._columns[name].append(value)

    def finish(self, first: Mask, where: Where) -> tuple[dict[str, Column], list[str]]:
        """Return a column for each name, and the names that have none, since some values are None."""
        return _build_columns(self._columns, where, "the features return ")


def _flatten(given: Any) -> dict[str, Any]:
    """Return what features gave with entries of `prev` and `curr` under their whole names."""
    if not isinstance(given, Mapping):
        raise WrongType(f"the features must return a mapping from names to values, not {shorten(given, 60)}.")
    flat: dict[Any, Any] = {}
    for name, value in given.items():
        if name in RECORDS:
            record = read_record(value, _list_attributes(value))
            flat |= {f"{name}.{key}": part for key, part in record.items()}
        else:
            flat[name] = value
    for name in flat:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise DefinitionError(
                f"the features return {name!r:.60}; a field name must be a plain identifier like 'distance'."
            )
    return flat


def _list_attributes(value: Any) -> Iterable[str]:
    if is_dataclass(value):
        return [field.name for field in list_dataclass_fields(value)]
    return getattr(value, "_fields", None) or [name for name in getattr(value, "__dict__", ()) if name[:1] != "_"]


class SpaceReader:
    """Reads entries of the observation, numbers and bools of `info`, and the action, each by its name."""

    def __init__(self, space: Any, leaves: Sequence[Leaf], rows: int, taken: Iterable[str]) -> None:
        self._space = space
        self._after, self._starts = LeafTable(leaves, rows), LeafTable(leaves, rows)
        self._episodes = 0
        self._taken = {*taken, *(name for leaf in leaves for name in leaf.names)}
        self._info: list[dict[Any, Any]] = []

    def begin(self, obs: Any) -> None:
        """Begin an episode."""
        self._write(self._starts, self._episodes, obs, lambda _: "after a reset")
        self._episodes += 1

    def read(self, at: int, obs: Any, action: Any, next_obs: Any, info: dict[str, Any], where: Where) -> None:
        """Read a step."""
        self._write(self._after, at, next_obs, where)
        self._info.append({name: _to_plain(value) for name, value in info.items()} if info else info)

    def _write(self, table: LeafTable, at: int, obs: Any, where: Where) -> None:
        try:
            table.write(at, obs)
        except (ValueError, TypeError, LookupError, OverflowError):
            what = f"{shorten(obs, 60)}, {where(at)}, is not in the observation space that the environment declares"
            raise EnvironmentFailed(f"{what}: {shorten(self._space, 80)}.") from None

    def finish(self, first: Mask, where: Where) -> tuple[dict[str, Column], list[str]]:
        """Return columns of both ends of each step, and names in `info` that are not there in every step."""
        columns: dict[str, Column] = {}
        starts = self._starts.split(slice(self._episodes))
        for name, after in self._after.split().items():
            before = np.concatenate((after[:1], after[:-1]))
            before[first] = starts[name]
            columns |= {f"prev.{name}": before, f"curr.{name}": after}
        given: dict[str, list[Any]] = {}
        for name in dict.fromkeys(name for row in self._info for name in row):
            values = [row.get(name) for row in self._info]
            kinds = set(map(type, values)) - {type(None)}
            if not kinds or not isinstance(name, str) or "." in name or name in OUTCOMES or _PAID.search(name):
                continue
            if kinds == {bool}:  # what is only told when it happens
                values = [bool(value) for value in values]
            elif bool in kinds:  # 0 or True
                values = [None if value is None else float(value) for value in values]
            label = make_name(name)
            given[f"info_{label}" if label in self._taken else label] = values
        told, left_out = _build_columns(given, where, "info has ")
        return {**columns, **told}, left_out


def _to_plain(value: Any) -> bool | float | None:
    """Return a number or a bool as plain Python; None for NaN, and for anything else."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if not isinstance(value, _NUMBERS) or value != value:
        return None
    try:
        return bool(value) if isinstance(value, bool | np.bool_) else float(value)
    except OverflowError:  # an integer beyond what a float holds
        return None


def _build_columns(given: Mapping[str, Sequence[Any]], where: Where, what: str) -> tuple[dict[str, Column], list[str]]:
    built = {name: build_column(name, values, where, what) for name, values in given.items()}
    return (
        {name: column for name, column in built.items() if column is not None},
        [name for name, column in built.items() if column is None],
    )


def find_action_names(columns: Mapping[str, Column], actions: NDArray[Any] | None) -> list[str]:
    """Return the columns that are the action or an entry of it in every step, where that is not always the same."""
    if actions is None:
        return []
    entries = [actions] if actions.ndim == 1 else [actions, *actions.T]
    entries = [entry for entry in entries if len(np.unique(entry, axis=0)) > 1]
    return [name for name, column in columns.items() if any(np.array_equal(column, entry) for entry in entries)]
