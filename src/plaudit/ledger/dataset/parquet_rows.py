"""Parquet row by row: rows as a reward takes them, one after the other, and numbers written one row at a time."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from plaudit.errors import FileError, InputError, UnusableFile
from plaudit.language.field import RECORDS
from plaudit.ledger.dataset.arrow import find_narrow_dtype, narrow_value
from plaudit.ledger.dataset.parquet_files import ParquetSource
from plaudit.ledger.dataset.scoring import FoundColumn, find_columns, pick_column, refuse_duplicates
from plaudit.reward.rows import Row, RowLayout

GROUP = 1 << 14
"""Rows of a row group, and rows that are read at a time: as Python objects they take some hundred times the bytes."""
_BOOLS = {0: False, 1: True}


def read_rows(layout: RowLayout, path: str, progress: Callable[[int, int], None] | None = None) -> Iterator[Row]:
    """Yield the rows of a Parquet file by column, absent values left out.

    Raises:
        UnusableFile: It is no Parquet file, or damaged, or has a column twice, or one that the reward does not read.
        InputError: A column lacks that the reward needs, or cannot hold what it needs.
    """
    source = ParquetSource(path)
    refuse_duplicates(source.schema.names, path)
    try:
        layout.check(_list_names(source.schema))
    except (FileError, InputError) as error:
        raise UnusableFile(f"{path}: {error}") from None
    found = find_columns(layout.reward.program, source.schema, path)
    names = [one.name for one in found]
    for chunk in source.chunks(list(dict.fromkeys(one.dotted for one in found)), GROUP):
        columns = [_list_values(pick_column(chunk.batch, one), one) for one in found]
        for values in zip(*columns, strict=True) if columns else [()] * chunk.batch.num_rows:
            yield {name: value for name, value in zip(names, values, strict=True) if value is not None}
        if progress is not None:
            progress(chunk.done, source.total)


def _list_names(schema: pa.Schema) -> Iterator[str]:
    """Yield every column by name; of `prev` and `curr`, what they hold."""
    for column in schema:
        if column.name in RECORDS and pa.types.is_struct(column.type):
            yield from (f"{column.name}.{child.name}" for child in column.type)
        else:
            yield column.name


def _list_values(array: pa.Array, found: FoundColumn) -> list[Any]:
    """Return a column as Python's numbers, bools and strings; floats that are narrower than Python's as NumPy's."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.float64())
    values: list[Any] = array.to_pylist()
    dtype = find_narrow_dtype(array.type)
    if dtype is not None and found.place.field.kind == "number":
        return [narrow_value(value, dtype) for value in values]
    flags = found.place.field.kind == "flag" and not found.shape
    return [_BOOLS.get(value, value) for value in values] if flags and not pa.types.is_boolean(array.type) else values


class NumberSink:
    """A Parquet file of numbers, written to an open file in row groups of bounded size."""

    def __init__(self, file: BinaryIO, integers: Sequence[str], floats: Sequence[str]) -> None:
        """Begin a file with these columns."""
        kinds = [*((name, pa.int64()) for name in integers), *((name, pa.float64()) for name in floats)]
        self._schema = pa.schema(kinds)
        self._file = file
        self._writer: pq.ParquetWriter | None = None  # until there is something to write
        self._rows: list[tuple[float, ...]] = []

    def write(self, row: tuple[float, ...]) -> None:
        """Write one row."""
        self._rows.append(row)
        if len(self._rows) == GROUP:
            self._flush()

    def _flush(self) -> pq.ParquetWriter:
        writer = self._writer = self._writer or pq.ParquetWriter(self._file, self._schema)
        if self._rows:
            columns = zip(zip(*self._rows, strict=True), self._schema.types, strict=True)
            arrays = [pa.array(column, kind) for column, kind in columns]
            writer.write_batch(pa.record_batch(arrays, schema=self._schema))
            self._rows.clear()
        return writer

    def close(self) -> None:
        """Finish the file; without rows it has its columns all the same."""
        self._flush().close()

    def abandon(self) -> None:
        """Let go of the file without finishing it."""
        if self._writer is not None:
            self._writer.is_open = False  # else it would write a footer, on a disk that may be full
