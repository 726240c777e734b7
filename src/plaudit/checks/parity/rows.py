"""A row as it travels: flat names inside plaudit, `prev` and `curr` records and vectors outside, JSON on a pipe."""

import json
import math
from collections.abc import Mapping
from typing import Any

from plaudit.errors import UnknownInput
from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.targets.inputs import list_slots

Value = float | bool | str
FlatRow = dict[str, Value]
"""A value for each input, by its whole name: `distance`, `prev.phase`, `torque[0]`."""

_INFINITIES = {text: float(text) for text in ("inf", "-inf", "Infinity", "-Infinity")}


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
    for place in sorted(list_slots(program), key=lambda place: place.record != "prev"):
        record = whole.setdefault(place.record, {}) if place.record else whole
        value = as_declared(place.field, row[place.name])
        if place.entry is None:
            record[place.key] = value
        else:  # an entry that no term reads is at rest
            resting = as_declared(place.field, place.field.at_rest)
            record.setdefault(place.key, [resting] * (place.field.length or 0))[place.entry] = value
    return whole


def as_declared(field: Field, value: Value) -> Value:
    """Return a number as a whole one where its field lists whole ones: 2 and not 2.0."""
    whole = bool(field.numbers) and all(number.is_integer() for number in field.numbers)
    return int(value) if whole and not isinstance(value, str) else value


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


def flatten_row(program: Program, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row that came as JSON, nested or flat, by column, with "inf" as a number where one is due."""
    found: dict[str, Any] = {}
    for name, value in inputs.items():
        parts = {name: value}
        if name in ("prev", "curr") and isinstance(value, Mapping):
            parts = {f"{name}.{key}": part for key, part in value.items()}
        for double in parts.keys() & found.keys():
            raise UnknownInput(f"{double!r} is given twice.")
        found |= parts
    fields = {name: place.field for place in list_slots(program) for name in (place.name, place.column)}
    return {name: _parse_infinities(fields.get(name), value) for name, value in found.items()}


def _parse_infinities(field: Field | None, value: Any) -> Any:
    if field is None or field.kind != "number":
        return value
    if isinstance(value, list):
        return [_parse_infinities(field, part) for part in value]
    return _INFINITIES.get(value, value) if isinstance(value, str) else value
