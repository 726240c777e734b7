"""The entries of a specification, each by itself: states, terms, and what stands above them, without functions."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from plaudit.errors import SpecError
from plaudit.language.codec import read_field
from plaudit.language.field import NAME, validate_number
from plaudit.language.parameters import TERM_NUMBERS, Number, Parameter, validate_vector_parameter
from plaudit.language.schedule import parse_schedule
from plaudit.language.shapes import nest_entries
from plaudit.reward.composition import GATE, OVERRIDE, SCALE, Composition, Override, TotalFunction
from plaudit.reward.spec_writer import COMPOSED_PARTS, TERM_PARTS
from plaudit.reward.state import State
from plaudit.reward.term import Term

MOST_ENTRIES = 1_000
_TERM_KINDS = {"name": str, "terminal": bool, "doc": str, "shared": list, "reads": list}
_FUNCTION_PARTS = ("name", "doc", "knobs", "shared", "reads", "result")


def read_list(data: Mapping[str, Any], key: str) -> list[Any]:
    """Return a part that is a list."""
    found = data[key]
    if not isinstance(found, list) or (key != "guards" and len(found) > MOST_ENTRIES):
        raise SpecError(f"{key!r} must be a list of at most {MOST_ENTRIES:,} entries")
    return found


def read_state(entry: object) -> State:
    """Return a state without its function."""
    parts = {"field", "reset", "knobs", "shared", "reads", "entries"}
    if not isinstance(entry, Mapping) or entry.keys() != parts:
        raise SpecError(f"a state must have these parts and no others: {', '.join(sorted(parts))}")
    lists = (entry["reset"], entry["shared"], entry["reads"], entry["entries"])
    if not isinstance(entry["knobs"], Mapping) or not all(isinstance(part, list) for part in lists):
        raise SpecError("a state's knobs must be an object, and its reset, shared, reads and entries lists")
    field = read_field(entry["field"])
    if len(entry["reset"]) != (len(field.entries) or 1):
        raise SpecError(f"the state {field.name!r} has another number of entries than its reset")
    reset = nest_entries(entry["reset"], field.shape) if field.shape else entry["reset"][0]
    knobs = {str(knob): read_parameter(str(knob), value) for knob, value in entry["knobs"].items()}
    return State.load(field, reset, knobs, tuple(map(str, entry["shared"])), tuple(map(str, entry["reads"])))


def read_term(entry: object) -> Term:
    """Return a term without its function."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("knobs", {}), Mapping):
        raise SpecError("a term must be an object")
    knobs = {str(knob): read_parameter(str(knob), value) for knob, value in entry.get("knobs", {}).items()}
    unknown = entry.keys() - set(TERM_PARTS) - COMPOSED_PARTS.keys()
    wrong = [part for part, kind in _TERM_KINDS.items() if part in entry and not isinstance(entry[part], kind)]
    if unknown or wrong or "name" not in entry:
        raise SpecError(f"a term must have a name and only these parts: {', '.join(TERM_PARTS)}")
    parts: dict[str, Any] = {
        str(key): tuple(map(str, value)) if isinstance(value, list) else value for key, value in entry.items()
    }
    numbers = {part: read_number(part, parts[part]) for part in TERM_NUMBERS if isinstance(parts.get(part), Mapping)}
    return Term(**{**parts, **numbers, "knobs": MappingProxyType(knobs)})


def read_parameter(name: str, value: Any) -> Parameter:
    """Return a parameter; an object is a schedule."""
    return parse_schedule(name, value) if isinstance(value, Mapping) else validate_vector_parameter(name, value)


def read_number(name: str, value: Any) -> Number:
    """Return a number; an object is a schedule."""
    return parse_schedule(name, value) if isinstance(value, Mapping) else validate_number(name, value)


def read_composition(data: Mapping[str, Any]) -> tuple[Composition, dict[str, object]]:
    """Return what stands above the terms, and where the result of each function is said to be."""
    results: dict[str, object] = {}
    scale = data.get("scale")
    if "scale" in data and not isinstance(scale, str):
        scale = read_number(SCALE, scale)
    gate = None
    if "gate" in data:
        gate = _read_function(data["gate"], _FUNCTION_PARTS, results, condition=False)
        if gate.name != GATE:
            raise SpecError(f"the gate must be called {GATE!r}, not {gate.name!r:.60}")
    overrides = []
    for entry in read_list(data, "override") if "override" in data else ():
        condition = _read_function(entry, (*_FUNCTION_PARTS, "value"), results, condition=True)
        overrides.append(Override(condition, read_number(f"{OVERRIDE}.{condition.name}", entry["value"])))
    return Composition(scale, gate, tuple(overrides)), results


def _read_function(entry: Any, parts: Sequence[str], results: dict[str, object], *, condition: bool) -> TotalFunction:
    """Return a gate or a condition without its function."""
    kinds = {"name": str, "doc": str, "shared": list, "reads": list, "knobs": Mapping}
    if not isinstance(entry, Mapping) or entry.keys() != {*parts}:
        raise SpecError(f"a gate or override must have these parts and no others: {', '.join(parts)}")
    if not all(isinstance(entry[part], kind) for part, kind in kinds.items()):
        raise SpecError("of a gate or override, name and doc are strings, shared and reads lists, and knobs an object")
    if entry["name"] in results:
        raise SpecError(f"{entry['name']!r:.60} appears twice")
    results[entry["name"]] = entry["result"]
    knobs = {str(knob): read_parameter(str(knob), value) for knob, value in entry["knobs"].items()}
    for knob in knobs:
        if not NAME.fullmatch(knob):
            raise SpecError(f"a knob of {entry['name']!r:.60} cannot be called {knob!r:.60}")
    return TotalFunction(
        entry["name"],
        condition,
        entry["doc"],
        MappingProxyType(knobs),
        tuple(map(str, entry["shared"])),
        tuple(map(str, entry["reads"])),
    )
