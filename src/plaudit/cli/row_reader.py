"""Rows as files write them, a line each, flat or nested, and as a reward takes them."""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from plaudit.errors import FileError, InputError, UnknownInput, WrongType, did_you_mean
from plaudit.language.field import Kind
from plaudit.ledger.dataset.cells import INFINITIES, parse_bool, parse_json_row, parse_number, shorten
from plaudit.reward.reward import Reward
from plaudit.targets.inputs import InputSlot, find_default, list_slots

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the values of flat rows with these names go; a vector is put together from several of them."""

    names: tuple[str, ...]
    records: tuple[tuple[str, tuple[tuple[str, str | tuple[str, ...]], ...]], ...]
    """For each record, or "" for none: the keys there, and the names of their values."""

    def arrange(self, row: Row) -> Row:
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


class RowLayout:
    """How a reward takes its inputs: `prev` and `curr` as records, vectors as lists, and no other names.

    >>> from plaudit.systems import load
    >>> RowLayout(load("apex")).arrange({"prev.phase": "planning", "curr": {"phase": "coding"}})
    {'prev': {'phase': 'planning'}, 'curr': {'phase': 'coding'}}
    """

    def __init__(self, reward: Reward, *, ignore_extra: bool = False) -> None:
        self.reward = reward
        self.ignore_extra = ignore_extra
        self.inputs = {place.name: place for place in list_slots(reward.program)}
        whole = {place.column: _drop_entry(place) for place in self.inputs.values()}
        self._places = {**whole, **self.inputs}
        self._records = {place.record for place in whole.values() if place.record}
        self._top = {place.key for place in whole.values() if not place.record} | self._records
        self._as_it_is = not (ignore_extra and self._records)
        self._plan = Plan((), ())

    def arrange(self, row: Row) -> Row:
        """Return a row, flat or nested, as `reward.score` takes it; an unknown or doubled name is an error."""
        if self._as_it_is and row.keys() <= self._top and self._has_records(row):
            return row
        if self._records & row.keys():
            row = self._flatten(row)
        names = tuple(row)
        if names != self._plan.names:  # rows of one file have the same names, one after the other
            self._plan = self._build_plan(names)
        return self._plan.arrange(row)

    def _has_records(self, row: Row) -> bool:
        return all(type(row.get(record)) is dict for record in self._records)

    def _build_plan(self, names: tuple[str, ...]) -> Plan:
        found: dict[str, dict[str, str | tuple[str, ...]]] = {}
        for name in names:
            place = self._places.get(name)
            if place is None:
                if self.ignore_extra:
                    continue
                raise self._explain_unknown(name)
            record = found.setdefault(place.record, {})
            vector = place.entry is not None
            entries = tuple(f"{place.column}[{i}]" for i in range(place.field.length or 0))
            if record.setdefault(place.key, entries if vector else name) != (entries if vector else name):
                raise InputError(f"{place.column!r} is given whole and by its entries.")
        return Plan(names, tuple((record, tuple(parts.items())) for record, parts in found.items()))

    def arrange_infinite(self, row: Row) -> Row:
        """Return a row with the texts "inf" and "-inf" as numbers where numbers are due."""
        changed = {}
        for name, value in self._flatten(row).items():
            place = self._places.get(name)
            changed[name] = _convert_infinities(value) if place and place.field.kind == "number" else value
        return self.arrange(changed)

    def check(self, row: Iterable[str] | Row) -> None:
        """Refuse a file whose header, or first row, has names that the reward does not read."""
        for name in self._flatten(row) if isinstance(row, dict) else row:
            if name not in self._places and not self.ignore_extra:
                raise FileError(str(self._explain_unknown(name)))

    def _flatten(self, row: Row) -> Row:
        flat: Row = {}
        for key, value in row.items():
            if key not in self._records:
                parts = {key: value}
            elif isinstance(value, dict):
                parts = {f"{key}.{name}": part for name, part in value.items()}
            else:
                given = shorten(value)
                raise WrongType(f"reward {self.reward.name!r}: {key!r} must be an object, not {given}.")
            for name in parts.keys() & flat.keys():
                raise InputError(f"reward {self.reward.name!r}: {name!r} is given twice.")
            flat |= parts
        return flat

    def _explain_unknown(self, name: str) -> UnknownInput:
        near = did_you_mean(name, self.inputs)
        comma = " Cells are separated by commas." if ";" in name or "\t" in name else ""
        return UnknownInput(
            f"reward {self.reward.name!r} does not read {shorten(name)}.{near}{comma}\n"
            f"It reads: {', '.join(self.inputs)}. Use --ignore-extra to leave out everything else."
        )


def _drop_entry(place: InputSlot) -> InputSlot:
    return InputSlot(place.column, place.record, place.key, None, place.field)


def _convert_infinities(value: Any) -> Any:
    if isinstance(value, list):
        return [_convert_infinities(entry) for entry in value]
    return INFINITIES.get(value, value) if isinstance(value, str) else value


Reader = Callable[[str], Row | None]
"""From a line to the inputs of a step; None where the line is blank."""


def build_json_reader(layout: RowLayout) -> Reader:
    """Return a reader of JSON objects, flat (`{"prev.phase": …}`) or nested (`{"prev": {"phase": …}}`)."""
    arrange = layout.arrange
    checked = False

    def read(line: str) -> Row | None:
        nonlocal checked
        if line.isspace():
            return None
        row = parse_json_row(line)
        if not checked:
            layout.check(row)
            checked = True
        return arrange(row)

    return read


def build_csv_reader(layout: RowLayout, header: str) -> Reader:
    """Return a reader of lines of cells under the columns of `header`; an empty cell is an absent value."""
    names = [name.strip() for name in _split_cells(header)]
    _check_header(layout, names)
    columns = [
        (at, name, _CONVERT[layout.inputs[name].field.kind]) for at, name in enumerate(names) if name in layout.inputs
    ]
    width = len(names)

    def read(line: str) -> Row | None:
        if line.isspace():
            return None
        cells = _split_cells(line)
        if len(cells) != width:
            raise InputError(f"the row has {_count_cells(len(cells))}, the header {width}.")
        try:
            row = {name: convert(cells[at]) for at, name, convert in columns if cells[at]}
        except ValueError:
            raise explain_refusal(cells) from None
        return layout.arrange(row)

    def explain_refusal(cells: Sequence[str]) -> InputError:
        for at, name, convert in columns:
            try:
                convert(cells[at] or "0")
            except ValueError:
                needed = "a number" if convert is parse_number else "true, false, 1 or 0"
                given = shorten(cells[at])
                return WrongType(f"reward {layout.reward.name!r}, field {name!r}: {given} is not {needed}.")
        raise AssertionError("every cell can be converted")

    return read


def _check_header(layout: RowLayout, names: Sequence[str]) -> None:
    for at, name in enumerate(names):
        if not name and not layout.ignore_extra:
            raise FileError(f"column {at + 1} of the header has no name.")
        if name and name in names[:at]:
            raise FileError(f"the header has the column {shorten(name)} twice.")
    layout.check(names)
    for name, place in layout.inputs.items():
        if name not in names and find_default(layout.reward.program, place, False) is None:
            near = did_you_mean(name, names)
            raise FileError(f"the header has no column {name!r}, which reward {layout.reward.name!r} needs.{near}")


def _split_cells(line: str) -> list[str]:
    """Return the cells of one line; a quote that is not closed ends with its line, not with the file."""
    line = line.rstrip("\r\n")
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise InputError(f"this is not a line of CSV: {error}.") from None


def _count_cells(cells: int) -> str:
    return "1 cell" if cells == 1 else f"{cells} cells"


_CONVERT: dict[Kind, Callable[[str], Any]] = {"number": parse_number, "flag": parse_bool, "category": str}
