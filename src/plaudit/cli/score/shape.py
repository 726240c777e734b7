"""The shape of a row: flat or nested as it was written, nested as it is scored."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from plaudit.errors import FileError, InputError, UnknownInput, WrongType, did_you_mean
from plaudit.ledger.dataset.cells import INFINITIES, clipped
from plaudit.reward.reward import Reward
from plaudit.targets.rows import Place, places

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the values of flat rows with these names go; a vector is put together from several of them."""

    names: tuple[str, ...]
    records: tuple[tuple[str, tuple[tuple[str, str | tuple[str, ...]], ...]], ...]
    """For each record, or "" for none: the keys there, and the names of their values."""

    def followed(self, row: Row) -> Row:
        """Return a flat row as `reward.score` takes it."""
        arranged: Row = {}
        for record, parts in self.records:
            values = {
                key: row[name] if isinstance(name, str) else [row.get(entry) for entry in name] for key, name in parts
            }
            if record:
                arranged[record] = values
            else:
                arranged |= values
        return arranged


class Shape:
    """How a reward takes its inputs: `prev` and `curr` as records, vectors as lists, and no other names.

    >>> from plaudit.systems import load
    >>> Shape(load("apex")).arranged({"prev.phase": "planning", "curr": {"phase": "coding"}})
    {'prev': {'phase': 'planning'}, 'curr': {'phase': 'coding'}}
    """

    def __init__(self, reward: Reward, *, ignore_extra: bool = False) -> None:
        self.reward = reward
        self.ignore_extra = ignore_extra
        self.inputs = {place.name: place for place in places(reward.program)}
        whole = {place.column: _whole(place) for place in self.inputs.values()}
        self._places = {**whole, **self.inputs}
        self._records = {place.record for place in whole.values() if place.record}
        self._top = {place.key for place in whole.values() if not place.record} | self._records
        self._as_it_is = not (ignore_extra and self._records)
        self._plan = Plan((), ())

    def arranged(self, row: Row) -> Row:
        """Return a row, flat or nested, as `reward.score` takes it; an unknown or doubled name is an error."""
        if self._as_it_is and row.keys() <= self._top and self._has_records(row):
            return row
        if self._records & row.keys():
            row = self._flat(row)
        names = tuple(row)
        if names != self._plan.names:  # rows of one file have the same names, one after the other
            self._plan = self._planned(names)
        return self._plan.followed(row)

    def _has_records(self, row: Row) -> bool:
        return all(type(row.get(record)) is dict for record in self._records)

    def _planned(self, names: tuple[str, ...]) -> Plan:
        found: dict[str, dict[str, str | tuple[str, ...]]] = {}
        for name in names:
            place = self._places.get(name)
            if place is None:
                if self.ignore_extra:
                    continue
                raise self._unknown(name)
            record = found.setdefault(place.record, {})
            vector = place.entry is not None
            entries = tuple(f"{place.column}[{i}]" for i in range(place.field.length or 0))
            if record.setdefault(place.key, entries if vector else name) != (entries if vector else name):
                raise InputError(f"{place.column!r} is given whole and by its entries.")
        return Plan(names, tuple((record, tuple(parts.items())) for record, parts in found.items()))

    def infinite(self, row: Row) -> Row:
        """Return a row with the texts "inf" and "-inf" as numbers where numbers are due."""
        changed = {}
        for name, value in self._flat(row).items():
            place = self._places.get(name)
            changed[name] = _infinite(value) if place and place.field.kind == "number" else value
        return self.arranged(changed)

    def check(self, row: Iterable[str] | Row) -> None:
        """Refuse a file whose header, or first row, has names that the reward does not read."""
        for name in self._flat(row) if isinstance(row, dict) else row:
            if name not in self._places and not self.ignore_extra:
                raise FileError(str(self._unknown(name)))

    def _flat(self, row: Row) -> Row:
        flat: Row = {}
        for key, value in row.items():
            if key not in self._records:
                parts = {key: value}
            elif isinstance(value, dict):
                parts = {f"{key}.{name}": part for name, part in value.items()}
            else:
                given = clipped(value)
                raise WrongType(f"reward {self.reward.name!r}: {key!r} must be an object, not {given}.")
            for name in parts.keys() & flat.keys():
                raise InputError(f"reward {self.reward.name!r}: {name!r} is given twice.")
            flat |= parts
        return flat

    def _unknown(self, name: str) -> UnknownInput:
        near = did_you_mean(name, self.inputs)
        comma = " Cells are separated by commas." if ";" in name or "\t" in name else ""
        return UnknownInput(
            f"reward {self.reward.name!r} does not read {clipped(name)}.{near}{comma}\n"
            f"It reads: {', '.join(self.inputs)}. Use --ignore-extra to leave out everything else."
        )


def _whole(place: Place) -> Place:
    return Place(place.column, place.record, place.key, None, place.field)


def _infinite(value: Any) -> Any:
    if isinstance(value, list):
        return [_infinite(entry) for entry in value]
    return INFINITIES.get(value, value) if isinstance(value, str) else value
