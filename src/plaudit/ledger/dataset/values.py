"""From Arrow columns to NumPy ones: without a copy where nothing lacks, and with a note of the rows where it does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from plaudit.language.field import LARGEST_WHOLE, Field
from plaudit.ledger.dataset.cells import flag_cell, number_cell
from plaudit.ledger.dataset.plain import plain

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Values:
    """A column as a compiled reward takes it, with the rows that have no value, and those of another kind."""

    array: NDArray[Any]
    absent: Flags | None = None
    wrong: Flags | None = None


def values(array: pa.Array, field: Field, length: int | None) -> Values:
    """Return one column; what stands in for an absent value is filled in, and it is not absent any more."""
    if length is not None:
        return _vectors(array, field, length)
    if pa.types.is_null(array.type):
        array = array.cast({"number": pa.float64(), "flag": pa.bool_(), "category": pa.string()}[field.kind])
    wrong = None
    if field.kind == "category":
        return _categories(array, field)
    if _is_text(array.type):
        array, wrong = _parsed(array, field)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.float64())
    if not array.null_count:
        return Values(plain(array), None, wrong)
    absent = plain(array.is_null())
    stand_in = field.at_rest if field.missing is None else field.missing
    filled = plain(array.fill_null(pa.scalar(stand_in).cast(array.type, safe=False)))
    if wrong is not None:
        absent = absent & ~wrong
    return Values(filled, absent if field.missing is None else None, wrong)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _categories(array: pa.Array, field: Field) -> Values:
    """Return the position of each text among the field's labels; an unknown one has the position after the last."""
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    labels = {label: position for position, label in enumerate(field.labels)}
    unknown = len(labels) if field.other is None else labels[field.other]
    positions = [unknown if text is None else labels.get(text, unknown) for text in encoded.dictionary.to_pylist()]
    stand_in = labels[str(field.at_rest if field.missing is None else field.missing)]
    table = np.array([*positions, stand_in], np.int32)  # the last is for an absent text
    empty = {at for at, text in enumerate(encoded.dictionary.to_pylist()) if text is None}
    codes = encoded.indices
    absent = None
    if codes.null_count or empty:
        codes = codes.fill_null(pa.scalar(0).cast(codes.type)) if len(encoded.dictionary) else None
        absent = plain(array.is_null())
        if empty:
            absent = absent | np.isin(plain(encoded.indices.fill_null(0)), list(empty))
    at = np.zeros(len(array), np.intp) if codes is None else plain(codes)
    if absent is not None:
        at = np.where(absent, len(positions), at)
    return Values(table[at], absent if field.missing is None else None)


def _vectors(array: pa.Array, field: Field, length: int) -> Values:
    """Return lists as rows of a matrix; a list of another length is wrong, an entry that lacks makes its row absent."""
    rows = len(array)
    if pa.types.is_null(array.type):
        array = array.cast(pa.list_(pa.float64()))
    absent = plain(array.is_null()) if array.null_count else np.zeros(rows, bool)
    if pa.types.is_fixed_size_list(array.type):
        starts = (np.arange(rows) + array.offset) * length
        wrong = np.zeros(rows, bool)
    else:
        offsets = plain(array.offsets)
        starts = offsets[:-1]
        wrong = (np.diff(offsets) != length) & ~absent
    entries = values(array.values, field, None)
    bad = absent | wrong
    if not bad.any() and rows and starts[-1] - starts[0] == (rows - 1) * length:
        whole = slice(int(starts[0]), int(starts[0]) + rows * length)
        matrix, holes, odd = (
            None if part is None else part[whole].reshape(rows, length)
            for part in (entries.array, entries.absent, entries.wrong)
        )
    else:
        at = np.where(bad[:, None], 0, starts[:, None] + np.arange(length))
        safe = _padded(entries.array)
        matrix = safe[at]
        holes, odd = (None if part is None else _padded(part)[at] for part in (entries.absent, entries.wrong))
    assert matrix is not None
    absent = absent if holes is None else absent | (holes.any(axis=1) & ~bad)
    wrong = wrong if odd is None else wrong | (odd.any(axis=1) & ~bad)
    stand_in = field.missing is not None and not array.null_count
    return Values(matrix, None if stand_in else absent if absent.any() else None, wrong if wrong.any() else None)


def _padded(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that has an entry at 0 even if it is empty."""
    return array if len(array) else np.zeros(1, array.dtype)


# -- texts that stand for numbers and flags, as in CSV --------------------------------------------------------------


def _parsed(array: pa.Array, field: Field) -> tuple[pa.Array, Flags | None]:
    """Return texts as numbers or flags, and which of them are neither; those become NULL."""
    if field.kind == "flag":
        encoded = array.dictionary_encode()
        return _each(encoded.dictionary, flag_cell, pa.bool_(), encoded.indices)
    try:
        numbers = pc.cast(array, pa.float64())
    except pa.ArrowInvalid:
        return _each(array, number_cell, pa.float64(), None)
    largest = pc.max(pc.abs(numbers)).as_py() if len(numbers) else None
    if largest is not None and largest >= LARGEST_WHOLE:  # a whole number that no float holds is none of ours
        return _each(array, number_cell, pa.float64(), None)
    return numbers, None


def _each(
    texts: pa.Array, parse: Callable[[str], float | bool], kind: pa.DataType, indices: pa.Array | None
) -> tuple[pa.Array, Flags | None]:
    parsed: list[float | bool | None] = []
    wrong = np.zeros(len(texts), bool)
    for at, text in enumerate(texts.to_pylist()):
        try:
            value = None if text is None else parse(text)
            if isinstance(value, int) and not isinstance(value, bool):
                raise ValueError(text)
            parsed.append(value)
        except ValueError:
            parsed.append(None)
            wrong[at] = True
    array = pa.array(parsed, kind)
    if indices is not None:
        array = array.take(indices)
        known = plain(indices.is_valid())
        wrong = wrong[plain(indices.fill_null(0))] & known if len(wrong) else np.zeros(len(indices), bool)
    return array, wrong if wrong.any() else None
