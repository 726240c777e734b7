"""Parquet: row groups read in batches of bounded size, written compressed as they were."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from plaudit.ledger.dataset.arrow import CHUNK_BYTES, MAX_ROWS, Chunk, to_numpy, translate_read_errors

_CODECS = {"SNAPPY": "snappy", "ZSTD": "zstd", "LZ4": "lz4", "LZ4_RAW": "lz4", "UNCOMPRESSED": "none"}
_OTHER = "zstd"
"""For gzip and brotli: as small, and several times as fast."""
_WIDTHS = {"INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8}
_BUFFER = 1 << 20
_SAMPLE = 4_096


class ParquetSource:
    """A Parquet file."""

    texts = False
    unreadable = 0

    def __init__(self, path: str) -> None:
        """Read the footer of the file at `path`."""
        self.name = path
        with translate_read_errors(path):
            # Buffered: a column of a row group of any size is read piece by piece, not whole.
            self._file = pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER)
        self.schema = self._file.schema_arrow
        self.rows = self.total = self._file.metadata.num_rows

    def chunks(self, needed: Sequence[str], batch_rows: int | None) -> Iterator[Chunk]:
        """Yield the rows in order."""
        done = 0
        with translate_read_errors(self.name):
            size = batch_rows or self._choose_rows(needed)
            for batch in self._file.iter_batches(size, columns=list(needed)):
                done += batch.num_rows
                yield Chunk(batch, done)

    def _choose_rows(self, needed: Sequence[str]) -> int:
        """Return how many rows make a chunk of the usual size, from the first ones and from what the footer says."""
        for first in self._file.iter_batches(1_024, columns=list(needed)):
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
        return {name: _CODECS.get(chunk.compression, _OTHER) for name, chunk in self._list_chunks()}

    def dictionaries(self) -> list[str]:
        """Return the columns for which a dictionary pays; numbers that are all different have begun one in vain."""
        return [name for name, chunk in self._list_chunks() if chunk.has_dictionary_page and _is_small(chunk)]

    def _list_chunks(self) -> Iterator[tuple[str, pq.ColumnChunkMetaData]]:
        if self._file.metadata.num_row_groups:
            group = self._file.metadata.row_group(0)
            for i in range(group.num_columns):
                yield group.column(i).path_in_schema, group.column(i)


class ParquetSink:
    """A Parquet file to be written: one row group a batch."""

    def __init__(self, path: Path, schema: pa.Schema, source: ParquetSource | None, kept: Sequence[str]) -> None:
        """Write to `path`; columns in `kept` are compressed as they are in `source`, where that is Parquet."""
        self._file = pa.OSFile(os.fspath(path), "wb")
        self._schema = schema
        self._source = source
        self._kept = set(kept)
        self._writer: pq.ParquetWriter | None = None
        self._notes: dict[str, str] = {}

    def write(self, batch: pa.RecordBatch, lines: Sequence[bytes] | None) -> None:
        """Write a batch."""
        if self._writer is None:
            self._writer = self._open_writer(batch)
        self._writer.write_batch(batch)

    def note(self, notes: Mapping[str, str]) -> None:
        """Keep a text in the footer."""
        self._notes |= notes

    def close(self) -> None:
        """Finish the file; without rows it has its columns all the same."""
        if self._writer is None:
            self._writer = self._open_writer(
                pa.record_batch([pa.array([], f.type) for f in self._schema], self._schema)
            )
        if self._notes:
            self._writer.add_key_value_metadata(self._notes)
        self._writer.close()
        self._file.close()

    def abandon(self) -> None:
        """Close the file without finishing it."""
        if self._writer is not None:
            self._writer.is_open = False  # else it would write a footer, on a disk that may be full
        self._file.close()

    def _open_writer(self, first: pa.RecordBatch) -> pq.ParquetWriter:
        new = [name for name in self._schema.names if name not in self._kept]
        if self._source is None:
            return pq.ParquetWriter(self._file, self._schema)
        codecs = self._source.codecs() | dict.fromkeys(new, "snappy")
        few = [name for name in new if _has_few_values(first.column(self._schema.get_field_index(name)))]
        words = [name for name in self._source.dictionaries() if name not in new]
        # A list that is empty would mean every column.
        return pq.ParquetWriter(self._file, self._schema, compression=codecs, use_dictionary=[*words, *few] or False)


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
