"""The shape of what a caller passes in: plain names, `prev` and `curr` records, vectors, defaults."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from plaudit.errors import UnknownInput, WrongType
from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.targets.door import missing_input, unknown_input


@dataclass(frozen=True, slots=True)
class Place:
    """Where an input is found: in a record or at the top, under a key, perhaps one entry of a vector."""

    name: str
    """The whole name: `prev.torque[3]`."""
    record: str
    """`prev`, `curr`, or empty."""
    key: str
    """`torque`."""
    entry: int | None
    field: Field

    @property
    def column(self) -> str:
        """The name of the column that holds it: `prev.torque`."""
        return f"{self.record}.{self.key}" if self.record else self.key


def places(program: Program) -> tuple[Place, ...]:
    """Return where each input of `program` is found."""
    if "places" not in program.memo:
        program.memo["places"] = _places(program)
    known: tuple[Place, ...] = program.memo["places"]
    return known


def _places(program: Program) -> tuple[Place, ...]:
    found = []
    for name, field in program.inputs.items():
        record, _, key = name.rpartition(".")
        key, _, entry = key.partition("[")
        found.append(Place(name, record, key, int(entry[:-1]) if entry else None, field))
    return tuple(found)


def columns(program: Program, inputs: Any) -> dict[str, Any]:
    """Return the given columns by name: nested `prev` and `curr` records flattened, defaults filled in.

    `inputs` is a mapping, a structured array, or a table with `columns`. Names the reward does not read are refused.
    """
    flat = _flattened(program, inputs)
    known = {place.column: place for place in places(program)}
    whole = {place.name for place in places(program)}
    declared = {place.key for place in known.values()}
    for name in list(flat):
        if name not in known and name not in whole:
            record, _, key = name.rpartition(".")
            if record not in ("prev", "curr") or key not in declared:
                raise unknown_input(program.name, name, known)
            value = flat.pop(name)  # of a whole state: read at the other end of the step only, unless …
            if record == "curr" and key in known:  # … it is read plainly, which means its value after the step
                if key in flat:
                    raise twice(program, key)
                flat[key] = value
    for place in places(program):
        if place.entry is not None and place.name in flat and place.column in flat:
            raise twice(program, place.column)
        if place.name in flat or place.column in flat:
            continue
        default = default_of(program, place, flat.get("terminal", False))
        if default is None:
            apart = any(f"{place.column}[{i}]" in flat for i in range(place.field.length or 0))
            raise missing_input(program.name, place.name if apart else place.column, flat)
        flat[place.name] = default
    return flat


def default_of(program: Program, place: Place, terminal: Any) -> Any:
    """Return what stands in for an absent input, or None where it must be given."""
    if place.field.missing is not None:
        return place.field.missing
    if place.name == "terminal":
        return False
    plain = isinstance(terminal, bool | int) or (type(terminal).__module__ == "numpy" and not terminal.shape)
    goes_on = plain and not terminal  # a column may hold an end somewhere
    return place.field.at_rest if place.name in program.terminal and goes_on else None


def _flattened(program: Program, inputs: Any) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name in _names(inputs):
        value = inputs[name]
        parts = {str(name): value}
        if name in ("prev", "curr"):
            keys = {place.key for place in places(program) if place.record == name}
            try:
                parts = {f"{name}.{key}": part for key, part in record(value, keys).items()}
            except WrongType as error:
                raise WrongType(f"reward {program.name!r}: {error}") from None
        for both in parts.keys() & flat.keys():
            raise twice(program, both)
        flat |= parts
    return flat


def twice(program: Program, name: str) -> UnknownInput:
    """Return the error for an input that is given in two ways."""
    return UnknownInput(f"reward {program.name!r}: {name!r} is given twice, in two ways.")


def _names(inputs: Any) -> Any:
    if isinstance(inputs, Mapping):
        return inputs.keys()
    dtype_names = getattr(getattr(inputs, "dtype", None), "names", None)
    if dtype_names:
        return dtype_names
    if hasattr(inputs, "columns"):
        return inputs.columns
    raise WrongType(
        f"inputs are a mapping from names to values, a structured array or a table; this is a {type(inputs).__name__}"
    )


def record(value: Any, keys: Iterable[str]) -> dict[str, Any]:
    """Return a `prev` or `curr` record as a dict: a mapping whole, of any other object the attributes in `keys`."""
    if isinstance(value, Mapping):
        return dict(value)
    plain = isinstance(value, str | bytes | bool | int | float | list | type | None)
    if plain or (isinstance(value, tuple) and not hasattr(value, "_fields")):
        raise WrongType(f"`prev` and `curr` are mappings or objects with fields, not {value!r:.60}")
    names = getattr(getattr(value, "dtype", None), "names", None)
    if names:
        return {name: value[name] for name in names}
    return {key: getattr(value, key) for key in keys if hasattr(value, key)}
