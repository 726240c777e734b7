"""What a caller passes in: plain names, `prev` and `curr` records, vectors, defaults.

Each value is turned into what its field holds, or refused with an error that names the field.
"""

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from plaudit.errors import (
    InputError,
    MissingField,
    NotFinite,
    OutOfRange,
    UnknownCategory,
    UnknownInput,
    WrongType,
    did_you_mean,
)
from plaudit.language.field import LARGEST_INTEGER, RECORDS, Field
from plaudit.language.intervals import bound_field
from plaudit.language.program import Program
from plaudit.language.shapes import index_entries
from plaudit.targets.dtypes import NARROW, Dtypes, Rounded, find_rounded, name_dtype


@dataclass(frozen=True, slots=True)
class InputSlot:
    """Where an input is found: in a record or at the top, under a key, perhaps one entry of a vector."""

    name: str
    """The whole name: `prev.torque[3]`, `foot_force[1][2]`."""
    record: str
    """`prev`, `curr`, or empty."""
    key: str
    """`torque`."""
    entry: int | None
    """The position of an entry among those of its field, in row-major order; None for a single value."""
    field: Field

    @property
    def column(self) -> str:
        """The name of the column that holds it: `prev.torque`."""
        return f"{self.record}.{self.key}" if self.record else self.key

    @property
    def plain(self) -> str:
        """The name without its record: `torque[3]`."""
        return self.name.removeprefix(f"{self.record}.") if self.record else self.name


FEWEST = 3
"""Entries of a vector from which on it is passed to arrays' own operations whole."""


class InputColumn(NamedTuple):
    """A column, and the inputs that are found in it."""

    name: str
    slots: tuple[InputSlot, ...]
    picked: list[int]
    """The entries of a vector that are read, in order; empty where that is all of them."""

    @property
    def whole(self) -> bool:
        """Whether it is a vector with so many entries that it is worth passing whole."""
        return len(self.slots) >= FEWEST


def list_columns(program: Program) -> tuple[InputColumn, ...]:
    """Return the columns of `program`, in the order in which its inputs first read them."""
    if "columns" not in program.memo:
        found: dict[str, list[InputSlot]] = {}
        for slot in list_slots(program):
            found.setdefault(slot.column, []).append(slot)
        program.memo["columns"] = tuple(_build_column(name, slots) for name, slots in found.items())
    known: tuple[InputColumn, ...] = program.memo["columns"]
    return known


def find_places(program: Program) -> dict[str, tuple[int, int]]:
    """Return of each input in a column that is passed whole the position of the column's first input, and its entry."""
    names = list(program.inputs)
    return {
        slot.name: (names.index(column.slots[0].name), at)
        for column in list_columns(program)
        if column.whole
        for at, slot in enumerate(column.slots)
    }


def _build_column(name: str, slots: list[InputSlot]) -> InputColumn:
    slots = sorted(slots, key=lambda slot: slot.entry or 0)
    entries = [slot.entry for slot in slots if slot.entry is not None]
    everything = entries == list(range(math.prod(slots[0].field.shape)))
    return InputColumn(name, tuple(slots), [] if everything else entries)


def list_slots(program: Program) -> tuple[InputSlot, ...]:
    """Return where each input of `program` is found."""
    if "slots" not in program.memo:
        program.memo["slots"] = _find_slots(program)
    known: tuple[InputSlot, ...] = program.memo["slots"]
    return known


def _find_slots(program: Program) -> tuple[InputSlot, ...]:
    found = []
    for name, field in program.inputs.items():
        record, _, key = name.rpartition(".")
        key, bracket, entry = key.partition("[")
        found.append(
            InputSlot(name, record, key, index_entries(field.shape)[bracket + entry] if bracket else None, field)
        )
    return tuple(found)


def collect_columns(
    program: Program, inputs: Any, *, only_given: bool = False, lenient: bool = False
) -> dict[str, Any]:
    """Return the given columns by name: nested `prev` and `curr` records flattened, defaults filled in.

    `inputs` is a mapping, a structured array, or a table with `columns`. Names the reward does not declare are refused.
    With `only_given`, what only the end of an episode reads is left out where it may be and is not given; if `lenient`,
    so is everything else that is not given.
    """
    flat = _flatten(program, inputs)
    if len(flat) == len(list_columns(program)) and all(column.name in flat for column in list_columns(program)):
        return flat  # each column once: there is nothing to look for
    known = {slot.column: slot for slot in list_slots(program)}
    whole = {slot.name for slot in list_slots(program)}
    declared = {slot.key for slot in known.values()}
    for name in list(flat):
        if name not in known and name not in whole:
            record, _, key = name.rpartition(".")
            if key.partition("[")[0] in program.unused:
                del flat[name]
                continue
            if key.partition("[")[0] in program.states and record != "prev":
                raise UnknownInput(
                    f"reward {program.name!r} does not read {name!r}: it computes the state after a step itself."
                )
            if record not in RECORDS or key not in declared:
                raise make_unknown_error(program.name, name, known)
            value = flat.pop(name)  # of a whole state: read at the other end of the step only, unless …
            if record == "curr" and key in known:  # … it is read plainly, which means its value after the step
                if key in flat:
                    raise make_duplicate_error(program, key)
                flat[key] = value
    for slot in list_slots(program):
        if slot.entry is not None and slot.name in flat and slot.column in flat:
            raise make_duplicate_error(program, slot.column)
        if slot.name in flat or slot.column in flat:
            continue
        default = find_default(program, slot, flat.get("terminal", False))
        if default is None and not lenient:
            raise make_absent_error(program, slot, flat)
        if slot.field.missing is None and (lenient or (only_given and slot.name in program.terminal)):
            continue
        flat[slot.name] = default
    return flat


def drop_unread(program: Program, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what of `given` a reward reads, also within `prev` and `curr` where these are mappings."""
    if "accepted" not in program.memo:
        slots = list_slots(program)
        keys = {name for slot in slots for name in (slot.key, slot.plain)}
        program.memo["accepted"] = keys, {name for slot in slots for name in (slot.name, slot.column)} | {*RECORDS}
    keys, accepted = program.memo["accepted"]
    kept = given if given.keys() <= accepted else {name: given[name] for name in given if name in accepted}
    for record in RECORDS:
        part = kept.get(record)
        if isinstance(part, Mapping) and not part.keys() <= keys:
            kept = {**kept, record: {name: part[name] for name in part if name in keys}}
    return kept


def make_absent_error(program: Program, slot: InputSlot, given: Mapping[str, Any]) -> MissingField:
    """Return the error for a column that is not among those `given`, and that has no default."""
    if slot.name in program.counters:
        return make_counter_error(program.name, slot.name, given)
    apart = any(f"{slot.column}{entry}" in given for entry in slot.field.entries)
    missing = make_missing_error(program.name, slot.name if apart else slot.column, given)
    return MissingField(f"{missing}\n{advise_state(slot.key)}") if slot.key in program.states else missing


def find_default(program: Program, slot: InputSlot, terminal: Any) -> Any:
    """Return the default of an absent input, or None if it is required."""
    if slot.field.missing is not None:
        return slot.field.missing
    if slot.name == "terminal":
        return False
    plain = isinstance(terminal, bool | int) or (type(terminal).__module__ == "numpy" and not terminal.shape)
    goes_on = plain and not terminal  # a column may hold an end somewhere
    return slot.field.at_rest if slot.name in program.terminal and goes_on else None


def _flatten(program: Program, inputs: Any) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name in _list_names(inputs):
        value = inputs[name]
        parts = {str(name): value}
        if name in RECORDS:
            keys = {slot.key for slot in list_slots(program) if slot.record == name}
            try:
                parts = {f"{name}.{key}": part for key, part in read_record(value, keys).items()}
            except WrongType as error:
                raise WrongType(f"reward {program.name!r}: {error}") from None
        for part in parts:
            if part in flat:
                raise make_duplicate_error(program, part)
        flat |= parts
    return flat


def may_be_inexact(field: Field, guard: bool) -> bool:
    """Return whether an integer that no float holds could pass the declared range."""
    low, high = bound_field(field)
    return not guard or not (low > -LARGEST_INTEGER and high < LARGEST_INTEGER)


def make_duplicate_error(program: Program, name: str) -> UnknownInput:
    """Return the error for an input that is given in two forms."""
    return UnknownInput(f"reward {program.name!r}: {name!r} is given twice, in two forms.")


def _list_names(inputs: Any) -> Any:
    if isinstance(inputs, Mapping):
        return inputs.keys()
    dtype_names = getattr(getattr(inputs, "dtype", None), "names", None)
    if dtype_names:
        return dtype_names
    if hasattr(inputs, "columns"):
        return inputs.columns
    raise WrongType(
        f"inputs must be a mapping from names to values, a structured array or a table, not a {type(inputs).__name__}"
    )


def read_record(value: Any, keys: Iterable[str]) -> dict[str, Any]:
    """Return a `prev` or `curr` record as a dict: a mapping whole, of any other object the attributes in `keys`."""
    if isinstance(value, Mapping):
        return dict(value)
    plain = isinstance(value, str | bytes | bool | int | float | list | type | None)
    if plain or (isinstance(value, tuple) and not hasattr(value, "_fields")):
        raise WrongType(f"`prev` and `curr` must be mappings or objects with fields, not {value!r:.60}")
    names = getattr(getattr(value, "dtype", None), "names", None)
    if names:
        return {name: value[name] for name in names}
    return {key: getattr(value, key) for key in keys if hasattr(value, key)}


def find_dtypes(program: Program, given: Mapping[str, Any]) -> Dtypes:
    """Return the dtypes of those columns in `given`, by name, that hold floats narrower than float64.

    The entries of a vector that are given one by one, and are all alike, are one column.
    """
    found: dict[str, str] = {}
    for column in list_columns(program):
        if column.name in given:
            dtypes = {column.name: _find_dtype(given[column.name])}
        else:
            dtypes = {slot.name: _find_dtype(given.get(slot.name)) for slot in column.slots}
            if len(set(dtypes.values())) == 1:
                dtypes = {column.name: dtypes[column.slots[0].name]}
        if any(dtypes.values()) and column.slots[0].field.kind == "number":
            found |= {name: dtype for name, dtype in dtypes.items() if dtype}
    return tuple(found.items())


def _find_dtype(value: Any) -> str:
    """Return the dtype of a value, of a list as NumPy would have it, where it is a narrow one; else an empty string."""
    if hasattr(value, "dtype"):
        return NARROW_NAMES[value.dtype]
    if isinstance(value, list | tuple):
        import numpy as np

        with suppress(ValueError):  # rows that differ in length
            return NARROW_NAMES[np.asarray(value).dtype]
    return ""


class DtypeMap(dict[Any, Rounded]):
    """Which numbers of a dtype count as a bound of `field`, and as which, by the dtype as its library has it."""

    def __init__(self, field: Field) -> None:
        self._field = field

    def __missing__(self, dtype: Any) -> Rounded:
        found = self[dtype] = find_rounded(self._field, name_dtype(dtype))
        return found


class DtypeNames(dict[Any, str]):
    """The names of dtypes that are narrower than float64, by the dtype as its library has it; empty for any other."""

    def __missing__(self, dtype: Any) -> str:
        name = name_dtype(dtype)
        found = self[dtype] = name if name in NARROW else ""
        return found


NARROW_NAMES = DtypeNames()


@lru_cache(4096)
def join_dtype(seen: Dtypes, column: str, dtype: str) -> Dtypes:
    """Return `seen` with the dtype of one more column."""
    return seen if (column, dtype) in seen else (*seen, (column, dtype))


def make_converter(reward: str, name: str, field: Field) -> Callable[[Any], Any]:
    """Return the function that turns a Python value into a float, a bool, or the position of a category.

    A number of NumPy, or of a library like it, counts as a bound where its dtype rounds the bound to it.
    """
    convert = {"number": _convert_number, "flag": _convert_flag, "category": _convert_category}[field.kind]
    rounded = DtypeMap(field)
    number = field.kind == "number"

    def convert_value(value: Any) -> Any:
        if number and isinstance(value, float):  # of NumPy too, if it is a float64
            return float(value)
        if value is None:
            if field.missing is None:
                raise make_none_error(reward, name)
            value = field.missing
        if type(value).__name__ == "MaskedConstant":
            raise make_none_error(reward, name)
        if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
            if getattr(value.dtype, "kind", "") in "mM":
                raise _make_type_error(reward, name, value, "a number")
            counts_as = rounded[value.dtype]
            value = value.item()  # a 0-d array or tensor
            if counts_as:
                value = counts_as.get(value, value)
        return convert(reward, name, field, value)

    return convert_value


def _convert_number(reward: str, name: str, field: Field, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise _make_type_error(reward, name, value, "a number")
    if isinstance(value, numbers.Integral) and abs(int(value)) > LARGEST_INTEGER:
        shown = value if abs(int(value)) < 10**40 else f"an integer of {int(value).bit_length()} bits"
        raise OutOfRange(
            f"reward {reward!r}, field {name!r}: {shown} is beyond 2**53, so a float cannot hold it exactly."
        )
    try:
        return float(value)
    except OverflowError:
        raise OutOfRange(f"reward {reward!r}, field {name!r}: the number is too large for a float.") from None


def _convert_flag(reward: str, name: str, field: Field, value: Any) -> bool:
    if isinstance(value, numbers.Real) and value in (0, 1):
        return bool(value)
    raise _make_type_error(reward, name, value, "a bool (True, False, 1 or 0)")


def _convert_category(reward: str, name: str, field: Field, value: Any) -> float:
    if not isinstance(value, str):
        raise _make_type_error(reward, name, value, f"a string, one of {', '.join(field.labels)}")
    if value in field.labels:
        return float(field.labels.index(value))
    if field.other is not None:
        return float(field.labels.index(field.other))
    raise make_range_error(reward, name, field, value)


def make_none_error(reward: str, name: str) -> MissingField:
    """Return the error for None in a field without `missing`."""
    advice = "Give a value, or declare the field with missing=."
    return MissingField(f"reward {reward!r}, field {name!r}: a value is None. {advice}")


def _make_type_error(reward: str, name: str, value: Any, wanted: str) -> WrongType:
    shown = repr(value) if len(repr(value)) <= 40 else f"{repr(value)[:40]}…"
    hint = " Score many rows at once with reward.compile('numpy')." if getattr(value, "ndim", 0) else ""
    return WrongType(
        f"reward {reward!r}, field {name!r}: {shown} is a {type(value).__name__}; {wanted} is needed.{hint}"
    )


def make_unknown_error(reward: str, name: object, known: Mapping[str, Any] | set[str]) -> UnknownInput:
    """Return the error for an input that the reward does not read."""
    near = did_you_mean(str(name), known)
    return UnknownInput(f"reward {reward!r} does not read {name!r}.{near}\nIt reads: {', '.join(sorted(known))}.")


def make_missing_error(reward: str, name: str, given: Mapping[str, Any]) -> MissingField:
    """Return the error for an input that was not given."""
    near = did_you_mean(name, map(str, given))
    names = ", ".join(map(str, given)) or "nothing"
    return MissingField(f"reward {reward!r} needs {name!r}, which was not given.{near}\nGiven: {names}.")


def advise_state(name: str) -> str:
    """Return the advice for a missing state."""
    return (
        f"{name!r} is a state that the reward carries. For the first step of an episode, pass reward.initial_state(); "
        "after each step, pass signal.state or the second result of step()."
    )


def make_counter_error(reward: str, name: str, given: Mapping[str, Any]) -> MissingField:
    """Return the error for a missing counter that a schedule depends on."""
    names = ", ".join(map(str, given)) or "nothing"
    return MissingField(
        f"reward {reward!r} needs {name!r}, which was not given: its schedules depend on it. Pass the number of "
        f"training steps so far; environment wrappers count it themselves.\nGiven: {names}."
    )


def encode_category(reward: str, name: str, field: Field, labels: Any, *, lenient: bool = False) -> Any:
    """Return the positions of an array of categories, given as strings, as small integers.

    If `lenient`, what is not one of them is -1, which no row may have.
    """
    import numpy as np

    column = np.asarray(labels)
    if column.dtype.kind in "iu":
        return column
    flat = column.reshape(-1)
    absent = np.array([label is None for label in flat]) if column.dtype.kind == "O" else np.zeros(flat.shape, bool)
    if absent.any():
        if field.missing is None and not lenient:
            raise make_none_error(reward, name)
        flat = np.where(absent, "" if field.missing is None else field.missing, flat)
    for entry in flat if column.dtype.kind != "U" else ():
        if not isinstance(entry, str):
            raise _make_type_error(reward, name, entry, "a string")
    found, inverse = np.unique(flat.astype(str), return_inverse=True)
    known = set(field.labels) if lenient and field.other is None else found
    positions = [_convert_category(reward, name, field, str(each)) if each in known else -1.0 for each in found]
    return np.asarray(positions, dtype=np.int32)[inverse].reshape(column.shape)


def make_range_error(reward: str, name: str, field: Field, value: Any, *, where: str = "") -> InputError:
    """Return the error for a value that `field` does not allow."""
    start = f"reward {reward!r}, field {name!r}{where}: "
    if field.kind == "category":
        values = ", ".join(field.labels)
        return UnknownCategory(
            f"{start}{value!r} is not one of its values.{did_you_mean(str(value), field.labels)}\nIts values: {values}."
        )
    if isinstance(value, float) and math.isnan(value):
        return NotFinite(f"{start}the value is NaN. Fix it where it is computed; a reward never guesses.")
    if isinstance(value, float) and math.isinf(value) and not field.numbers:
        return NotFinite(f"{start}{value} is not allowed. Declare the field with infinite=True if it can happen.")
    if field.numbers:
        allowed = ", ".join(f"{number:g}" for number in field.numbers)
        return OutOfRange(f"{start}{value!r} is not one of {allowed}.")
    unit = f" {field.unit}" if field.unit else ""
    return OutOfRange(
        f"{start}{value!r} is outside its declared range {format_range(field)}{unit}.\n"
        "Fix the value, widen the range, or declare the field with outside='clip' or outside='allow'."
    )


def format_range(field: Field) -> str:
    """Return the declared range of a number: `[0, inf]`."""
    low = "-inf" if field.low is None else f"{field.low:g}"
    high = "inf" if field.high is None else f"{field.high:g}"
    return f"[{low}, {high}]"
