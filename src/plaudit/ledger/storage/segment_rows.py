"""Rows of `blocks` whose columns lie in a segment, read as if they lay in the row: only what is asked for is loaded."""

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from plaudit.errors import LedgerBroken, MissingExtra
from plaudit.ledger.backends.backend import Backend, report_damage
from plaudit.ledger.storage.codec import RecordLayout, Rows, encode_column
from plaudit.ledger.storage.schema import blocks, segments
from plaudit.ledger.storage.specs import SpecCache

HELD = ("times", "keys", "episodes", "steps", "contexts", "inputs", "outputs")
"""The columns of a block that a segment has in its place."""
LOCATED = tuple(blocks.c[name] for name in ("first", "records", "earliest", "spec", "target", "segment", "place"))
"""What has to be known of a block to read such columns."""


class SegmentRow:
    """A row of `blocks` of which a segment has the columns."""

    def __init__(self, row: Any, reader: "SegmentReader", start: int = 0, count: int | None = None) -> None:
        """Keep the row, which has the columns of `LOCATED`; of its records, `count` from `start` on."""
        self._row, self._reader, self._start = row, reader, start
        self.records = row.records if count is None else count
        self.first = row.first + start

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name) + self._start if name == "seq" else getattr(self._row, name)

    def narrow(self, start: int, end: int) -> "SegmentRow":
        """Return the row of some of its records, which are loaded without the others."""
        return SegmentRow(self._row, self._reader, start, end - start)

    def _read(self, *names: str) -> Any:
        return self._reader.read(self._row, self._start, self.records, names)

    @cached_property
    def _records(self) -> Any:
        return self._reader.find_table(self._row)

    def list_entries(self, name: str) -> list[Any]:
        """Return a column of the context as Python's values."""
        own = self._records.names[name]
        listed: list[Any] = self._read(own).column(own).to_pylist()
        return listed

    @cached_property
    def moments(self) -> NDArray[np.int64]:
        """When each record was made, in microseconds."""
        own = self._records.names["time"]
        return np.asarray(self._read(own).column(own).cast("int64"))

    @cached_property
    def times(self) -> str | None:
        """As in a block."""
        after = self.moments - self._row.earliest
        return json.dumps(after.tolist()) if after.any() else None

    @cached_property
    def keys(self) -> str | None:
        """As in a block."""
        listed = self.list_entries("key")
        return None if listed.count(None) == len(listed) else json.dumps(listed)

    @cached_property
    def episodes(self) -> str | None:
        """As in a block."""
        return encode_column(self.list_entries("episode"))

    @cached_property
    def steps(self) -> str | None:
        """As in a block."""
        return encode_column(self.list_entries("step"))

    @cached_property
    def contexts(self) -> str | None:
        """As in a block."""
        names = (self._records.names[name] for name in ("end", "original_reward", "context"))
        found: str | None = self._records.read_contexts(self._read(*names))
        return found

    @cached_property
    def further_contexts(self) -> str | None:
        """What contexts say that no column does, one after the other; None where none says more."""
        own = self._records.names["context"]
        column = self._read(own).column(own)
        return None if column.null_count == len(column) else "\n".join(filter(None, column.to_pylist()))

    @cached_property
    def input_rows(self) -> Rows:
        """The inputs of its records."""
        found: Rows = self._records.read_inputs(self._read(*self._records.list_inputs()))
        return found

    @cached_property
    def inputs(self) -> bytes:
        """As in a block."""
        return self.input_rows.tobytes()

    @cached_property
    def output_rows(self) -> Rows:
        """The outputs of its records."""
        records = self._records
        found: Rows = records.read_outputs(self._read(*records.list_inputs(), *records.outputs), self.input_rows)
        return found

    @cached_property
    def outputs(self) -> bytes:
        """As in a block."""
        return self.output_rows.tobytes()

    @cached_property
    def values(self) -> Rows:
        """The totals and the values of each term."""
        found: Rows = self._records.read_values(self._read(*self._records.list_values()))
        return found

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """The totals alone."""
        own = self._records.outputs[0]
        return np.array(self._read(own).column(own).to_numpy(), np.float64)

    def match(self, name: str, wanted: str | int) -> NDArray[np.bool_]:
        """Return which records have this entry in a column of the context."""
        own = self._records.names[name]
        found: NDArray[np.bool_] = self._reader.files.match(self._read(own).column(own), wanted)
        return found

    def summarize(self) -> tuple[Any, ...]:
        """Return what the catalogue should say of its records."""
        found: tuple[Any, ...] = self._records.summarize(self._reader.read(self._row, 0, self.records, None))
        return found

    def compute_digest(self) -> bytes:
        """Return the digest of its records as they lie in the segment."""
        table = self._reader.read(self._row, 0, self.records, None)
        found: bytes = self._records.digest(table)
        return found


class SegmentReader:
    """Reads the segments of a ledger for the rows of blocks."""

    def __init__(self, backend: Backend, specs: SpecCache) -> None:
        """Keep the ledger; no file is opened yet."""
        self.backend, self._specs = backend, specs
        self._paths: dict[int, str] = {}

    def hydrate(self, row: Any) -> Any:
        """Return a row of `blocks`, or one that reads its columns from a segment when they are asked for."""
        return row if row.segment is None else SegmentRow(row, self)

    def hydrate_all(self, rows: Iterable[Any]) -> list[Any]:
        """Return rows of `blocks`, each with its columns."""
        return [self.hydrate(row) for row in rows]

    def read(self, row: Any, start: int, count: int, names: Sequence[str] | None) -> Any:
        """Return columns of a block from its segment; where they were moved meanwhile, from where they are."""
        path = self._find_path(row.segment)
        try:
            return self.files.read(path, row.place + start, count, names)
        except LedgerBroken:
            with self.backend.snapshot() as connection:
                where = blocks.c.first == row.first
                now = connection.execute(select(blocks.c.segment, blocks.c.place).where(where)).one_or_none()
            if now is None or now.segment is None:
                raise
            self._paths.pop(row.segment, None)
            found = self._find_path(now.segment)
            if found == path:
                raise
            return self.files.read(found, now.place + start, count, names)

    def name_file(self, row: Any) -> str:
        """Return what errors call the file that a block lies in."""
        name: str = self.files.name_file(self._find_path(row.segment))
        return name

    def find_layout(self, row: Any) -> RecordLayout:
        """Return the layout of a block."""
        with self.backend.snapshot() as connection:
            return self._specs.read(connection, [row.spec])[row.spec]

    def find_table(self, row: Any) -> Any:
        """Return how the records of a block lie in its segment."""
        with report_damage(self.backend.name, f"the block of record {row.first}"):
            return self.files.find_table(self.find_layout(row), row.target)

    @property
    def files(self) -> Any:
        """The files beside the ledger.

        Raises:
            MissingExtra: pyarrow is not installed.
        """
        if self.backend.segments is None:
            raise MissingExtra(
                f"{self.backend.name} has records in Parquet files, and reading them needs pyarrow. Install it: "
                "pip install 'plaudit[data]'"
            )
        return self.backend.segments

    def _find_path(self, number: int) -> str:
        if number not in self._paths:
            with self.backend.snapshot() as connection:
                path = connection.execute(select(segments.c.path).where(segments.c.id == number)).scalar()
            if path is None:
                raise LedgerBroken(f"{self.backend.name} is damaged: segment {number} is missing; verify the ledger.")
            self._paths[number] = path
        return self._paths[number]
