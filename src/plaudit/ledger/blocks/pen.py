"""The pen: writes blocks in transactions, each chained to the writer's last, and knows what became of each."""

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
from sqlalchemy import bindparam, insert, select

from plaudit.errors import KeyConflict, LedgerBusy, LedgerError, PlauditError
from plaudit.ledger.blocks import specs
from plaudit.ledger.blocks.block import Block, Row, beginning, block_of_one, blocks_of, chained, common_text
from plaudit.ledger.blocks.lookup import content_of
from plaudit.ledger.blocks.shape import Shape
from plaudit.ledger.places.place import ConnectionLost, Place, Raced
from plaudit.ledger.places.schema import blocks, keys, scopes, writers
from plaudit.ledger.record import Scope, microseconds
from plaudit.ledger.verification.tables import scope_digest

_WRITE = insert(blocks).values({column.name: bindparam(column.name) for column in blocks.columns})
_KEEP_KEY = insert(keys).values(key=bindparam("key"), record=bindparam("record"))
_FIND_KEY = select(keys.c.record).where(keys.c.key == bindparam("wanted"))
_FIND_SCOPE = select(scopes.c.id).where(scopes.c.digest == bindparam("wanted"))
_ADD_SCOPE = insert(scopes).values({name: bindparam(name) for name in ("digest", *Scope._fields)})
_FIND_WRITER = select(writers.c.id, writers.c.blocks, writers.c.head).where(writers.c.token == bindparam("wanted"))
_ADD_WRITER = insert(writers).values(
    {column.name: bindparam(column.name) for column in writers.columns if column.name != "id"}
)
Made = TypeVar("Made")

_ATTEMPTS = 50
_KNOWN = 50_000
"""Scopes to remember; beyond that all are forgotten and looked up again."""


@cache
def made_with() -> str:
    """Return what decides the last bit of a computed number: versions, C library and machine."""
    try:
        own = version("plaudit")
    except PackageNotFoundError:
        own = "unknown"
    libc = "-".join(platform.libc_ver()) or platform.release()
    parts = {"plaudit": own, "python": platform.python_version(), "numpy": np.__version__}
    return json.dumps({**parts, "system": sys.platform, "machine": platform.machine(), "libc": libc})


class Pen:
    """One writer of a ledger: its place in the chain of its own blocks."""

    def __init__(self, place: Place, clock: Callable[[], datetime] | None) -> None:
        """Begin a chain; it is entered in the ledger with its first block."""
        self._place = place
        self._clock = clock
        self.recorded = 0
        """Records written so far, those of transactions that failed included."""
        self._block_text = place.text(_WRITE)
        self._busy = False
        self._begin()

    def _begin(self) -> None:
        self.token = token_hex(16)
        self._number: int | None = None
        self._seq = 0
        self._head = b""
        self._known: dict[tuple[Shape, str, Scope], tuple[int, int, bytes]] = {}

    def now(self) -> int:
        """Return the time by this writer's clock, in microseconds."""
        return time.time_ns() // 1000 if self._clock is None else microseconds(self._clock())

    # -- what can be written ----------------------------------------------------------------------------------------

    def write_rows(self, rows: Sequence[Row]) -> list[int]:
        """Write records and return their numbers; a key that is there keeps its record."""
        if len(rows) == 1 and rows[0].key is None and rows[0][:3] in self._known:
            block = block_of_one(rows[0])
            return [self.transact(lambda cursor: self.write(cursor, (block,)), one=True)[0][0]]
        return self.transact(lambda cursor: self.write_within(cursor, rows)) if rows else []

    def write_blocks(self, drafts: Sequence[Block]) -> list[int]:
        """Write blocks without keys and return the numbers of their records."""
        return self.transact(lambda cursor: self._numbers(self.write(cursor, drafts)))

    def register(self, shape: Shape) -> None:
        """Store a reward."""
        self.transact(lambda cursor: self.spec(cursor, shape))

    def transact(self, work: Callable[[Any], Made], *, one: bool = False) -> Made:
        """Do `work` in one transaction, again where another writer was quicker or the server went away.

        With `one`, it executes a single statement.
        """
        if self._busy:
            raise LedgerError(f"{self._place.name} is in the middle of a write; record when that has returned.")
        lost: tuple[int, bytes, Any] | None = None
        for _ in range(_ATTEMPTS):
            before = self._seq, self._head, self._number
            done: list[Made] = []
            try:
                self._busy = True
                with self._place.writing(one=one) as cursor:
                    done.append(work(cursor))
                return done[0]
            except (Raced, ConnectionLost) as error:
                if isinstance(error, ConnectionLost) and done and (self._seq, self._head) != before[:2]:
                    lost = self._seq, self._head, done[0]
                self._back(before)
                if self._landed(lost):
                    return lost[2]  # type: ignore[index,no-any-return]
            except Exception:
                self._back(before)
                raise
            except BaseException:  # Ctrl-C: whether it is written is not known
                self._begin()
                self._place.abandon()
                raise
            finally:
                self._busy = False
        raise LedgerBusy(f"{self._place.name}: other writers were quicker {_ATTEMPTS} times. Nothing was recorded.")

    def _landed(self, lost: tuple[int, bytes, Any] | None) -> bool:
        """Return whether the transaction whose acknowledgement was lost is in the ledger after all."""
        if lost is None:
            return False
        try:
            landed = self._place.settled(self.token, *lost[:2])
        except PlauditError as error:  # nobody knows: the next record begins another chain
            self._begin()
            raise LedgerBusy(f"{error} Whether the last write was recorded is not known; a key tells.") from error
        if landed:
            self._seq, self._head = lost[:2]
        return landed

    def _back(self, before: tuple[int, bytes, int | None]) -> None:
        """Forget what a transaction that failed had noted."""
        self._seq, self._head, self._number = before
        self._known.clear()

    # -- inside a transaction ---------------------------------------------------------------------------------------

    def write_within(self, cursor: Any, rows: Sequence[Row]) -> list[int]:
        """Write records and return their numbers; a key that is there keeps its record."""
        if all(row.key is None for row in rows):
            return self._numbers(self.write(cursor, blocks_of(rows))) if rows else []
        return self._write_keyed(cursor, rows)

    def write(self, cursor: Any, drafts: Iterable[Block]) -> list[tuple[int, int]]:
        """Write blocks; return for each its first number and how many there are."""
        written: list[tuple[int, int]] = []
        writer = self._number or self._entered(cursor)
        head, seq, total = self._head, self._seq, 0
        for block in drafts:
            kind = block.shape, block.target, block.scope
            spec, scope, common = self._known.get(kind) or self._introduced(cursor, *kind)
            first = self._place.reserve(cursor, block.count)
            seq += 1
            head = chained(head, common, block.text(first, seq), block.inputs, block.outputs)
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
        self._seq, self._head = seq, head
        self.recorded += total
        return written

    def _numbers(self, written: Sequence[tuple[int, int]]) -> list[int]:
        return [number for first, count in written for number in range(first, first + count)]

    def _write_keyed(self, cursor: Any, rows: Sequence[Row]) -> list[int]:
        """Write records of which some have keys."""
        numbers: list[int] = [0] * len(rows)
        new: list[int] = []
        first_of: dict[str, int] = {}
        for at, row in enumerate(rows):
            found = None if row.key is None else self._key(cursor, row.key)
            if found is not None:
                self._check_same(cursor, row, found)
                numbers[at] = found
            elif row.key is not None and row.key in first_of:
                other = rows[first_of[row.key]]
                if other._replace(at=0) != row._replace(at=0):
                    raise KeyConflict(f"{self._place.name}: the key {row.key!r} is given twice, to different records.")
            else:
                new.append(at)
                if row.key is not None:
                    first_of[row.key] = at
        written = self._numbers(self.write(cursor, blocks_of([rows[at] for at in new]))) if new else []
        for at, number in zip(new, written, strict=True):
            numbers[at] = number
            if rows[at].key is not None:
                cursor.execute(self._place.text(_KEEP_KEY), (rows[at].key, number))
        return [number or numbers[first_of[rows[at].key or ""]] for at, number in enumerate(numbers)]

    def _key(self, cursor: Any, key: str) -> int | None:
        row = cursor.execute(self._place.text(_FIND_KEY), (key,)).fetchone()
        return None if row is None else int(row[0])

    def _check_same(self, cursor: Any, row: Row, number: int) -> None:
        """Raise KeyConflict unless the record with this number has the content of `row`."""
        there = content_of(self._place, cursor, number)
        context = None if row.context is None else json.dumps(json.loads(row.context), sort_keys=True)
        here = (*row.shape.identity, *row.scope, row.episode, row.step, context, row.inputs, row.outputs)
        names = ("reward", "version", "part", "formula", "domain", *Scope._fields, "episode", "step", "context")
        different = [
            f"{name}: {a!s:.60} there, {b!s:.60} here"
            for name, a, b in zip((*names, "inputs", "scores"), there, here, strict=True)
            if a != b
        ]
        if different:
            told = "; ".join(each if not each.startswith(("inputs", "scores")) else each[:6] for each in different)
            raise KeyConflict(
                f"{self._place.name}: the key {row.key!r} belongs to record {number}, which differs: {told}. "
                "A key names one record for good; use another one."
            )

    def _entered(self, cursor: Any) -> int:
        """Return this writer's number, entering it in the ledger first where it is not there."""
        if self._number is None:
            found = cursor.execute(self._place.text(_FIND_WRITER), (self.token,)).fetchone()
            if found is None:
                about = (self.token, self.now(), socket.gethostname(), os.getpid(), made_with())
                cursor.execute(self._place.text(_ADD_WRITER), (*about, 0, 0, beginning(*about)))
                found = cursor.execute(self._place.text(_FIND_WRITER), (self.token,)).fetchone()
            self._number, self._seq, self._head = int(found[0]), int(found[1]), bytes(found[2])
        return self._number

    def _introduced(self, cursor: Any, shape: Shape, target: str, scope: Scope) -> tuple[int, int, bytes]:
        """Return the numbers of a reward and a scope, adding what is new, and what checksums say of both."""
        if len(self._known) >= _KNOWN:
            self._known.clear()
        numbers = self.spec(cursor, shape), self._scope(cursor, scope)
        made = self._known[shape, target, scope] = (*numbers, common_text(self.token, shape, target, scope))
        return made

    def spec(self, cursor: Any, shape: Shape) -> int:
        """Return a reward's number, adding it where it is new."""
        return specs.stored(self._place, cursor, shape)

    def _scope(self, cursor: Any, scope: Scope) -> int:
        digest = scope_digest(scope)
        found = cursor.execute(self._place.text(_FIND_SCOPE), (digest,)).fetchone()
        if found is None:
            cursor.execute(self._place.text(_ADD_SCOPE), (digest, *scope))
            found = cursor.execute(self._place.text(_FIND_SCOPE), (digest,)).fetchone()
        return int(found[0])
