"""CSV: every column is text, so that what is kept is kept as it was written."""

import csv
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from plaudit.errors import FileError, UnusableFile
from plaudit.ledger.dataset.arrow import Chunk, translate_read_errors
from plaudit.reward.row_files import strip_mark

_BLOCK = 4 << 20


class CsvSource:
    """A CSV file with a header; an empty cell is an absent value, a quoted empty one is an empty text."""

    texts = True
    rows = None

    def __init__(self, path: str) -> None:
        """Read the header of the file at `path`."""
        self.name = path
        self.unreadable = 0
        with translate_read_errors(path):
            self.total = os.path.getsize(path)
            self._names = _read_header(path)
        self.schema = pa.schema([(name, pa.string()) for name in self._names])

    def chunks(self, needed: Sequence[str], batch_rows: int | None) -> Iterator[Chunk]:
        """Yield the rows in order; a line with too few or too many cells is counted, and left out."""
        with translate_read_errors(self.name), open(self.name, "rb") as file:
            reader = arrow_csv.open_csv(
                file,
                read_options=arrow_csv.ReadOptions(block_size=_BLOCK),
                parse_options=arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=self._skip_row),
                convert_options=arrow_csv.ConvertOptions(
                    column_types={name: pa.string() for name in self._names},
                    include_columns=list(needed),
                    strings_can_be_null=True,
                    null_values=[""],
                    quoted_strings_can_be_null=False,
                ),
            )
            for whole in reader:
                for start in range(0, whole.num_rows, batch_rows or max(whole.num_rows, 1)):
                    yield Chunk(whole.slice(start, batch_rows), min(file.tell(), self.total))

    def _skip_row(self, row: arrow_csv.InvalidRow) -> str:
        self.unreadable += 1
        return "skip"


def _read_header(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            strip_mark(path, bytes(file.buffer.read(3)))
            file.seek(0)
            names = next(csv.reader(file, strict=True), None)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UnusableFile(f"{path} is not CSV: its header cannot be read ({error}).") from None
    if not names:
        raise UnusableFile(f"{path} is empty; a CSV file begins with the names of its columns.")
    return names


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

    def write(self, batch: pa.RecordBatch, lines: Sequence[bytes] | None) -> None:
        """Write a batch."""
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
