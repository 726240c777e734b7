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
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import bindparam, func, insert, select

from plaudit.errors import KeyConflict, LedgerBusy, LedgerError, NotInLedger, PlauditError
from plaudit.ledger.backends.backend import Backend, ConnectionLost, WriteConflict
from plaudit.ledger.context import Scope, to_microseconds
from plaudit.ledger.storage.codec import (
    Block,
    PackedRecord,
    RecordLayout,
    build_block,
    build_blocks,
    compute_checksum,
    decode_column,
    digest_scope,
    format_origin,
    start_chain,
)
from plaudit.ledger.storage.schema import blocks, keys, scopes, specs, writers
from plaudit.ledger.storage.specs import IDENTITY, store_spec
from plaudit.ledger.storage.summaries import TAIL, add_summaries

_WRITE = insert(blocks).values({column.name: bindparam(column.name) for column in blocks.columns})
_KEEP_KEY = insert(keys).values(key=bindparam("key"), record=bindparam("record"))
_FIND_KEY = select(keys.c.record).where(keys.c.key == bindparam("wanted"))
_FIND_SCOPE = select(scopes.c.id).where(scopes.c.digest == bindparam("wanted"))
_ADD_SCOPE = insert(scopes).values({name: bindparam(name) for name in ("digest", *Scope._fields)})
_FIND_WRITER = select(writers.c.id, writers.c.blocks, writers.c.head).where(writers.c.token == bindparam("wanted"))
_ADD_WRITER = insert(writers).values(
    {column.name: bindparam(column.name) for column in writers.columns if column.name != "id"}
)
_COLUMNS = ("episodes", "steps", "contexts", "inputs", "outputs")
_other = blocks.alias()
_holder = select(func.max(_other.c.first)).where(_other.c.first <= bindparam("wanted"))
_FIND_CONTENT = (
    select(
        blocks.c.first,
        blocks.c.records,
        *(specs.c[name] for name in IDENTITY),
        *(scopes.c[name] for name in Scope._fields),
        *(blocks.c[name] for name in _COLUMNS),
    )
    .join(specs, specs.c.id == blocks.c.spec)
    .join(scopes, scopes.c.id == blocks.c.scope)
    .where(blocks.c.first == _holder.scalar_subquery())
)

Result = TypeVar("Result")

_ATTEMPTS = 50
_KNOWN = 50_000
"""Scopes to remember; beyond that all are forgotten and looked up again."""


class BlockWriter:
    """One writer of a ledger: its place in the chain of its own blocks."""

    def __init__(self, backend: Backend, clock: Callable[[], datetime] | None) -> None:
        """Begin a chain; it is entered in the ledger with its first block."""
        self._backend = backend
        self._clock = clock
        self.recorded = 0
        """Records written so far, those of transactions that failed included."""
        self._block_text = backend.render(_WRITE)
        self._unsummarized = 0
        self._busy = False
        self._begin_chain()

    def _begin_chain(self) -> None:
        self.token = token_hex(16)
        self._number: int | None = None
        self._seq = 0
        self._head = b""
        self._known: dict[tuple[RecordLayout, str, Scope], tuple[int, int, bytes]] = {}

    def now(self) -> int:
        """Return the time by this writer's clock, in microseconds."""
        return time.time_ns() // 1000 if self._clock is None else to_microseconds(self._clock())

    # -- what can be written ----------------------------------------------------------------------------------------

    def write(self, records: Sequence[PackedRecord]) -> list[int]:
        """Write records and return their numbers; a key that is there keeps its record."""
        few = self._unsummarized < TAIL
        if few and len(records) == 1 and records[0].key is None and records[0][:3] in self._known:
            block = build_block(records[0])
            self._unsummarized += 1
            return [self.transact(lambda cursor: self.insert_blocks(cursor, (block,), single=True), single=True)[0][0]]
        return self.transact(lambda cursor: self.insert(cursor, records)) if records else []

    def write_blocks(self, new: Sequence[Block]) -> list[int]:
        """Write blocks without keys and return the numbers of their records."""
        return self.transact(lambda cursor: _list_numbers(self.insert_blocks(cursor, new)))

    def register(self, layout: RecordLayout) -> None:
        """Store a reward."""
        self.transact(lambda cursor: self.find_spec(cursor, layout))

    def transact(self, work: Callable[[Any], Result], *, single: bool = False) -> Result:
        """Do `work` in one transaction, again where another writer was quicker or the server went away.

        With `single`, it executes one statement.
        """
        if self._busy:
            raise LedgerError(f"{self._backend.name} is in the middle of a write; record when that has returned.")
        lost: tuple[int, bytes, Any] | None = None
        for _ in range(_ATTEMPTS):
            before = self._seq, self._head, self._number
            done: list[Result] = []
            try:
                self._busy = True
                with self._backend.transaction(single=single) as cursor:
                    done.append(work(cursor))
                return done[0]
            except (WriteConflict, ConnectionLost) as error:
                if isinstance(error, ConnectionLost) and done and (self._seq, self._head) != before[:2]:
                    lost = self._seq, self._head, done[0]
                self._restore(before)
                if self._has_landed(lost):
                    return lost[2]  # type: ignore[index,no-any-return]
            except Exception:
                self._restore(before)
                raise
            except BaseException:  # Ctrl-C: whether it is written is not known
                self._begin_chain()
                self._backend.abandon()
                raise
            finally:
                self._busy = False
        raise LedgerBusy(f"{self._backend.name}: other writers were quicker {_ATTEMPTS} times. Nothing was recorded.")

    def _has_landed(self, lost: tuple[int, bytes, Any] | None) -> bool:
        """Return whether the transaction whose acknowledgement was lost is in the ledger after all."""
        if lost is None:
            return False
        try:
            landed = self._backend.has_committed(self.token, *lost[:2])
        except PlauditError as error:  # nobody knows: the next record begins another chain
            self._begin_chain()
            raise LedgerBusy(f"{error} Whether the last write was recorded is not known; a key tells.") from error
        if landed:
            self._seq, self._head = lost[:2]
        return landed

    def _restore(self, before: tuple[int, bytes, int | None]) -> None:
        """Forget what a transaction that failed had noted."""
        self._seq, self._head, self._number = before
        self._known.clear()

    # -- inside a transaction ---------------------------------------------------------------------------------------

    def insert(self, cursor: Any, records: Sequence[PackedRecord]) -> list[int]:
        """Write records and return their numbers; a key that is there keeps its record."""
        if [record.key for record in records].count(None) == len(records):
            return _list_numbers(self.insert_blocks(cursor, build_blocks(records))) if records else []
        return self._insert_keyed(cursor, records)

    def insert_blocks(self, cursor: Any, new: Iterable[Block], *, single: bool = False) -> list[tuple[int, int]]:
        """Write blocks; return for each its first number and how many there are.

        With `single`, that is one statement, and the summary of the block is left to a later write.
        """
        written: list[tuple[int, int]] = []
        writer = self._number or self._find_writer(cursor)
        head, seq, total = self._head, self._seq, 0
        for block in new:
            kind = block.layout, block.target, block.scope
            spec, scope, common = self._known.get(kind) or self._introduce(cursor, *kind)
            first = self._backend.reserve(cursor, block.count)
            seq += 1
            head = compute_checksum(head, common, block.format(first, seq), block.inputs, block.outputs)
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
                block.job[0] if block.job else None,
                block.origin,
                block.picked,
                block.times,
                block.keys,
                block.episodes,
                block.steps,
                block.contexts,
                block.inputs,
                block.outputs,
                head,
            )
            cursor.execute(self._block_text, values)
            written.append((first, block.count))
            total += block.count
        if not single:
            add_summaries(self._backend, cursor)
            self._unsummarized = 0
        self._seq, self._head = seq, head
        self.recorded += total
        return written

    def _insert_keyed(self, cursor: Any, records: Sequence[PackedRecord]) -> list[int]:
        """Write records of which some have keys."""
        numbers: list[int] = [0] * len(records)
        new: list[int] = []
        first_of: dict[str, int] = {}
        for at, record in enumerate(records):
            found = None if record.key is None else self._find_key(cursor, record.key)
            if found is not None:
                self._check_same(cursor, record, found)
                numbers[at] = found
            elif record.key is not None and record.key in first_of:
                other = records[first_of[record.key]]
                if other._replace(at=0) != record._replace(at=0):
                    name = self._backend.name
                    raise KeyConflict(f"{name}: the key {record.key!r} is given twice, to different records.")
            else:
                new.append(at)
                if record.key is not None:
                    first_of[record.key] = at
        written = _list_numbers(self.insert_blocks(cursor, build_blocks([records[at] for at in new]))) if new else []
        for at, number in zip(new, written, strict=True):
            numbers[at] = number
            if records[at].key is not None:
                cursor.execute(self._backend.render(_KEEP_KEY), (records[at].key, number))
        return [number or numbers[first_of[records[at].key or ""]] for at, number in enumerate(numbers)]

    def _find_key(self, cursor: Any, key: str) -> int | None:
        row = cursor.execute(self._backend.render(_FIND_KEY), (key,)).fetchone()
        return None if row is None else int(row[0])

    def _check_same(self, cursor: Any, record: PackedRecord, number: int) -> None:
        """Raise KeyConflict unless the record with this number has the content of `record`."""
        there = read_content(self._backend, cursor, number)
        context = None if record.context is None else json.dumps(json.loads(record.context), sort_keys=True)
        place = record.episode, record.step, context
        here = (*record.layout.identity, *record.scope, *place, record.inputs, record.outputs)
        names = ("reward", "version", "part", "formula", "domain", *Scope._fields, "episode", "step", "context")
        different = [
            f"{name}: {a!s:.60} there, {b!s:.60} here"
            for name, a, b in zip((*names, "inputs", "scores"), there, here, strict=True)
            if a != b
        ]
        if different:
            shown = "; ".join(each if not each.startswith(("inputs", "scores")) else each[:6] for each in different)
            raise KeyConflict(
                f"{self._backend.name}: the key {record.key!r} belongs to record {number}, which differs: {shown}. "
                "A key names one record for good; use another one."
            )

    def _find_writer(self, cursor: Any) -> int:
        """Return this writer's number, entering it in the ledger first where it is not there."""
        if self._number is None:
            found = cursor.execute(self._backend.render(_FIND_WRITER), (self.token,)).fetchone()
            if found is None:
                about = (self.token, self.now(), socket.gethostname(), os.getpid(), describe_platform())
                cursor.execute(self._backend.render(_ADD_WRITER), (*about, 0, 0, start_chain(*about)))
                found = cursor.execute(self._backend.render(_FIND_WRITER), (self.token,)).fetchone()
            self._number, self._seq, self._head = int(found[0]), int(found[1]), bytes(found[2])
        return self._number

    def _introduce(self, cursor: Any, layout: RecordLayout, target: str, scope: Scope) -> tuple[int, int, bytes]:
        """Return the numbers of a reward and a scope, adding what is new, and what checksums say of both."""
        if len(self._known) >= _KNOWN:
            self._known.clear()
        numbers = self.find_spec(cursor, layout), self._find_scope(cursor, scope)
        made = self._known[layout, target, scope] = (*numbers, format_origin(self.token, layout, target, scope))
        return made

    def find_spec(self, cursor: Any, layout: RecordLayout) -> int:
        """Return a reward's number, adding it where it is new."""
        return store_spec(self._backend, cursor, layout)

    def _find_scope(self, cursor: Any, scope: Scope) -> int:
        digest = digest_scope(scope)
        found = cursor.execute(self._backend.render(_FIND_SCOPE), (digest,)).fetchone()
        if found is None:
            cursor.execute(self._backend.render(_ADD_SCOPE), (digest, *scope))
            found = cursor.execute(self._backend.render(_FIND_SCOPE), (digest,)).fetchone()
        return int(found[0])


def read_content(backend: Backend, cursor: Any, number: int) -> tuple[Any, ...]:
    """Return what makes a record what it is: its reward, scope, episode, step, context, inputs and outputs."""
    row = cursor.execute(backend.render(_FIND_CONTENT), (number,)).fetchone()
    if row is None or row[0] + row[1] <= number:
        raise NotInLedger(f"{backend.name} has no record {number}.")
    first, count = row[0], row[1]
    *texts, inputs, outputs = row[-len(_COLUMNS) :]
    at = number - first
    episode, step, context = (list(decode_column(column, count))[at] for column in texts)
    sides = (bytes(side) for side in (inputs, outputs))
    rows = tuple(side[at * len(side) // count : (at + 1) * len(side) // count] for side in sides)
    text = None if context is None else json.dumps(context, sort_keys=True)
    return (*row[2 : -len(_COLUMNS)], episode, step, text, *rows)


def _list_numbers(written: Sequence[tuple[int, int]]) -> list[int]:
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
