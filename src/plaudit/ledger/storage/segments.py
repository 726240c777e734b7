"""Segments: immutable Parquet files that hold records, of which the database keeps where they lie and what they sum to.

A segment is written and synced under a hidden name. The transaction that enters it gives it its own; when that is
durable the hidden one goes. It is never changed. A file that no row of `segments` names is left over from a write that
never became durable: `compact` removes it.
"""

import hashlib
import io
import os
import shutil
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
from plaudit.errors import FileError, LedgerBroken, UnusableFile
from plaudit.ledger.context import Scope
from plaudit.ledger.storage.codec import MAX_RECORDS, Block, NotFaithful, RecordLayout, Rows, Stored
from plaudit.ledger.storage.lake_files import build_address, hash_file, name_folder, put_bytes, remove_file
from plaudit.ledger.storage.record_table import Context, RecordTable, describe_steps, get_table
from plaudit.ledger.storage.steps import Steps
from plaudit.rows.addresses import UNEXPLAINED, explain_storage_errors, is_address, open_address

ROWS = MAX_RECORDS
"""Records in a row group, and in a block of a segment, at most: one of them is read without much of the rest."""
MOST = 1 << 20
"""Records in a file, at most."""
_AWAY = 20
"""Seconds for which a storage that does not answer is not asked again."""


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A file that is written and durable, perhaps not under its name yet."""

    path: str
    """Under the ledger's folder of segments, or an address."""
    records: int
    size: int
    sha256: bytes


class Segments:
    """The segments of a ledger: in a folder beside it, and in lakes."""

    def __init__(self, folder: Path | None, lake: str | None = None) -> None:
        """Keep where new ones go: to a folder, which is made with the first, or to a lake; to neither without both."""
        self._folder, self._lake = folder, lake
        self._away: tuple[float, str] | None = None
        """When an address could not be read or written, and why: for a while, others are not tried."""
        self.refused: FileError | None = None
        """Why the lake did not take records, which are kept in the database until it does."""
        self._opened: OrderedDict[str, pq.ParquetFile] = OrderedDict()
        self._groups: OrderedDict[tuple[str, int, tuple[str, ...] | None], pa.Table] = OrderedDict()
        self._lock = Lock()

    @property
    def folder(self) -> Path:
        """The folder of a ledger that is a file."""
        assert self._folder is not None
        return self._folder

    @property
    def is_writable(self) -> bool:
        """Whether new segments have a place."""
        return self._folder is not None or self._lake is not None

    @property
    def is_local(self) -> bool:
        """Whether new segments go to a folder beside the ledger."""
        return self._folder is not None

    @contextmanager
    def send_to(self, lake: str) -> Iterator[None]:
        """Send new segments of a ledger on a server to a lake meanwhile."""
        before, self._lake = self._lake, lake
        try:
            yield
        finally:
            self._lake = before

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
            NotFaithful: A file would not give the inputs back to the bit, or the lake does not take it.
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
        try:
            file = self.write(records, tables)
        except FileError as error:
            if self._folder is not None:
                raise
            self.refused = error
            raise NotFaithful(str(error)) from None
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
        """Write blocks of records as one file under a hidden name; a block of `ROWS` is a row group.

        Raises:
            FileError: The folder or the lake does not take it.
        """
        name = f"{time.strftime('%Y%m%d', time.gmtime())}-{token_hex(8)}.parquet"
        data = encode_tables(records, tables)
        count, sha256 = sum(map(len, tables)), hashlib.sha256(data).digest()
        if self._folder is None:
            return SegmentFile(self._upload(records, tables[0], name, data), count, len(data), sha256)
        path = f"{name_folder(records)}/{name}"
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
        return SegmentFile(path, count, len(data), sha256)

    def _upload(self, records: RecordTable, first: pa.Table, name: str, data: bytes) -> str:
        assert self._lake is not None
        address = build_address(self._lake, records, first, name)
        with self._note_absence(address):
            put_bytes(data, address)
        return address

    @contextmanager
    def _note_absence(self, address: str) -> Iterator[None]:
        """Raise FileError where a storage does not answer; for a while after that, at once."""
        if not is_address(address):
            yield
            return
        if self._away is not None and time.monotonic() - self._away[0] < _AWAY:
            raise FileError(self._away[1])
        gone = None
        try:
            with explain_storage_errors(address):
                try:
                    yield
                except FileNotFoundError as error:
                    gone = error
        except FileError as error:
            if UNEXPLAINED not in str(error):
                self._away = time.monotonic(), str(error)
            raise
        if gone is not None:
            raise gone

    def publish(self, file: SegmentFile) -> None:
        """Give a file its name besides the hidden one, in the transaction that enters it; in a lake it has no other."""
        if is_address(file.path):
            return
        target, hidden = self.folder / file.path, self._hide(file.path)
        if not target.exists():
            try:
                os.link(hidden, target)
            except OSError:  # a file system without links
                _copy_whole(hidden, target)
        for folder in (target.parent, self.folder, self.folder.parent):
            sync_folder(folder)

    def settle(self, path: str) -> None:
        """Remove the hidden name of a file whose transaction is durable."""
        if not is_address(path):
            self._hide(path).unlink(missing_ok=True)

    def remove(self, path: str) -> None:
        """Remove a file that no row names any more."""
        if is_address(path):
            remove_file(path)
        else:
            (self.folder / path).unlink(missing_ok=True)

    def size(self) -> int:
        """Return the bytes of the files beside the ledger."""
        if self._folder is None:
            return 0
        return sum(each.stat().st_size for each in self._folder.glob("*/*.parquet") if each.name[0] != ".")

    def list_orphans(self, known: Collection[str]) -> list[str]:
        """Return the files that no row names; hidden ones when they are a day old: somebody may be writing them."""
        found = []
        for each in sorted(self._folder.glob("*/*.parquet")) if self._folder is not None else ():
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
            with self._note_absence(path):
                table = self._read(path, place, count, columns)
        except FileError as error:
            raise LedgerBroken(f"a segment cannot be read: {error} Verify tells which records it holds.") from None
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

    def _read(self, path: str, place: int, count: int, columns: Sequence[str] | None) -> pa.Table:
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
        return pa.concat_tables(found) if len(found) != 1 else found[0]

    def read_footer(self, path: str) -> pq.FileMetaData:
        """Return the footer of a file."""
        with self._note_absence(path):
            return self._open(path).metadata

    def name_file(self, path: str) -> str:
        """Return what errors call a file."""
        return path if is_address(path) else os.fspath(self.folder / path)

    def hash_file(self, path: str) -> tuple[int, bytes]:
        """Return the size and the SHA-256 of a file.

        Raises:
            OSError: It is gone, or cannot be read.
        """
        with self._note_absence(path):
            if not is_address(path):
                return hash_file((self.folder / path).open("rb"))
            filesystem, where = open_address(path)
            return hash_file(filesystem.open_input_stream(where))

    def find_table(self, layout: RecordLayout, target: str) -> RecordTable:
        """Return how the records of a reward lie in files."""
        return get_table(layout, target)

    def match(self, column: pa.ChunkedArray, wanted: str | int) -> NDArray[np.bool_]:
        """Return where a column has an entry."""
        return np.asarray(pc.fill_null(pc.equal(column, wanted), False))

    def _open(self, path: str) -> pq.ParquetFile:
        with self._lock:
            if path not in self._opened:
                if is_address(path):
                    filesystem, where = open_address(path)
                    self._opened[path] = pq.ParquetFile(where, filesystem=filesystem, pre_buffer=True)
                else:
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


def _copy_whole(source: Path, target: Path) -> None:
    """Copy a file to a name under which it is whole and durable, or not there."""
    draft = source.with_name(f"{source.name}.copy")
    shutil.copyfile(source, draft)
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.replace(target)


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
