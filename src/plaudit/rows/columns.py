"""Columns of rows as a compiled reward takes them, with the rows that are absent or wrong, and as text gets them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import InputError
from plaudit.language.field import LARGEST_INTEGER, Field
from plaudit.language.shapes import Shape
from plaudit.rows.row import INFINITIES, parse_bool, parse_number
from plaudit.targets.inputs import InputSlot, make_converter

Flags = NDArray[np.bool_]
Path = tuple[str, ...]
"""A column by its name, or a child of a struct by both names."""
_DTYPES: dict[str, Any] = {"number": np.float64, "flag": np.bool_, "category": np.int32}


@dataclass(frozen=True, slots=True)
class Values:
    """A column as a compiled reward takes it, with the rows that have no value, and those of another kind."""

    array: NDArray[Any]
    absent: Flags | None = None
    wrong: Flags | None = None


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """One column that a reward reads: under which name it is scored, where it lies, what it holds."""

    name: str
    """`distance`, `prev.tokens_used`, `torque` or `torque[3]`: what a compiled reward calls it."""
    path: Path
    place: InputSlot
    type: Any = None
    """Its Arrow type; None in text files."""

    @property
    def shape(self) -> Shape:
        """The shape of a vector or matrix that lies in one column; empty for a single value."""
        return () if self.name == self.place.name else self.place.field.shape

    @property
    def dotted(self) -> str:
        """Where it lies, as Parquet names it."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that is not a row; one that is too long for memory comes in pieces."""

    number: int
    raw: bytes | Any
    error: InputError


def find_stand_in(field: Field) -> Any:
    """Return what is computed with where a value is absent."""
    stand_in = field.at_rest if field.missing is None else field.missing
    return field.labels.index(str(stand_in)) if field.kind == "category" else stand_in


def convert_cells(cells: Sequence[str], field: Field) -> Values:
    """Return the cells of a CSV column; an empty one is absent.

    >>> convert_cells(["1", "", "far"], Field("x")).wrong.tolist()
    [False, False, True]
    """
    if field.kind != "number":
        return _convert_scalars(cells, "", field, parse_bool if field.kind == "flag" else None, absent="")
    try:
        array = np.fromiter(map(float, cells), np.float64, len(cells))
        if _is_exact(array) and "_" not in "".join(cells):  # Python reads 1_000 as a number
            return Values(array)
    except ValueError:
        pass
    return _convert_scalars(cells, "", field, parse_number, absent="")


def convert_values(values: Sequence[Any], name: str, field: Field, shape: Shape = ()) -> Values:
    """Return the values of a column of JSON, `None` where there is none; with a shape, lists of them.

    >>> convert_values([1, None, "far"], "x", Field("x")).wrong.tolist()
    [False, False, True]
    """
    if shape:
        return _convert_lists(values, name, field, shape)
    if field.kind == "number" and set(map(type, values)) <= {float, int}:
        try:
            array = np.array(values, np.float64)
            if _is_exact(array):
                return Values(array)
        except OverflowError:
            pass
    if field.kind == "flag" and set(map(type, values)) == {bool}:
        return Values(np.array(values, bool))
    return _convert_scalars(values, name, field, _spell_out if field.kind == "number" else None, absent=None)


def _is_exact(array: NDArray[np.float64]) -> bool:
    """Return whether no number is so large that an integer would have been rounded."""
    return not np.any((np.abs(array) >= LARGEST_INTEGER) & np.isfinite(array))


def _spell_out(value: Any) -> Any:
    return INFINITIES.get(value, value) if isinstance(value, str) else value


def _convert_scalars(
    values: Sequence[Any], name: str, field: Field, parse: Callable[[Any], Any] | None, *, absent: Any
) -> Values:
    stand_in, convert = find_stand_in(field), _build_converter(name, field)
    array = np.full(len(values), stand_in, _DTYPES[field.kind])
    missing, wrong = np.zeros(len(values), bool), np.zeros(len(values), bool)
    known: dict[str, Any] = {}
    for at, value in enumerate(values):
        if value == absent:
            missing[at] = True
            continue
        try:
            if type(value) is not str:
                array[at] = convert(parse(value) if parse else value)
                continue
            if value not in known:
                known[value] = convert(parse(value) if parse else value)
            array[at] = known[value]
        except (InputError, ValueError, TypeError):
            wrong[at] = True
    return Values(array, missing if field.missing is None and missing.any() else None, wrong if wrong.any() else None)


def _build_converter(name: str, field: Field) -> Callable[[Any], Any]:
    if field.kind != "category":
        return make_converter("", name, field)
    positions = {label: at for at, label in enumerate(field.labels)}
    unknown = len(positions) if field.other is None else positions[field.other]

    def find_position(value: Any) -> int:
        if not isinstance(value, str):
            raise TypeError(value)
        return positions.get(value, unknown)

    return find_position


def _convert_lists(values: Sequence[Any], name: str, field: Field, shape: Shape, *, inner: bool = False) -> Values:
    """Return lists as rows of an array; one of another length is wrong, an entry that lacks makes its row absent."""
    size = shape[0]
    absent = np.array([value is None for value in values], bool)
    wrong = np.array([value is not None and not (isinstance(value, list) and len(value) == size) for value in values])
    nothing = [None] * size
    if absent.any() or wrong.any():
        values = [nothing if bad else value for bad, value in zip(absent | wrong, values, strict=True)]
    flat, rest = list(chain.from_iterable(values)), shape[1:]
    entries = _convert_lists(flat, name, field, rest, inner=True) if rest else convert_values(flat, name, field)
    rows = len(values)
    array = entries.array.reshape(rows, size, *entries.array.shape[1:])
    if not inner and field.missing is not None:  # as `reward.score` takes a vector that is None
        array[absent] = find_stand_in(field)
        absent = np.zeros(rows, bool)
        if entries.absent is not None:
            given = np.array([value is not nothing for value in values])
            absent = entries.absent.reshape(rows, size).any(axis=1) & given
    elif entries.absent is not None:
        absent = absent | entries.absent.reshape(rows, size).any(axis=1)
    if entries.wrong is not None:
        wrong = wrong | entries.wrong.reshape(rows, size).any(axis=1)
    absent &= ~wrong
    return Values(array, absent if absent.any() else None, wrong if wrong.any() else None)


def format_columns(added: Mapping[str, Any], ok: Any, nothing: str) -> list[list[str]]:
    """Return numbers and flags of rows as text, column by column; numbers of rows that are not `ok` as `nothing`."""
    bad = [] if ok is None or ok.all() else np.flatnonzero(~ok).tolist()
    columns = []
    for column in added.values():
        if column.dtype == np.bool_:
            columns.append(np.where(column, "true", "false").tolist())
            continue
        texts = _format_numbers(column)
        for at in bad:
            texts[at] = nothing
        columns.append(texts)
    return columns


def _format_numbers(column: NDArray[np.float64]) -> list[str]:
    bits, places = np.unique(column.view(np.int64), return_inverse=True)  # rewards often are few distinct numbers
    if len(bits) > len(column) // 2:
        return list(map(repr, column.tolist()))
    texts = list(map(repr, bits.view(np.float64).tolist()))
    return [texts[at] for at in places.tolist()]
