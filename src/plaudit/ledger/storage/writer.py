"""Writes blocks in transactions, each chained to the writer's last, and knows what became of each."""

import json
import os
import platform
import socket
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from secrets import token_hex
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from sqlalchemy import bindparam, insert, select, update

from plaudit.errors import (
    CommitUnknown,
    KeyConflict,
    LedgerBroken,
    LedgerBusy,
    LedgerError,
    NotInLedger,
    PlauditError,
)
from plaudit.ledger.backends.backend import Backend, ConnectionLost, WriteConflict, read_bytes, report_damage
from plaudit.ledger.context import Scope, to_microseconds
from plaudit.ledger.storage.chain import RecordChain, close_chain, extend_rows, start_chain
from plaudit.ledger.storage.codec import (
    Block,
    PackedRecord,
    RecordLayout,
    build_block,
    build_blocks,
    digest_scope,
    format_job,
    format_origin,
)
from plaudit.ledger.storage.contents import KEYED, Content, build_content, list_differences, read_contents
from plaudit.ledger.storage.decisions import pack_contexts
from plaudit.ledger.storage.episode_parts import summarize_episodes
from plaudit.ledger.storage.schema import CONFLICTS, appended, keys, scopes, segments, table_heads, writers
from plaudit.ledger.storage.segment_rows import SegmentReader
from plaudit.ledger.storage.signing import Signer, format_table_end, format_writer_end
from plaudit.ledger.storage.sources import build_lookup, look_up
from plaudit.ledger.storage.specs import store_spec
from plaudit.ledger.storage.summary import summarize

_WRITE = insert(appended).values({column.name: bindparam(column.name) for column in appended.columns})
_KEEP_KEY = insert(keys).values(key=bindparam("key"), record=bindparam("record"))
_FIND_KEYS = build_lookup(select(keys.c.key, keys.c.record), keys.c.key)
_FIND_SCOPE = select(scopes.c.id).where(scopes.c.digest == bindparam("wanted"))
_ADD_SCOPE = insert(scopes).values({name: bindparam(name) for name in ("digest", *Scope._fields)}).inline()
_FIND_WRITER = select(writers.c.id).where(writers.c.token == bindparam("wanted"))
_ADD_WRITER = insert(writers).values(
    {column.name: bindparam(column.name) for column in writers.columns if column.name != "id"}
)
_READ_HEAD = select(table_heads.c.rows, table_heads.c.head).where(table_heads.c.name == bindparam("wanted"))
_MOVE_HEAD = (
    update(table_heads)
    .values(rows=bindparam("count"), head=bindparam("end"), signature=bindparam("signed"))
    .where(table_heads.c.name == bindparam("wanted"))
)

_ADD_SEGMENT = insert(segments).values(
    {column.name: bindparam(column.name) for column in segments.columns if column.name != "id"}
)
_FIND_SEGMENT = select(segments.c.id).where(segments.c.path == bindparam("wanted"))

Result = TypeVar("Result")

_ATTEMPTS = 50
_KNOWN = 50_000
"""Scopes to remember; beyond that all are forgotten and looked up again."""


def find_keys(backend: Backend, cursor: Any, given: Sequence[str]) -> set[str]:
    """Return those of the keys that are in a ledger."""
    return {key for key, _ in look_up(backend, cursor, _FIND_KEYS, list(given))}


class Stretch(NamedTuple):
    """Blocks of one writer, from where its stream of records begins anew: the numbers of the first and of the last."""

    writer: int
    first: int
    last: int
    blocks: int


class BlockWriter:
    """One writer of a ledger: its place in the chain of its own blocks."""

    def __init__(
        self,
        backend: Backend,
        reader: SegmentReader,
        clock: Callable[[], datetime] | None,
        signer: Signer | None = None,
        *,
        made_with: str | None = None,
    ) -> None:
        """Begin a chain; it is entered in the ledger with its first block.

        `made_with` is what computed the numbers of its records, where that is not this process.
        """
        self._backend, self._reader = backend, reader
        self._clock = clock
        self._made_with = made_with
        self.signer = signer
        self.after_write: Callable[[], None] | None = None
        """Called when a transaction is durable."""
        self.recorded = 0
        """Records written so far, those of transactions that failed included."""
        self.written: list[tuple[int, int]] = []
        """Of each block that was written last together: its first number, and how many there are."""
        self._block_text = backend.render(_WRITE)
        self._busy = False
        self._published: list[str] = []
        """Files of the transaction that still have a hidden name besides their own."""
        self._begin_chain()

    def _begin_chain(self) -> None:
        self.token = token_hex(16)
        self._number: int | None = None
        self._chain = RecordChain(b"")
        self._moved = False
        self._stretch: Stretch | None = None
        self.whole_stretches: list[Stretch] = []
        """Stretches that may be merged; `take_stretches` empties the list."""
        self._known: dict[tuple[RecordLayout, str, Scope], tuple[int, int, bytes]] = {}

    @property
    def segments(self) -> Any:
        """Where many records at once are written; None where everything lies in the database."""
        files = self._backend.segments
        return files if files is not None and files.is_writable else None

    def open_sibling(self, made_with: str) -> "BlockWriter":
        """Return another writer of the same ledger, for records whose numbers were computed elsewhere."""
        return BlockWriter(self._backend, self._reader, self._clock, self.signer, made_with=made_with)

    def take_stretches(self, *, open: bool = False) -> list[Stretch]:
        """Return the stretches that are whole since the last call, and with `open` the one that is being written."""
        if open and self._stretch is not None:
            self.whole_stretches.append(self._stretch)
            self._stretch = None
        taken, self.whole_stretches = self.whole_stretches, []
        return taken

    def now(self) -> int:
        """Return the time by this writer's clock, in microseconds."""
        return time.time_ns() // 1000 if self._clock is None else to_microseconds(self._clock())

    # -- what can be written ----------------------------------------------------------------------------------------

    def write(self, records: Sequence[PackedRecord]) -> list[int]:
        """Write records and return their numbers; a key that is there keeps its record."""
        if len(records) == 1 and records[0].key is None and records[0][:3] in self._known:
            block = build_block(records[0])
            self.transact(lambda cursor: self.insert_blocks(cursor, (block,)), single=True)
            return [self.written[-1][0]]
        return self.transact(lambda cursor: self.insert(cursor, records)) if records else []

    def write_blocks(self, new: Sequence[Block]) -> list[int]:
        """Write blocks without keys and return the numbers of their records."""
        return self.transact(lambda cursor: list_numbers(self.insert_blocks(cursor, new)))

    def register(self, layout: RecordLayout) -> None:
        """Store a reward."""
        self.transact(lambda cursor: self.find_spec(cursor, layout))

    def transact(self, work: Callable[[Any], Result], *, single: bool = False) -> Result:
        """Do `work` in one transaction, again where another writer was quicker or the server went away.

        With `single`, it executes one statement.
        """
        if self._busy:
            raise LedgerError(f"{self._backend.name} is in the middle of a write; record after it has returned.")
        self._backend.start_budget()
        last: LedgerError | None = None
        for _ in range(_ATTEMPTS):
            before = self._number
            done: list[Result] = []
            self._moved = False
            try:
                self._busy = True
                with self._backend.transaction(single=single) as cursor:
                    done.append(work(cursor))
                break
            except (WriteConflict, ConnectionLost) as error:
                if isinstance(error, ConnectionLost) and (done or single) and self._moved and self._has_landed():
                    break
                self._restore(before)
                _check_conflict(self._backend.name, error)
                last, single = error, False  # another chain is begun first: more statements, in one transaction
            except Exception:
                self._restore(before)
                raise
            except BaseException:  # Ctrl-C: whether it is written is not known
                self._begin_chain()
                self._backend.abandon()
                raise
            finally:
                self._busy = False
        else:
            why = f" ({last.reason})" if isinstance(last, WriteConflict) else ""
            raise LedgerBusy(
                f"{self._backend.name}: other writers were faster {_ATTEMPTS} times{why}. Nothing was recorded. If "
                "there are no others, verify the ledger."
            )
        for path in self._published:
            self._backend.segments.settle(path)
        self._published.clear()
        if self.after_write is not None:
            self.after_write()
        return done[0] if done else cast(Result, self.written)  # one statement, whose answer alone was lost

    def _has_landed(self) -> bool:
        """Return whether the transaction whose acknowledgement was lost is in the ledger after all."""
        try:
            return self._backend.has_committed(self.token, self._chain.head)
        except PlauditError as error:  # nobody knows: the next record begins another chain
            self._begin_chain()
            raise CommitUnknown(
                f"{self._backend.name} was lost during a commit, and cannot be asked whether it succeeded. The new "
                "records may "
                "be there, all of them, or not at all; look for them when the server answers, or record with a key, "
                "which is safe to repeat. Everything acknowledged before is there."
            ) from error

    def _restore(self, before: int | None) -> None:
        """Forget what a transaction that failed had noted; a chain that has moved on is not wound back but left."""
        self._number = before
        self._known.clear()
        if self._moved:
            self._begin_chain()

    # -- inside a transaction ---------------------------------------------------------------------------------------

    def insert(self, cursor: Any, records: Sequence[PackedRecord]) -> list[int]:
        """Write records and return their numbers; a key that is there keeps its record."""
        self.written = []
        if [record.key for record in records].count(None) == len(records):
            return list_numbers(self.insert_blocks(cursor, build_blocks(records))) if records else []
        return self._insert_keyed(cursor, records)

    def insert_blocks(self, cursor: Any, new: Iterable[Block]) -> list[tuple[int, int]]:
        """Write blocks; return for each its first number and how many there are."""
        written = self.written = []
        writer = self._number or self._enter_writer(cursor)
        chain = self._chain
        for block in new:
            kind = block.layout, block.target, block.scope
            spec, scope, common = self._known.get(kind) or self._introduce(cursor, *kind)
            first = self._backend.reserve(cursor, block.count)
            self._moved = True
            seq, moments, job = chain.records + 1, block.moments, None
            if block.job is not None:
                job = block.job[0]
                times = block.earliest, block.latest, block.times
                common, moments = common + format_job(block.job[1], block.origin, block.picked, times), b""
            stored, segment = block.stored, None
            if stored is None:
                head = chain.extend(common, first, block.count, block, moments)
            else:
                segment = self.enter_segment(cursor, stored.file)
                head = chain.extend_digest(common, first, block.count, stored.digest)
            closing = close_chain(self.token, chain.records, head)
            values = (
                first,
                block.count,
                writer,
                seq,
                block.earliest,
                block.latest,
                spec,
                scope,
                block.target,
                job,
                block.origin,
                block.picked,
                block.times,
                block.keys,
                block.episodes,
                block.steps,
                block.contexts if block.contexts is None or block.count == 1 else pack_contexts(block.contexts),
                *((block.inputs, block.outputs, None, None, None) if stored is None else (None, None)),
                *(() if stored is None else (segment, stored.place, stored.digest)),
                head,
                closing,
                None if self.signer is None else self.signer.sign(format_writer_end(closing)),
                *(_summarize(block, job) if stored is None else stored.summary),
            )
            written.append((first, block.count))
            self.recorded += block.count
            _, start, _, blocks = self._stretch or (writer, first, first, 0)
            self._stretch = Stretch(writer, start, first, blocks + 1)
            if chain.begins_anew:
                self.whole_stretches.append(self._stretch)
                self._stretch = None
            cursor.execute(self._block_text, values)
        return written

    def enter_segment(self, cursor: Any, file: Any) -> int:
        """Return the number of a segment, giving its file its name and entering it with its first block."""
        found = cursor.execute(self._backend.render(_FIND_SEGMENT), (file.path,)).fetchone()
        if found is None:
            self._backend.segments.publish(file)
            self._published.append(file.path)
            lake = file.path if "://" in file.path else None
            values = file.path, file.records, file.size, file.sha256, self.now(), lake
            cursor.execute(self._backend.render(_ADD_SEGMENT), values)
            found = cursor.execute(self._backend.render(_FIND_SEGMENT), (file.path,)).fetchone()
        return int(found[0])

    def _insert_keyed(self, cursor: Any, records: Sequence[PackedRecord]) -> list[int]:
        numbers: list[int] = [0] * len(records)
        new: list[int] = []
        first_of: dict[str, int] = {}
        given = [record.key for record in records if record.key is not None]
        taken: dict[str, int] = dict(look_up(self._backend, cursor, _FIND_KEYS, given))
        with report_damage(self._backend.name, "a record under one of these keys"):
            there = read_contents(self._reader, cursor, taken.values()) if taken else {}
        for at, record in enumerate(records):
            found = None if record.key is None else taken.get(record.key)
            if found is not None:
                self._check_same(record, found, there.get(found))
                numbers[at] = found
            elif record.key is not None and record.key in first_of:
                other = records[first_of[record.key]]
                if other._replace(at=0) != record._replace(at=0):
                    name = self._backend.name
                    raise KeyConflict(f"{name}: the key {record.key!r} is given twice, for different records.")
            else:
                new.append(at)
                if record.key is not None:
                    first_of[record.key] = at
        written = list_numbers(self.insert_blocks(cursor, build_blocks([records[at] for at in new]))) if new else []
        for at, number in zip(new, written, strict=True):
            numbers[at] = number
        kept = sorted((key, number) for at, number in zip(new, written, strict=True) if (key := records[at].key))
        if kept:  # in one order, so that no two writers wait for each other
            cursor.executemany(self._backend.render(_KEEP_KEY), kept)
        return [number or numbers[first_of[records[at].key or ""]] for at, number in enumerate(numbers)]

    def _check_same(self, record: PackedRecord, number: int, there: Content | None) -> None:
        """Raise KeyConflict unless the record with this number has the content of `record`."""
        if there is None:
            raise NotInLedger(f"{self._backend.name} has no record {number}.")
        different = list_differences(there, build_content(record), KEYED)
        if different:
            raise KeyConflict(
                f"{self._backend.name}: the key {record.key!r} belongs to record {number}, which differs: "
                f"{'; '.join(different)}. A key names one record permanently; use another key."
            )

    def _enter_writer(self, cursor: Any) -> int:
        self._backend.take_turn(cursor)
        made_with = self._made_with or describe_platform()
        about = (self.token, self.now(), socket.gethostname(), os.getpid(), made_with)
        self._chain = RecordChain(start_chain(*about))
        head = self._chain.head
        values = (*about, 0, head, close_chain(self.token, 0, head), None)
        cursor.execute(self._backend.render(_ADD_WRITER), values)
        number = int(cursor.execute(self._backend.render(_FIND_WRITER), (self.token,)).fetchone()[0])
        self.chain_rows(cursor, "writers", [(number, *about)])
        self._number = number
        return number

    def chain_rows(self, cursor: Any, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Move the head of a small table to which rows were added in this turn: of each, what `CHAINED` says."""
        if rows:
            count, head = cursor.execute(self._backend.render(_READ_HEAD), (table,)).fetchone()
            with report_damage(self._backend.name, f"the end of the chain of {table!r}"):
                moved = count + len(rows), extend_rows(read_bytes(head), rows)
            signature = None if self.signer is None else self.signer.sign(format_table_end(table, *moved))
            cursor.execute(self._backend.render(_MOVE_HEAD), (*moved, signature, table))

    def _introduce(self, cursor: Any, layout: RecordLayout, target: str, scope: Scope) -> tuple[int, int, bytes]:
        """Return the numbers of a reward and a scope, adding what is new, and what checksums say of both."""
        if len(self._known) >= _KNOWN:
            self._known.clear()
        numbers = self.find_spec(cursor, layout), self._find_scope(cursor, scope)
        made = self._known[layout, target, scope] = (*numbers, format_origin(self.token, layout, target, scope))
        return made

    def find_spec(self, cursor: Any, layout: RecordLayout) -> int:
        """Return a reward's number, adding it where it is new."""
        return store_spec(self._backend, cursor, layout, self.chain_rows)

    def _find_scope(self, cursor: Any, scope: Scope) -> int:
        digest = digest_scope(scope)
        found = cursor.execute(self._backend.render(_FIND_SCOPE), (digest,)).fetchone()
        if found is None:
            cursor.execute(f"{self._backend.render(_ADD_SCOPE)} ON CONFLICT DO NOTHING", (digest, *scope))
            found = cursor.execute(self._backend.render(_FIND_SCOPE), (digest,)).fetchone()
        return int(found[0])


def _summarize(block: Block, job: int | None) -> tuple[Any, ...]:
    """Return the summary of a block, and what it has of each episode."""
    columns = block.episodes, block.steps, block.outputs
    summary = summarize(block.count, block.earliest, block.latest, job, *columns)
    texts = block.times, block.episodes, block.steps, block.contexts
    return *summary, *summarize_episodes(block.count, block.earliest, job, *texts, block.outputs)


def _check_conflict(ledger: str, error: LedgerError) -> None:
    """Raise LedgerBroken where a write was refused by something that no ledger has: trying again would not help."""
    if isinstance(error, WriteConflict) and error.constraint is not None and error.constraint not in CONFLICTS:
        raise LedgerBroken(
            f"{ledger}: the database refuses the write: {error.reason}. It is not part of a ledger: somebody "
            "added this constraint, index or trigger. Nothing was recorded. Drop it and run verify, which lists all "
            "additions."
        ) from error


def list_numbers(written: Sequence[tuple[int, int]]) -> list[int]:
    """Return the numbers of the records of some blocks."""
    return [number for first, count in written for number in range(first, first + count)]


@cache
def describe_platform() -> str:
    """Return what decides the last bit of a computed number: versions, C library and machine."""
    try:
        own = version("plaudit")
    except PackageNotFoundError:
        own = "unknown"
    libc = "-".join(platform.libc_ver()) or platform.release()
    parts = {"plaudit": own, "python": platform.python_version(), "numpy": np.__version__}
    return json.dumps({**parts, "system": sys.platform, "machine": platform.machine(), "libc": libc})
