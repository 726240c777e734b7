"""Parquet: row groups read in batches of bounded size, written compressed as they were."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from plaudit.errors import UnusableFile
from plaudit.language.field import RECORDS
from plaudit.rows.addresses import explain_storage_errors, find_local_path, open_address
from plaudit.rows.arrow import (
    build_arrays,
    check_type,
    convert_column,
    find_narrow_dtype,
    list_leaves,
    narrow_value,
    to_numpy,
    translate_read_errors,
)
from plaudit.rows.chunks import Chunk, Numbers, RowSource
from plaudit.rows.columns import FoundColumn, Path, Refused, Values
from plaudit.rows.objects import BUFFER
from plaudit.rows.streams import find_identity

CHUNK_BYTES = 16 << 20
"""How much of a data set is in one block, about. Some five blocks are in memory at any time."""
MAX_ROWS = 1 << 19
_CODECS = {"SNAPPY": "snappy", "ZSTD": "zstd", "LZ4": "lz4", "LZ4_RAW": "lz4", "UNCOMPRESSED": "none"}
_OTHER = "zstd"
"""For gzip and brotli: as small, and several times as fast."""
_WIDTHS = {"INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8}
_BUFFER = 1 << 20
_SAMPLE = 4_096
_BOOLS = {0: False, 1: True}


class ArrowChunk(Chunk):
    """Rows of an Arrow batch; NULL is an absent value."""

    def __init__(self, batch: pa.RecordBatch, done: int, before: int = 0) -> None:
        self.batch, self.done = batch, done
        self.numbers = range(before + done - batch.num_rows + 1, before + done + 1)
        self.refused: list[Refused] = []

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self.batch.num_rows)

    def read(self, found: FoundColumn) -> Values:
        """Return a column as a compiled reward takes it."""
        return convert_column(self._pick(found.path), found.place.field, found.shape)

    def _pick(self, path: Path) -> pa.Array:
        column = self.batch.column(self.batch.schema.get_field_index(path[0]))
        return column if len(path) == 1 else pc.struct_field(column, path[1:])

    def get_value(self, found: FoundColumn, row: int) -> Any:
        """Return a value as Python's; a float that is narrower than Python's as NumPy's."""
        value = self._pick(found.path)[row].as_py()
        kind, dtype = found.place.field.kind, find_narrow_dtype(found.type)
        if value is None or kind == "category":
            return value
        if kind == "flag":
            return _BOOLS.get(value, value) if not found.shape else value
        if dtype is not None:
            return narrow_value(value, dtype)
        return float(value) if pa.types.is_decimal(found.type) else value

    def list_column(self, name: str) -> list[Any]:
        """Return a column, or a child of a struct, as Python's values."""
        values: list[Any] = self._find(name).to_pylist()
        return values

    def _find(self, name: str) -> pa.Array:
        whole = self.batch.schema.get_field_index(name)
        return self.batch.column(whole) if whole >= 0 else self._pick(tuple(name.split(".")))

    def format_row(self, row: int) -> bytes:
        """Return a row as JSON, absent values left out."""
        [given] = self.batch.slice(row, 1).to_pylist()
        return json.dumps({name: value for name, value in given.items() if value is not None}, default=str).encode()

    def encode_labels(self, name: str) -> tuple[list[Any], Any]:
        """Return the distinct values of a column, None at the end, and the position of each row's own."""
        column = self._find(name)
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        labels = [*encoded.dictionary.to_pylist(), None]
        return labels, to_numpy(encoded.indices.cast(pa.int64()).fill_null(len(labels) - 1))

    def read_numbers(self, name: str) -> Numbers | None:
        """Return a column of numbers, NaN where one is absent; None where it holds anything else."""
        try:
            return np.asarray(to_numpy(self._find(name).cast(pa.float64()).fill_null(float("nan"))), np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None


@dataclass(frozen=True, slots=True)
class TableRows:
    """What a file of a table does not say itself: the columns of the table, and which of its rows are gone."""

    schema: pa.Schema
    constants: Mapping[str, pa.Scalar]
    """The values of partition columns, which are not in the file."""
    selected: Any = None
    """Whether each row is still there, as an array of bools; None where all of them are."""

    def complete(self, batch: pa.RecordBatch, first: int, names: Sequence[str]) -> pa.RecordBatch:
        """Return rows of the file, of which the first has this number, as rows of the table."""
        fields = [self.schema.field(name) for name in names]
        whole = pa.record_batch([self._fill(field, batch) for field in fields], schema=pa.schema(fields))
        if self.selected is None:
            return whole
        here = self.selected[first : first + batch.num_rows]
        return whole.filter(pa.array(np.concatenate([here, np.ones(batch.num_rows - len(here), bool)])))

    def _fill(self, field: pa.Field, batch: pa.RecordBatch) -> pa.Array:
        if field.name in batch.schema.names:
            return batch.column(field.name).cast(field.type, safe=False)
        value = self.constants.get(field.name)
        return pa.nulls(batch.num_rows, field.type) if value is None else pa.repeat(value, batch.num_rows)

    def count(self, first: int, rows: int) -> int:
        """Return how many of so many rows of the file are left, of which the first has this number."""
        return rows if self.selected is None else rows - int(np.count_nonzero(~self.selected[first : first + rows]))


class ParquetSource(RowSource):
    """A Parquet file or object, or some row groups of it that follow one another; perhaps of a table."""

    format = "parquet"
    unit = "row"

    def __init__(
        self,
        path: str,
        batch_rows: int | None = None,
        groups: range | None = None,
        table: TableRows | None = None,
    ) -> None:
        """Read the footer of the file at `path`."""
        self.name, self._batch_rows, self._table = path, batch_rows, table
        local = find_local_path(path)
        self.identity = path if local is None else find_identity(local)
        with explain_read_errors(path):
            # Buffered: a column of a row group of any size is read piece by piece, not whole.
            if local is None:
                files, where = open_address(path)
                self._file = pq.ParquetFile(where, filesystem=files, pre_buffer=False, buffer_size=BUFFER)
            else:
                self._file = pq.ParquetFile(local, pre_buffer=False, buffer_size=_BUFFER)
        self.schema = self._file.schema_arrow if table is None else table.schema
        self.columns = self.schema.names
        self.paths = list_paths(self.schema, path)
        held = [self._file.metadata.row_group(at).num_rows for at in range(self._file.num_row_groups)]
        self._chosen = range(len(held)) if groups is None else groups
        self._first = sum(held[: self._chosen.start])
        starts = itertools.accumulate(held, initial=0)
        self.groups = held if table is None else [*map(table.count, starts, held)]
        self.before = sum(self.groups[: self._chosen.start])
        self.rows = self.total = sum(self.groups[at] for at in self._chosen)

    def chunks(self, needed: Sequence[str]) -> Iterator[Chunk]:
        """Yield the rows in order, with the needed columns."""
        done = 0
        with explain_read_errors(self.name):
            size = self._batch_rows or self._choose_rows(self._list_held(needed))
            for batch in self._read_batches(size, needed):
                done += batch.num_rows
                yield ArrowChunk(batch, done, self.before)

    def _iter_batches(self, size: int, needed: Sequence[str]) -> Iterator[pa.RecordBatch]:
        found: Iterator[pa.RecordBatch] = self._file.iter_batches(size, row_groups=[*self._chosen], columns=[*needed])
        return found

    def may_hold(self, column: str, values: Sequence[Any]) -> bool:
        """Return whether a column may have one of some values, by the statistics of the row groups."""
        held = self._file.schema_arrow.names
        if column not in held or self._file.metadata.num_columns != len(held):
            return True
        at = held.index(column)
        for group in self._chosen:
            known = self._file.metadata.row_group(group).column(at).statistics
            if known is None or not known.has_min_max:
                return True
            alike = [value for value in values if type(value) is type(known.min)]
            if len(alike) < len(values) or any(known.min <= value <= known.max for value in alike):
                return True
        return False

    def _read_batches(self, size: int, needed: Sequence[str]) -> Iterator[pa.RecordBatch]:
        held = self._list_held(needed)
        if self._table is None:
            yield from self._iter_batches(size, held)
            return
        names = [
            name for name in self.columns if name in needed or any(each.partition(".")[0] == name for each in needed)
        ]
        first = self._first
        for batch in self._iter_batches(size, held or self._file.schema_arrow.names[:1]):
            yield self._table.complete(batch, first, names)
            first += batch.num_rows

    def _list_held(self, needed: Sequence[str]) -> list[str]:
        """Return those of the needed columns that the file itself has."""
        held = self._file.schema_arrow.names
        return [name for name in needed if self._table is None or name in held or name.partition(".")[0] in held]

    def check_column(self, where: str, found: FoundColumn) -> None:
        """Refuse a column whose type cannot hold what is read."""
        check_type(where, found)

    def list_leaves(self, kept: Sequence[str]) -> list[str]:
        """Return the columns that CSV has for those that are kept."""
        return list_leaves(pa.schema([self.schema.field(name) for name in kept]))

    def close(self) -> None:
        """Stop reading."""
        self._file.close()

    def _choose_rows(self, needed: Sequence[str]) -> int:
        """Return how many rows make a chunk of the usual size, from the first ones and from what the footer says."""
        for first in self._iter_batches(1_024, needed):
            if first.num_rows:
                each = max(first.nbytes / first.num_rows, self._measure_rows())
                return int(min(max(CHUNK_BYTES / max(each, 1.0), 1_024), MAX_ROWS))
        return MAX_ROWS

    def _measure_rows(self) -> float:
        footer = self._file.metadata
        groups = [footer.row_group(i) for i in range(min(footer.num_row_groups, 64))]
        return max((group.total_byte_size / max(group.num_rows, 1) for group in groups), default=0.0)

    def codecs(self) -> dict[str, str]:
        """Return how each column is compressed."""
        found = {name: _CODECS.get(chunk.compression, _OTHER) for name, chunk in self._list_chunks()}
        return found if self._table is None else dict.fromkeys(self.columns, "snappy") | found

    def dictionaries(self) -> list[str]:
        """Return the columns for which a dictionary pays off: those with repeated values."""
        return [name for name, chunk in self._list_chunks() if chunk.has_dictionary_page and _is_small(chunk)]

    def _list_chunks(self) -> Iterator[tuple[str, pq.ColumnChunkMetaData]]:
        if self._file.metadata.num_row_groups:
            group = self._file.metadata.row_group(0)
            for i in range(group.num_columns):
                yield group.column(i).path_in_schema, group.column(i)


def copy_parquet(sources: Sequence[str], target: str, notes: Mapping[str, str]) -> None:
    """Write the rows of Parquet files with one schema to a file, batch by batch, encoded as in the first with rows."""
    opened = [ParquetSource(path) for path in sources]
    model = next((each for each in opened if each.rows), opened[0])
    sink = ParquetSink(target, model.schema, compression=model.codecs(), words=model.dictionaries())
    try:
        for source in opened:
            for chunk in source.chunks(source.columns):
                sink.write(chunk, {}, None)
            source.close()
        sink.note(notes)
        sink.close()
    finally:
        sink.abandon()


@contextmanager
def explain_read_errors(path: str) -> Iterator[None]:
    """Tell what goes wrong while a file or an object is read as a FileError."""
    local = find_local_path(path)
    with translate_read_errors(local or path):
        if local is not None:
            yield
        else:
            with explain_storage_errors(path):
                yield


def list_paths(schema: pa.Schema, source: str) -> dict[Path, pa.DataType]:
    """Return every column, and the children of `prev` and `curr`; UnusableFile where two have one name."""
    if len(set(schema.names)) < len(schema.names):
        name = next(name for name in schema.names if schema.names.count(name) > 1)
        raise UnusableFile(f"{source} has the column {name!r} twice. Rename one of them.")
    paths: dict[Path, pa.DataType] = {(column.name,): column.type for column in schema}
    for record in RECORDS:
        kind = paths.get((record,))
        if kind is not None and pa.types.is_struct(kind):
            paths |= {(record, child.name): child.type for child in kind}
    return paths


class ParquetSink:
    """A Parquet file to be written: one row group a chunk."""

    def __init__(
        self,
        file: str | BinaryIO,
        schema: pa.Schema,
        build: Callable[[Chunk, pa.Field], pa.Array] | None = None,
        *,
        compression: str | Mapping[str, str] = "snappy",
        words: Sequence[str] | None = None,
    ) -> None:
        """Write to a path, or to an open file that stays open; `build` makes a column of rows that are not Arrow's.

        With `words`, those columns get dictionaries, and new ones of few distinct numbers; else all of them do.
        """
        # Arrow writes to a file of its own without Python's lock, and without a copy.
        self._own = pa.OSFile(file, "wb") if isinstance(file, str) else None
        self._file = self._own or file
        self._schema, self._build = schema, build
        self._compression, self._words = compression, words
        self._writer: pq.ParquetWriter | None = None
        self._notes: dict[str, str] = {}

    def write(self, chunk: Chunk, added: Mapping[str, Any], ok: Any) -> None:
        """Write some rows with their new columns."""
        kept = [field for field in self._schema if field.name not in added]
        if self._build is None:
            assert isinstance(chunk, ArrowChunk)
            old = [chunk.batch.column(chunk.batch.schema.get_field_index(field.name)) for field in kept]
        else:
            old = [self._build(chunk, field) for field in kept]
        batch = pa.record_batch([*old, *build_arrays(added, ok)], schema=self._schema)
        if self._writer is None:
            few = [name for name in added if _has_few_values(batch.column(self._schema.get_field_index(name)))]
            self._writer = self._open_writer(few)
        self._writer.write_batch(batch)

    def _open_writer(self, few: Sequence[str]) -> pq.ParquetWriter:
        words = True if self._words is None else [*self._words, *few] or False  # an empty list would mean every column
        return pq.ParquetWriter(self._file, self._schema, compression=self._compression, use_dictionary=words)

    def note(self, notes: Mapping[str, str]) -> None:
        """Keep a text in the footer."""
        self._notes |= notes

    def close(self) -> None:
        """Finish the file; without rows it has its columns all the same."""
        if self._writer is None:
            self._writer = self._open_writer(())
        if self._notes:
            self._writer.add_key_value_metadata(self._notes)
        self._writer.close()
        if self._own is not None:
            self._own.close()

    def abandon(self) -> None:
        """Let go of the file without finishing it."""
        if self._writer is not None:
            self._writer.is_open = False  # else it would write a footer, on a disk that may be full
        if self._own is not None:
            self._own.close()


def _is_small(chunk: pq.ColumnChunkMetaData) -> bool:
    """Return whether a column takes clearly less room than its values would one by one."""
    width = _WIDTHS.get(chunk.physical_type)
    return width is None or chunk.total_uncompressed_size < 0.7 * width * chunk.num_values


def _has_few_values(column: pa.Array) -> bool:
    """Return whether the first numbers of a column are few distinct ones, so that a dictionary of them pays."""
    if pa.types.is_boolean(column.type):
        return False
    head = to_numpy(column.slice(0, _SAMPLE).drop_null())
    return len(np.unique(head)) <= len(head) // 8
