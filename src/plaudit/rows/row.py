"""A row as the outside writes it: flat or nested, in JSON or CSV, with "inf" for infinity."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from plaudit.errors import InputError, UnknownInput, shorten
from plaudit.language.codec import build_object
from plaudit.language.field import LARGEST_INTEGER, RECORDS, Field
from plaudit.language.program import Program
from plaudit.language.shapes import nest_entries
from plaudit.targets.inputs import list_slots

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
        raise ValueError(cell)  # only Python writes 1_000
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
        raise InputError("the JSON is nested too deeply.") from None
    except json.JSONDecodeError as error:
        problem = error.msg.removesuffix(" at")
        raise InputError(f"not valid JSON: {problem} (character {error.pos + 1}).") from None
    except ValueError as error:  # a whole number of thousands of digits
        raise InputError(f"not a valid row: {error}.") from None
    if not isinstance(row, dict):
        raise InputError(f"a row must be a JSON object, {{…}}, not {shorten(row, 40)}.")
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
    """Return a nested row as one line of JSON, in which infinity is the string "inf", and other types are strings too.

    >>> encode_row({"distance": float("inf"), "braking": True})
    '{"distance": "inf", "braking": true}'
    """
    try:
        return json.dumps(row, allow_nan=False, default=str)
    except ValueError:
        return json.dumps(_spell_infinities(row), default=str)


def _spell_infinities(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _spell_infinities(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_spell_infinities(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


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


def arrange_row(program: Program, row: Mapping[str, Any]) -> Row:
    """Return a flat row as `reward.score` takes it: `prev` and `curr` as records, entries of vectors in lists.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def closer(prev, curr):
    ...     return prev.distance - curr.distance
    >>> reaching = Reward("reaching", version="1", terms=[closer], fields=[Field("distance", low=0, high=9)])
    >>> arrange_row(reaching.program, {"prev.distance": 5.0})
    {'prev': {'distance': 5.0}, 'curr': {}}
    """
    arranged: Row = {}
    for place in list_slots(program):
        record = arranged.setdefault(place.record, {}) if place.record else arranged
        if place.column in row:
            record[place.key] = row[place.column]
        elif place.entry is not None and place.key not in record:
            entries = [row.get(f"{place.column}{entry}") for entry in place.field.entries]
            if entries.count(None) < len(entries):
                record[place.key] = nest_entries(entries, place.field.shape)
    return arranged


def convert_infinities(value: Any) -> Any:
    """Return a value in which "inf" and the like are numbers; in a list, each entry."""
    if isinstance(value, list):
        return [convert_infinities(entry) for entry in value]
    return INFINITIES.get(value, value) if isinstance(value, str) else value


def _convert_due(field: Field | None, value: Any) -> Any:
    """Return a value of a field as JSON gave it, with "inf" as a number where a number is due."""
    return convert_infinities(value) if field is not None and field.kind == "number" else value
