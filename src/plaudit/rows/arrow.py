"""Arrow columns as NumPy columns, and back; and which types hold what a reward reads."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from plaudit.errors import FileError, WrongType, explain_unreadable
from plaudit.language.field import Field, Kind
from plaudit.language.shapes import Shape
from plaudit.rows.columns import FoundColumn, Values, find_stand_in

_NARROW = {pa.float16(): "float16", pa.float32(): "float32"}
_NAMES = {"halffloat": "float16", "float": "float32", "double": "float64"}


@contextmanager
def translate_read_errors(name: str) -> Iterator[None]:
    """Tell what goes wrong while a file is read as a FileError."""
    try:
        yield
    except FileError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise explain_unreadable(Path(name), error) from None


def convert_column(array: pa.Array, field: Field, shape: Shape = ()) -> Values:
    """Return one column; `missing` replaces absent values, which then no longer count as absent."""
    if shape:
        return _convert_vectors(array, field, shape)
    if pa.types.is_null(array.type):
        array = array.cast({"number": pa.float64(), "flag": pa.bool_(), "category": pa.string()}[field.kind])
    if field.kind == "category":
        return _convert_categories(array, field)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.float64())
    if not array.null_count:
        return Values(to_numpy(array))
    absent = to_numpy(array.is_null())
    filled = to_numpy(array.fill_null(pa.scalar(find_stand_in(field)).cast(array.type, safe=False)))
    return Values(filled, absent if field.missing is None else None)


def _convert_categories(array: pa.Array, field: Field) -> Values:
    """Return the position of each text among the field's labels; an unknown one has the position after the last."""
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    labels = {label: position for position, label in enumerate(field.labels)}
    unknown = len(labels) if field.other is None else labels[field.other]
    positions = [unknown if text is None else labels.get(text, unknown) for text in encoded.dictionary.to_pylist()]
    table = np.array([*positions, find_stand_in(field)], np.int32)  # the last is for an absent text
    empty = {at for at, text in enumerate(encoded.dictionary.to_pylist()) if text is None}
    codes = encoded.indices
    absent = None
    if codes.null_count or empty:
        codes = codes.fill_null(pa.scalar(0).cast(codes.type)) if len(encoded.dictionary) else None
        absent = to_numpy(array.is_null())
        if empty:
            absent = absent | np.isin(to_numpy(encoded.indices.fill_null(0)), list(empty))
    at = np.zeros(len(array), np.intp) if codes is None else to_numpy(codes)
    if absent is not None:
        at = np.where(absent, len(positions), at)
    return Values(table[at], absent if field.missing is None else None)


def _convert_vectors(array: pa.Array, field: Field, shape: Shape, *, inner: bool = False) -> Values:
    """Return lists as rows of a matrix; a list of another length is wrong, an entry that lacks makes its row absent.

    Lists of lists become rows of matrices.
    """
    rows, length = len(array), shape[0]
    if pa.types.is_null(array.type):
        array = array.cast(pa.list_(pa.null() if shape[1:] else pa.float64()))
    absent = to_numpy(array.is_null()) if array.null_count else np.zeros(rows, bool)
    if pa.types.is_fixed_size_list(array.type):
        starts = (np.arange(rows) + array.offset) * length
        wrong = np.zeros(rows, bool)
    else:
        offsets = to_numpy(array.offsets)
        starts = offsets[:-1]
        wrong = (np.diff(offsets) != length) & ~absent
    rest = shape[1:]
    entries = _convert_vectors(array.values, field, rest, inner=True) if rest else convert_column(array.values, field)
    bad = absent | wrong
    if not bad.any() and rows and starts[-1] - starts[0] == (rows - 1) * length:
        whole = slice(int(starts[0]), int(starts[0]) + rows * length)
        matrix, holes, odd = (
            None if part is None else part[whole].reshape(rows, length, *part.shape[1:])
            for part in (entries.array, entries.absent, entries.wrong)
        )
    else:
        at = np.where(bad[:, None], 0, starts[:, None] + np.arange(length))
        safe = _pad(entries.array)
        matrix = safe[at]
        holes, odd = (None if part is None else _pad(part)[at] for part in (entries.absent, entries.wrong))
    assert matrix is not None
    if field.missing is not None and absent.any() and not inner:  # as `reward.score` takes a vector that is None
        matrix = np.array(matrix)
        matrix[absent] = find_stand_in(field)
        absent = np.zeros(rows, bool)
    absent = absent if holes is None else absent | (holes.any(axis=1) & ~bad)
    wrong = wrong if odd is None else wrong | (odd.any(axis=1) & ~bad)
    return Values(matrix, absent if absent.any() else None, wrong if wrong.any() else None)


def _pad(array: NDArray[Any]) -> NDArray[Any]:
    return array if len(array) else np.zeros((1, *array.shape[1:]), array.dtype)


def find_entry_type(kind: Any) -> Any:
    """Return the type of single values in a column, perhaps of lists or of a dictionary."""
    while not pa.types.is_primitive(kind) and hasattr(kind, "value_type"):
        kind = kind.value_type
    return kind


def find_narrow_dtype(kind: pa.DataType) -> str | None:
    """Return the dtype of a column of floats that are narrower than float64, perhaps in lists; None for any other.

    >>> find_narrow_dtype(pa.float32()), find_narrow_dtype(pa.list_(pa.float16(), 3)), find_narrow_dtype(pa.float64())
    ('float32', 'float16', None)
    """
    return _NARROW.get(find_entry_type(kind))


def narrow_value(value: Any, dtype: str) -> Any:
    """Return a number, or nested lists of them, in a dtype of NumPy; an absent one stays what it is."""
    if isinstance(value, list):
        return [narrow_value(entry, dtype) for entry in value]
    return value if value is None else np.dtype(dtype).type(value)


def to_numpy(array: pa.Array) -> NDArray[Any]:
    """Return numbers or flags, none of which is NULL; numbers share the memory of the array.

    >>> to_numpy(pa.array([1.5, 2.5])).tolist(), to_numpy(pa.array([True, False, True])[1:]).tolist()
    ([1.5, 2.5], [False, True])
    """
    size, start = len(array), array.offset
    if pa.types.is_boolean(array.type):
        if not size:
            return np.zeros(0, bool)
        bits = np.frombuffer(array.buffers()[1], np.uint8)[start // 8 : (start + size + 7) // 8]
        flags = np.unpackbits(bits, bitorder="little")[start % 8 : start % 8 + size]
        return flags.view(np.bool_)
    kind = np.dtype(_NAMES.get(str(array.type), str(array.type)))
    buffer = array.buffers()[1]
    if not size or buffer is None:
        return np.zeros(size, kind)
    return np.frombuffer(buffer, kind, size, start * kind.itemsize)


def build_arrays(added: Mapping[str, Any], ok: Any) -> list[pa.Array]:
    """Return the numbers and flags of rows; numbers of rows that are not `ok` are NULL."""
    known = None if ok is None or ok.all() else ok
    return [
        _bools_to_arrow(column) if column.dtype == np.bool_ else _numbers_to_arrow(column, known)
        for column in added.values()
    ]


def _numbers_to_arrow(array: NDArray[np.float64], known: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers as an Arrow array that shares their memory; NULL where they are not `known`.

    >>> _numbers_to_arrow(np.array([1.5, 2.5]), np.array([True, False])).to_pylist()
    [1.5, None]
    """
    valid = None if known is None else _pack_bits(known)
    return pa.Array.from_buffers(pa.float64(), len(array), [valid, pa.py_buffer(np.ascontiguousarray(array))])


def _bools_to_arrow(array: NDArray[np.bool_]) -> pa.Array:
    """Return flags as an Arrow array.

    >>> _bools_to_arrow(np.array([True, False])).to_pylist()
    [True, False]
    """
    return pa.Array.from_buffers(pa.bool_(), len(array), [None, _pack_bits(array)])


def _pack_bits(array: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(array, bitorder="little"))


def list_leaves(fields: Any, before: str = "") -> list[str]:
    """Return the columns of a schema or a struct as CSV has them; FileError where CSV cannot hold one."""
    leaves = []
    for column in fields:
        name = f"{before}{column.name}"
        if pa.types.is_struct(column.type):
            leaves += list_leaves(column.type, f"{name}.")
        elif pa.types.is_nested(column.type):
            raise FileError(
                f"CSV cannot hold the column {name!r} of {column.type}; write .parquet or .jsonl, or leave the column "
                "out with keep= (--keep)."
            )
        else:
            leaves.append(name)
    return leaves


def check_type(where: str, found: FoundColumn) -> None:
    """Raise WrongType where a column's type cannot hold what a reward reads."""
    kind: Any = found.type
    for size in found.shape:
        if not _is_list(kind):
            raise WrongType(f"{where}: a column of {found.type} is not a {_describe(found.shape)}; a list is needed.")
        if pa.types.is_fixed_size_list(kind) and kind.list_size != size:
            raise WrongType(f"{where}: a column of {kind} holds {kind.list_size} entries, not {size}.")
        kind = kind.value_type
    if not _holds(kind, found.place.field.kind):
        needed = {"number": "a number", "flag": "a bool", "category": "a string"}[found.place.field.kind]
        raise WrongType(f"{where}: a column of {kind} does not hold {needed}. Convert the column first.")


def _describe(shape: Shape) -> str:
    return f"vector of {shape[0]}" if len(shape) == 1 else f"list of lists of the shape {shape}"


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _holds(kind: pa.DataType, needed: Kind) -> bool:
    if pa.types.is_null(kind):
        return True
    if pa.types.is_dictionary(kind):
        return _holds(kind.value_type, needed)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if needed == "flag":
        return bool(number or pa.types.is_boolean(kind))
    if needed == "number":
        return bool(number or pa.types.is_decimal(kind))
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
