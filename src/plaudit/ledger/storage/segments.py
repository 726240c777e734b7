"""Segments: immutable Parquet files that hold records, of which the database keeps where they lie and what they sum to.

A segment is written and synced under a hidden name. The transaction that enters it gives it its own; when that is
durable the hidden one goes. It is never changed. A file that no row of `segments` names is left over from a write that
never became durable: `compact` removes it.
"""

import hashlib
import io
import os
import re
import shutil
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from plaudit.atomic import sync_folder
from plaudit.errors import LedgerBroken, UnusableFile
from plaudit.ledger.context import Scope
from plaudit.ledger.storage.codec import MAX_RECORDS, Block, RecordLayout, Rows, Stored
from plaudit.ledger.storage.record_table import Context, RecordTable, describe_steps, get_table
from plaudit.ledger.storage.steps import Steps

ROWS = MAX_RECORDS
"""Records in a row group, and in a block of a segment, at most: one of them is read without much of the rest."""
MOST = 1 << 20
"""Records in a file, at most."""
_PLAIN = re.compile(r"[^0-9A-Za-z._-]+")


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A file that is written and durable, perhaps not under its name yet."""

    path: str
    """Under the ledger's folder of segments."""
    records: int
    size: int
    sha256: bytes


class Segments:
    """The segments of a ledger in a folder beside it."""

    def __init__(self, folder: Path) -> None:
        """Keep where it is; it is made with the first segment."""
        self.folder = folder
        self._opened: OrderedDict[str, pq.ParquetFile] = OrderedDict()
        self._groups: OrderedDict[tuple[str, int, tuple[str, ...] | None], pa.Table] = OrderedDict()
        self._lock = Lock()

    # -- blocks of a segment -------------------------------------------------------------------------------------------

    def store(
        self,
        layout: RecordLayout,
        target: str,
        scope: Scope,
        parts: Iterable[tuple[Context, Rows, Rows]],
        *,
        computed: bool = False,
    ) -> list[Block]:
        """Write records to a segment, a block for each part of them: what is known of them, inputs and outputs.

        Raises:
            NotFaithful: A file would not give the inputs back to the bit.
        """
        records = get_table(layout, target)
        tables, made, place = [], [], 0
        for context, inputs, outputs in parts:
            table = records.build(scope, context, inputs, outputs, computed=computed)
            count, (earliest, latest) = len(table), (int(end(context.times)) for end in (np.min, np.max))
            stored = Stored(None, place, records.digest(table), records.summarize(table))
            made.append(Block(layout, target, scope, count, earliest, latest, b"", b"", stored=stored))
            tables.append(table)
            place += count
        file = self.write(records, tables)
        return [replace(block, stored=block.stored._replace(file=file)) for block in made if block.stored is not None]

    def store_steps(
        self,
        layout: RecordLayout,
        target: str,
        scope: Scope,
        steps: Steps,
        outputs: Rows,
        about: Mapping[int, Mapping[str, Any]],
    ) -> Iterator[Block]:
        """Write steps that the NumPy target has scored; yield their blocks. `about` is what some contexts say besides.

        Raises:
            NotFaithful: As `store` does.
        """

        def split(first: int, last: int) -> Iterator[tuple[Context, Rows, Rows]]:
            for start in range(first, last, ROWS):
                end = min(start + ROWS, last)
                part = Steps._make(column[start:end] for column in steps)
                said = {at - start: each for at, each in about.items() if start <= at < end}
                yield describe_steps(part, said), part.inputs, outputs[start:end]

        for first in range(0, len(outputs), MOST):
            parts = split(first, min(first + MOST, len(outputs)))
            yield from self.store(layout, target, scope, parts, computed=True)

    # -- writing -------------------------------------------------------------------------------------------------------

    def write(self, records: RecordTable, tables: Sequence[pa.Table]) -> SegmentFile:
        """Write blocks of records as one file under a hidden name; a block of `ROWS` is a row group."""
        path = f"{_name_folder(records.layout)}/{time.strftime('%Y%m%d', time.gmtime())}-{token_hex(8)}.parquet"
        data = encode_tables(records, tables)
        target = self._hide(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            with suppress(OSError):
                target.unlink()
            raise UnusableFile(
                f"{target.parent} cannot be written: {error.strerror or error}. Nothing was recorded; free some space "
                "or mend the folder and try again."
            ) from error
        return SegmentFile(path, sum(map(len, tables)), len(data), hashlib.sha256(data).digest())

    def publish(self, file: SegmentFile) -> None:
        """Give a file its name besides the hidden one, in the transaction that enters it."""
        target, hidden = self.folder / file.path, self._hide(file.path)
        if not target.exists():
            try:
                os.link(hidden, target)
            except OSError:  # a file system without links
                shutil.copyfile(hidden, target)
        for folder in (target.parent, self.folder, self.folder.parent):
            sync_folder(folder)

    def settle(self, path: str) -> None:
        """Remove the hidden name of a file whose transaction is durable."""
        self._hide(path).unlink(missing_ok=True)

    def remove(self, path: str) -> None:
        """Remove a file that no row names any more."""
        (self.folder / path).unlink(missing_ok=True)

    def list_orphans(self, known: Collection[str]) -> list[str]:
        """Return the files that no row names; hidden ones when they are a day old: somebody may be writing them."""
        found = []
        for each in sorted(self.folder.glob("*/*.parquet")) if self.folder.is_dir() else ():
            path = each.relative_to(self.folder).as_posix()
            old = not each.name.startswith(".") or time.time() - each.stat().st_mtime > 86_400
            if path not in known and old:
                found.append(path)
        return found

    def _hide(self, path: str) -> Path:
        target = self.folder / path
        return target.with_name(f".{target.name}")

    # -- reading -------------------------------------------------------------------------------------------------------

    def read(self, path: str, place: int, count: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Return some records of a file, from the row `place` on; of `columns`, those that the file has.

        Raises:
            LedgerBroken: The file is gone, or cannot be read.
        """
        try:
            file = self._open(path)
            footer = file.metadata
            known = None if columns is None else tuple(n for n in columns if n in file.schema_arrow.names)
            found, start = [], 0
            for group in range(footer.num_row_groups):
                rows = footer.row_group(group).num_rows
                if start < place + count and place < start + rows:
                    low, high = max(place, start) - start, min(place + count, start + rows) - start
                    found.append(self._read_group(path, file, group, known).slice(low, high - low))
                start += rows
            table = pa.concat_tables(found) if len(found) != 1 else found[0]
        except FileNotFoundError:
            raise LedgerBroken(
                f"the segment {self.name_file(path)} is gone. Bring the file back; verify tells which records it holds."
            ) from None
        except (pa.ArrowException, OSError, ValueError) as error:
            raise LedgerBroken(
                f"the segment {self.name_file(path)} cannot be read ({str(error).splitlines()[0]:.200}); verify tells "
                "which records it holds."
            ) from None
        if len(table) != count:
            raise LedgerBroken(f"the segment {self.name_file(path)} lacks records; verify tells which.")
        return table

    def name_file(self, path: str) -> str:
        """Return what errors call a file."""
        return os.fspath(self.folder / path)

    def open_file(self, path: str) -> Any:
        """Open a file to read its bytes."""
        return (self.folder / path).open("rb")

    def find_table(self, layout: RecordLayout, target: str) -> RecordTable:
        """Return how the records of a reward lie in files."""
        return get_table(layout, target)

    def match(self, column: pa.ChunkedArray, wanted: str | int) -> NDArray[np.bool_]:
        """Return where a column has an entry."""
        return np.asarray(pc.fill_null(pc.equal(column, wanted), False))

    def _open(self, path: str) -> pq.ParquetFile:
        with self._lock:
            if path not in self._opened:
                self._opened[path] = pq.ParquetFile(self.folder / path)
                if len(self._opened) > 64:
                    self._opened.popitem(last=False)
            self._opened.move_to_end(path)
            return self._opened[path]

    def _read_group(self, path: str, file: pq.ParquetFile, group: int, columns: tuple[str, ...] | None) -> pa.Table:
        key = path, group, columns
        with self._lock:
            if key not in self._groups:
                names = None if columns is None else list(columns)
                self._groups[key] = file.read_row_group(group, columns=names, use_threads=False)
                if len(self._groups) > 8:
                    self._groups.popitem(last=False)
            self._groups.move_to_end(key)
            return self._groups[key]

    def forget(self) -> None:
        """Close every file: another process may have replaced them."""
        with self._lock:
            self._opened.clear()
            self._groups.clear()


def encode_tables(records: RecordTable, tables: Sequence[pa.Table]) -> bytes:
    """Return blocks of records as the bytes of a Parquet file."""
    names = list(dict.fromkeys(name for table in tables for name in table.column_names))
    whole = pa.concat_tables([_add_absent(table, names, tables) for table in tables]).unify_dictionaries()
    schema = whole.schema.with_metadata(records.describe())
    floats = [field.name for field in schema if pa.types.is_floating(field.type)]
    words = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    integers = [field.name for field in schema if pa.types.is_integer(field.type) or pa.types.is_timestamp(field.type)]
    buffer = io.BytesIO()
    with pq.ParquetWriter(
        buffer,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=words or False,
        use_byte_stream_split=floats or False,
        column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED"),
    ) as writer:
        writer.write_table(whole, row_group_size=ROWS)
    return buffer.getvalue()


def _add_absent(table: pa.Table, names: Sequence[str], tables: Iterable[pa.Table]) -> pa.Table:
    """Return a table with all columns; one that another block of the file has, and this one does not, is empty."""
    for name in names:
        if name not in table.column_names:
            kind = next(other.schema.field(name).type for other in tables if name in other.column_names)
            table = table.append_column(name, pa.nulls(len(table), kind))
    return table.select(names)


def _name_folder(layout: RecordLayout) -> str:
    """Return the folder for the files of a reward: all of them have the same columns."""
    reward = layout.reward
    part = "" if layout.part == "whole" else f"-{layout.part}"
    return f"{_PLAIN.sub('_', f'{reward.name}@{reward.version}')[:80]}{part}-{reward.fingerprint[:12]}"
