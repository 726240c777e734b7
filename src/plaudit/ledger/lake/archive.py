"""Archiving: segments are copied to a lake, checked, listed in a Delta table there, and then no longer kept here.

Each step can be repeated. A segment is first marked with the address that it goes to, so that nothing else moves its
records; then its file is copied and read back, then a Delta table lists it, then the ledger reads it there, then the
file beside the ledger goes. Whoever is killed in between leaves marks, which the next archiving takes up.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import bindparam, func, null, or_, select, update

from plaudit.errors import FileError, LedgerBroken, MissingExtra, PlauditError
from plaudit.ledger.backends.backend import read_bytes
from plaudit.ledger.lake.delta import LakeFile, LakeTable, check_installed
from plaudit.ledger.storage.lake_files import build_address, parse_lake, put_file, split_address
from plaudit.ledger.storage.merge import merge_blocks
from plaudit.ledger.storage.moving import move_blocks
from plaudit.ledger.storage.record_table import RecordTable, get_table
from plaudit.ledger.storage.schema import blocks, scopes, segments
from plaudit.ledger.storage.segments import Segments
from plaudit.ledger.storage.store import Store

_TOGETHER = 32
"""Files that one commit of a table lists, at most."""
_NEVER = (1 << 63) - 1
_LOCAL = segments.c.path.not_like("%://%")
_SHARED = (*segments.c, blocks.c.spec, blocks.c.target, scopes.c.run)
_CHOSEN = (
    select(*_SHARED, func.min(blocks.c.first).label("low"))
    .join(blocks, blocks.c.segment == segments.c.id)
    .join(scopes, scopes.c.id == blocks.c.scope)
    .where(or_(segments.c.lake.is_not(None), _LOCAL))
    .group_by(*_SHARED)
    .having(or_(segments.c.lake.is_not(None), func.max(blocks.c.latest) < bindparam("before")))
    .order_by(blocks.c.spec, blocks.c.target, segments.c.id)
)
_BLOCKS = (
    select(blocks.c.place, blocks.c.records, blocks.c.digest)
    .where(blocks.c.segment == bindparam("wanted"), blocks.c.digest.is_not(None))
    .order_by(blocks.c.place)
)
_WHERE = select(segments.c.path, segments.c.lake).where(segments.c.id == bindparam("wanted"))
_MARK = (
    update(segments)
    .values(lake=bindparam("to"))
    .where(segments.c.id == bindparam("wanted"), segments.c.path == bindparam("here"), segments.c.lake.is_(None))
    .returning(segments.c.id)
)
_FINISH = (
    update(segments)
    .values(path=segments.c.lake, lake=null())
    .where(segments.c.id == bindparam("wanted"), segments.c.lake == bindparam("there"))
    .returning(segments.c.id)
)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Archived:
    """What was archived."""

    lake: str
    """The address."""
    records: int
    files: int
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def archive(
    store: Store,
    to: str,
    *,
    before: int | None = None,
    progress: Progress | None = None,
    turn: AbstractContextManager[Any] | None = None,
    move: bool = True,
) -> Archived:
    """Move records into a lake, and finish what was begun before.

    Args:
        store: The ledger.
        to: The address of the lake.
        before: A time in microseconds since 1970, UTC: newer records stay.
        progress: Called with the number of records done and in total.
        turn: Held while the ledger is written to.
        move: Move what the database holds of records into files first.
    """
    check_installed()
    store.backend.check_writable()
    files: Segments | None = store.backend.segments
    if files is None:
        raise MissingExtra("a lake needs pyarrow. Install it: pip install 'plaudit[lake]'")
    turn = nullcontext() if turn is None else turn
    lake = parse_lake(to)
    if move:
        with turn, files.send_to(lake):
            merge_blocks(store)
            move_blocks(store, fewest=1, before=before)
    with store.backend.snapshot() as connection:
        chosen = connection.execute(_CHOSEN, {"before": _NEVER if before is None else before}).all()
    total = sum(row.records for row in chosen)
    records = count = size = 0
    problems: list[PlauditError] = []

    def describe(row: Any) -> tuple[int, str, bool]:
        return row.spec, row.target, row.lake is None or row.lake.startswith(f"{lake}/")

    for (spec, target, is_own), alike in groupby(sorted(chosen, key=describe), key=describe):
        with store.backend.snapshot() as connection:
            table = get_table(store.specs.read(connection, [spec])[spec], target)
        rows = list(alike)
        for start in range(0, len(rows), _TOGETHER):
            batch = _Batch(store, files, table, lake, turn, problems)
            try:
                done = batch.archive(rows[start : start + _TOGETHER])
            except FileError as error:
                if is_own:
                    raise
                problems.append(error)  # another lake, which does not take what was begun
                continue
            count, size = count + len(done), size + sum(row.size for row in done)
            records += sum(row.records for row in done)
            if progress is not None:
                progress(records, total)
    if problems:
        raise type(problems[0])(" ".join(str(each) for each in problems[:3]))
    return Archived(lake, records, count, size)


class _Batch:
    """Segments of one reward and target on their way to one commit of a table."""

    def __init__(
        self,
        store: Store,
        files: Segments,
        records: RecordTable,
        lake: str,
        turn: AbstractContextManager[Any],
        problems: list[PlauditError],
    ) -> None:
        self._store, self._files, self._records = store, files, records
        self._lake, self._turn, self._problems = lake, turn, problems

    def archive(self, rows: Sequence[Any]) -> list[Any]:
        """Move segments to where they go; return those that were not moved by anybody else meanwhile."""
        wanted = {row.id: address for row in rows if (address := self._prepare(row)) is not None}
        rows = [row for row in rows if row.id in wanted]
        names = {split_address(address)[0] for address in wanted.values()}
        tables = {name: LakeTable(name, self._records) for name in sorted(names)}
        self._change(_MARK, [(wanted[row.id], row.id, row.path) for row in rows if row.lake is None])
        sent = {row.id: file for row in rows if (file := self._send(row, wanted[row.id])) is not None}
        for name, table in tables.items():
            table.add([each for each in sent.values() if split_address(each.address)[0] == name])
        moved = self._change(_FINISH, [(number, file.address) for number, file in sent.items()])
        rows = [row for row in rows if row.id in sent]
        for row in rows:
            if row.path != wanted[row.id]:
                self._files.remove(row.path)
        return [row for row, is_own in zip(rows, moved, strict=True) if is_own]

    def _prepare(self, row: Any) -> str | None:
        """Return where a segment goes, once it is known to be whole; None where it does not go there."""
        address: str | None = row.lake
        if row.path == address:
            return address
        try:
            self._check(row)
            return address or self._choose(row)
        except LedgerBroken as error:
            if self._is_here(row):
                self._problems.append(error)
            return None

    def _is_here(self, row: Any, lake: str | None = None) -> bool:
        """Return whether a file is still where it was, and on its way to an address if one is given."""
        with self._store.backend.snapshot() as connection:
            now = connection.execute(_WHERE, {"wanted": row.id}).one_or_none()
        return now is not None and now.path == row.path and lake in (None, now.lake)

    def _choose(self, row: Any) -> str:
        """Return where a segment goes: its first record tells the day."""
        first = self._files.read(row.path, 0, 1, [self._records.names["time"]])
        return build_address(self._lake, self._records, first, row.path.rpartition("/")[2])

    def _change(self, statement: Any, parameters: Sequence[tuple[Any, ...]]) -> list[bool]:
        """Execute a statement for each, in one transaction; return for which it changed something."""
        if not parameters:
            return []
        text = self._store.backend.render(statement)

        def work(cursor: Any) -> list[bool]:
            return [cursor.execute(text, each).fetchone() is not None for each in parameters]

        with self._turn:
            return self._store.writer.transact(work)

    def _send(self, row: Any, address: str) -> LakeFile | None:
        """Copy a file to its address; None where somebody else has moved it or its records."""
        if not self._is_here(row, address):
            return None
        try:
            if row.path != address:
                put_file(self._files.folder / row.path, address, row.size, read_bytes(row.sha256))
            return LakeFile(address, row.run, row.size, self._files.read_footer(row.path))
        except OSError:
            if self._is_here(row, address):
                raise
            return None

    def _check(self, row: Any) -> None:
        """Raise LedgerBroken unless a file holds what the ledger says, byte by byte and block by block."""
        name = self._files.name_file(row.path)
        try:
            whole = self._files.hash_file(row.path) == (row.size, read_bytes(row.sha256))
        except OSError as error:
            raise LedgerBroken(
                f"the segment {name} cannot be read ({error}); verify tells which records it holds."
            ) from None
        with self._store.backend.snapshot() as connection:
            held = connection.execute(_BLOCKS, {"wanted": row.id}).all()
        for block in held:
            if not whole:
                break
            table = self._files.read(row.path, block.place, block.records)
            whole = self._records.digest(table) == read_bytes(block.digest)
        if not whole:
            raise LedgerBroken(f"the segment {name} was changed after being written: it was not archived; run verify.")
