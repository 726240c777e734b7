"""A row as the outside writes it: flat or nested, in JSON or CSV, with "inf" for infinity."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plaudit.errors import InputError, UnknownInput, UnusableFile, WrongType, did_you_mean, shorten
from plaudit.language.codec import build_object
from plaudit.language.field import LARGEST_INTEGER, RECORDS, Field
from plaudit.language.program import Program
from plaudit.language.shapes import Shape, list_entries, nest_entries
from plaudit.reward.reward import Reward
from plaudit.targets.inputs import InputSlot, list_slots

INFINITIES = {text: float(text) for text in ("inf", "-inf", "Infinity", "-Infinity")}
"""How JSON, which has no infinity, spells it."""
Row = dict[str, Any]
"""The inputs of a step as `reward.score` takes them, or flat: `{"prev.phase": …}`."""
_BOOLS = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}


def parse_number(cell: str) -> float:
    """Return the number that a cell holds; ValueError where it holds none.

    >>> parse_number("1e3"), parse_number("inf")
    (1000.0, inf)
    """
    value = float(cell)
    if "_" in cell:
        raise ValueError(cell)  # Python writes 1_000 so, and nobody else
    if abs(value) >= LARGEST_INTEGER and cell.strip().lstrip("+-").isdecimal() and abs(int(cell)) > LARGEST_INTEGER:
        return int(cell)  # the reward says that a float cannot hold it
    return value


def parse_bool(cell: str) -> bool:
    """Return the bool that a cell holds; ValueError where it holds none."""
    try:
        return _BOOLS[cell.strip().lower()]
    except KeyError:
        raise ValueError(cell) from None


def parse_json_row(line: str) -> dict[str, Any]:
    """Return the object that a line of JSON holds; InputError says why there is none."""
    try:
        row = _decode(line.rstrip("\r\n"))
    except InputError:
        raise
    except RecursionError:
        raise InputError("this is not a row: the JSON is nested too deeply.") from None
    except json.JSONDecodeError as error:
        problem = error.msg.removesuffix(" at")
        raise InputError(f"this is not JSON: {problem} (character {error.pos + 1}).") from None
    except ValueError as error:  # a whole number of thousands of digits
        raise InputError(f"this is not a row: {error}.") from None
    if not isinstance(row, dict):
        raise InputError(f"a row is a JSON object, {{…}}, and this is {shorten(row, 40)}.")
    return row


def _build_unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    return build_object(pairs, lambda name: InputError(f"{shorten(name, 40)} is given twice."))


_decode = json.JSONDecoder(object_pairs_hook=_build_unique).decode


Value = float | bool | str
FlatRow = dict[str, Value]
"""A value for each input, by its whole name: `distance`, `prev.phase`, `torque[0]`."""


def nest_row(program: Program, row: Mapping[str, Value]) -> dict[str, Any]:
    """Return a row as `reward.score` takes it: `prev` and `curr` as records, vectors as lists.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def closer(prev, curr):
    ...     return prev.distance - curr.distance
    >>> reaching = Reward("reaching", version="1", terms=[closer], fields=[Field("distance", low=0, high=9)])
    >>> nest_row(reaching.program, {"prev.distance": 5.0, "curr.distance": 4.0})
    {'prev': {'distance': 5.0}, 'curr': {'distance': 4.0}}
    """
    whole: dict[str, Any] = {}
    vectors: dict[str, list[Any]] = {}
    for place in sorted(list_slots(program), key=lambda place: place.record != "prev"):
        record = whole.setdefault(place.record, {}) if place.record else whole
        value = place.field.as_declared(row[place.name])
        if place.entry is None:
            record[place.key] = value
        else:  # an entry that no term reads is at rest
            resting = place.field.as_declared(place.field.at_rest)
            vectors.setdefault(place.column, [resting] * len(place.field.entries))[place.entry] = value
            record[place.key] = vectors[place.column]
    for place in list_slots(program):
        if place.column in vectors:
            record = whole[place.record] if place.record else whole
            record[place.key] = nest_entries(vectors.pop(place.column), place.field.shape)
    return whole


def encode_row(row: Mapping[str, Any]) -> str:
    """Return a nested row as one line of JSON, in which infinity is the string "inf".

    >>> encode_row({"distance": float("inf"), "braking": True})
    '{"distance": "inf", "braking": true}'
    """
    return json.dumps(_spell_infinities(row), allow_nan=False)


def _spell_infinities(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _spell_infinities(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_spell_infinities(part) for part in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def flatten_records(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with the entries of `prev` and `curr` under their whole names; one given twice is an error.

    >>> flatten_records({"prev": {"x": 1}, "curr.x": 2})
    {'prev.x': 1, 'curr.x': 2}
    """
    flat: dict[str, Any] = {}
    for name, value in row.items():
        parts = {name: value}
        if name in RECORDS and isinstance(value, Mapping):
            parts = {f"{name}.{key}": part for key, part in value.items()}
        for double in parts.keys() & flat.keys():
            raise UnknownInput(f"{double!r} is given twice.")
        flat |= parts
    return flat


def flatten_row(program: Program, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row that came as JSON, nested or flat, by column, with "inf" as a number where one is due."""
    found = flatten_records(inputs)
    fields = {name: place.field for place in list_slots(program) for name in (place.name, place.column)}
    return {name: _convert_due(fields.get(name), value) for name, value in found.items()}


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the values of flat rows with these names go; a vector is put together from several of them."""

    names: tuple[str, ...]
    records: tuple[tuple[str, tuple[tuple[str, str, Shape], ...]], ...]
    """For each record, or "" for none: the keys there, their columns, and the shape where entries are put together."""

    def arrange(self, row: Row) -> Row:
        """Return a flat row as `reward.score` takes it."""
        arranged: Row = {}
        for record, parts in self.records:
            values = {
                key: nest_entries([row.get(f"{name}{entry}") for entry in list_entries(shape)], shape)
                if shape
                else row[name]
                for key, name, shape in parts
            }
            if record:
                arranged[record] = values
            else:
                arranged |= values
        return arranged


class RowLayout:
    """How a reward takes its inputs: `prev` and `curr` as records, vectors as lists, and no other names.

    >>> from plaudit import Field, term
    >>> @term
    ... def closer(prev, curr):
    ...     return prev.distance - curr.distance
    >>> reaching = Reward("reaching", version="1", terms=[closer], fields=[Field("distance", low=0, high=9)])
    >>> RowLayout(reaching).arrange({"prev.distance": 5.0, "curr": {"distance": 4.0}})
    {'prev': {'distance': 5.0}, 'curr': {'distance': 4.0}}
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
        found: dict[str, dict[str, tuple[str, Shape]]] = {}
        for name in names:
            place = self._places.get(name)
            if place is None:
                if self.ignore_extra:
                    continue
                raise self._explain_unknown(name)
            record = found.setdefault(place.record, {})
            part = (name, ()) if place.entry is None else (place.column, place.field.shape)
            if record.setdefault(place.key, part) != part:
                raise InputError(f"{place.column!r} is given whole and by its entries.")
        records = {record: tuple((key, *part) for key, part in parts.items()) for record, parts in found.items()}
        return Plan(names, tuple(records.items()))

    def arrange_infinite(self, row: Row) -> Row:
        """Return a row with the texts "inf" and "-inf" as numbers where numbers are due."""
        changed = {}
        for name, value in self._flatten(row).items():
            place = self._places.get(name)
            changed[name] = _convert_due(place.field if place else None, value)
        return self.arrange(changed)

    def check(self, row: Iterable[str] | Row) -> None:
        """Refuse a file whose header, or first row, has names that the reward does not read."""
        for name in self._flatten(row) if isinstance(row, dict) else row:
            if name not in self._places and not self.ignore_extra:
                raise UnusableFile(str(self._explain_unknown(name)))

    def _flatten(self, row: Row) -> Row:
        for record in self._records & row.keys():
            if not isinstance(row[record], dict):
                given = shorten(row[record], 40)
                raise WrongType(f"reward {self.reward.name!r}: {record!r} must be an object, not {given}.")
        try:
            return flatten_records(row)
        except InputError as error:
            raise InputError(f"reward {self.reward.name!r}: {error}") from None

    def _explain_unknown(self, name: str) -> UnknownInput:
        near = did_you_mean(name, self.inputs)
        comma = " Cells are separated by commas." if ";" in name or "\t" in name else ""
        return UnknownInput(
            f"reward {self.reward.name!r} does not read {shorten(name, 40)}.{near}{comma}\n"
            f"It reads: {', '.join(self.inputs)}. Use --ignore-extra to leave out everything else."
        )


def _drop_entry(place: InputSlot) -> InputSlot:
    return InputSlot(place.column, place.record, place.key, None, place.field)


def convert_infinities(value: Any) -> Any:
    """Return a value in which "inf" and the like are numbers; in a list, each entry."""
    if isinstance(value, list):
        return [convert_infinities(entry) for entry in value]
    return INFINITIES.get(value, value) if isinstance(value, str) else value


def _convert_due(field: Field | None, value: Any) -> Any:
    """Return a value of a field as JSON gave it, with "inf" as a number where a number is due."""
    return convert_infinities(value) if field is not None and field.kind == "number" else value
