"""A CSV file of Arrow batches, written as they come."""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from plaudit.errors import FileError


class CsvSink:
    """A CSV file to be written; texts are quoted where one of their batch needs it."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        """Write to `path`; a column that CSV cannot hold is an error here."""
        for column in schema:
            if pa.types.is_nested(column.type) and not pa.types.is_struct(column.type):
                raise FileError(
                    f"CSV cannot hold the column {column.name!r} of {column.type}; write .parquet or .jsonl, or leave "
                    "the column out with keep=."
                )
        self._file = pa.OSFile(os.fspath(path), "wb")
        self._header = True
        self._schema = schema

    def write(self, batch: pa.RecordBatch, lines: Sequence[bytes] | None = None) -> None:
        """Write a batch; the `lines` that it was read from are not asked for."""
        flat = _flatten(batch)
        if self._header:
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerow(flat.schema.names)
            self._file.write(text.getvalue().encode())
            self._header = False
        style = "needed" if _has_empty_text(flat) else "none"
        try:
            self._write_rows(flat, style)
        except pa.ArrowInvalid:  # a text with a comma, a quote or a line end
            self._write_rows(flat, "needed")

    def _write_rows(self, batch: pa.RecordBatch, style: str) -> None:
        buffer = pa.BufferOutputStream()
        arrow_csv.write_csv(batch, buffer, arrow_csv.WriteOptions(include_header=False, quoting_style=style))
        self._file.write(buffer.getvalue())

    def close(self) -> None:
        """Finish the file; without rows it has its header all the same."""
        if self._header:
            self.write(pa.record_batch([pa.array([], f.type) for f in self._schema], self._schema), None)
        self._file.close()

    def abandon(self) -> None:
        """Close the file without finishing it."""
        self._file.close()


def _flatten(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with structs as columns `prev.tokens_used`, and texts of a dictionary as texts."""
    while any(pa.types.is_struct(kind) for kind in batch.schema.types):
        batch = pa.Table.from_batches([batch]).flatten().combine_chunks().to_batches()[0]
    columns = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
    return pa.record_batch(columns, names=batch.schema.names)


def _has_empty_text(batch: pa.RecordBatch) -> bool:
    """Return whether a text is empty; without quotes it would read as absent."""
    return any(
        pc.any(pc.equal(column, "")).as_py() is True for column in batch.columns if pa.types.is_string(column.type)
    )
