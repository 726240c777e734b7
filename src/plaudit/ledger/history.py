"""Records as they were recorded, chosen by their context and streamed: never more than a page in memory."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import ColumnElement, Select, func, select

from plaudit.errors import InputError, LedgerBroken, NotInLedger
from plaudit.ledger.backends.backend import report_damage
from plaudit.ledger.context import Scope, validate_integer
from plaudit.ledger.query import Query
from plaudit.ledger.record import Page, Record, Why, read_records
from plaudit.ledger.storage.codec import MAX_RECORDS, RecordLayout, decode_column
from plaudit.ledger.storage.schema import blocks, keys, scopes, specs, writers
from plaudit.ledger.storage.store import Store

if TYPE_CHECKING:
    import pyarrow

_FEWEST, _MOST = 16, 2048
"""Blocks to read at a time: more as long as they are small."""
_BYTES = 4 << 20
"""About how many bytes to read at a time."""
_SCOPE = tuple(scopes.c[name] for name in Scope._fields)
_SCHEME = select(writers.c.scheme).where(writers.c.id == blocks.c.writer).scalar_subquery().label("scheme")


class History:
    """Records in the order in which they were recorded. Iterate over it, or take `arrow`, `count` or `first`."""

    def __init__(self, store: Store, query: Query, owner: object = None) -> None:
        """Keep the query; nothing is read yet. `owner` is kept too: a ledger that nobody has any more is closed."""
        self._store = store
        self._owner = owner
        self.query = query

    def __iter__(self) -> Iterator[Record]:
        """Yield the records one by one."""
        for page in self.pages():
            yield from read_records(page)

    def first(self) -> Record:
        """Return the oldest record; NotInLedger if there is none."""
        for record in self:
            return record
        raise NotInLedger(f"{self._store.backend.name} has no record{self.query.describe()}.")

    def last(self, count: int) -> "History":
        """Return the history that begins with the last `count` records; itself where there are no older ones."""
        left, start = validate_integer("count", count) or 0, self.query.after
        if left < 1:
            raise InputError(f"the last {left} records are none; ask for one at least.")
        for page in self._read(newest_first=True):
            positions = page.positions()
            if len(positions) >= left:
                before = page.row.first + int(positions[-left]) - 1
                return History(self._store, replace(self.query, after=before), self._owner)
            left -= len(positions)
            if start is not None and page.row.first <= start:
                break
        return self

    def count(self) -> int:
        """Return how many records there are."""
        if self.by_block:
            statement = self._where(select(func.coalesce(func.sum(blocks.c.records), 0)))
            with self._store.backend.snapshot() as connection:
                return int(connection.execute(statement).scalar_one())
        return sum(len(page.positions()) for page in self.pages())

    def counts(self) -> list[tuple[RecordLayout, int]]:
        """Return how many records there are of each reward."""
        found: dict[RecordLayout, int] = {}
        if not self.by_block:
            for page in self.pages():
                found[page.layout] = found.get(page.layout, 0) + len(page.positions())
            return list(found.items())
        statement = self._where(select(blocks.c.spec, func.sum(blocks.c.records)).group_by(blocks.c.spec))
        backend = self._store.backend
        with backend.snapshot() as connection, report_damage(backend.name, "the reward of a block"):
            layouts = self._store.specs.read(connection)
            return [(layouts[spec], int(count)) for spec, count in connection.execute(statement)]

    def arrow(self, rows: int = 65_536) -> "Iterator[pyarrow.RecordBatch]":
        """Yield the records as Arrow batches: context, total and the values and inputs of one reward, in columns.

        Rewards differ in their columns, so a batch holds records of one.
        """
        from plaudit.ledger.arrow import build_batches

        return build_batches(self.pages(), rows)

    @cached_property
    def by_block(self) -> bool:
        """Whether the query takes or leaves whole blocks."""
        query = self.query
        names = ("episode", "step", "key", "since", "until", "after", "job", "id")
        parts = [getattr(query, name) for name in names]
        return all(part is None for part in parts)

    def pages(self) -> Iterator[Page]:
        """Yield blocks with their chosen records, reading a few at a time so that writers are never in the way."""
        return self._read(newest_first=False)

    def read_batches(self, records: int) -> Iterator[list[Page]]:
        """Yield pages in lists of about so many records, which are worth an array or a commit."""
        waiting: list[Page] = []
        count = 0
        for page in self.pages():
            waiting.append(page)
            count += page.row.records
            if count >= records:
                yield waiting
                waiting, count = [], 0
        if waiting:
            yield waiting

    def _read(self, *, newest_first: bool) -> Iterator[Page]:
        order = blocks.c.first.desc() if newest_first else blocks.c.first
        wanted = [] if self.query.after is None else [blocks.c.first > self.query.after - MAX_RECORDS]
        low, high = 0, 2**63 - 1  # numbers of records that may still come
        limit = _FEWEST
        while True:
            with self._store.backend.snapshot() as connection:
                layouts = self._store.specs.read(connection)
                statement = self._where(select(blocks, *_SCOPE, _SCHEME)).order_by(order).limit(limit)
                found = connection.execute(statement.where(*wanted)).all()
            for row in found:
                with report_damage(self._store.backend.name, f"the block of record {row.first}"):
                    page = self._build_page(row, layouts[row.spec])
                if page is not None and (row.first < low or row.first + row.records > high):
                    page = page.between(low, high)  # merged since the last read, with records that were there already
                if page is not None:
                    yield page
            if len(found) < limit:
                return
            last = found[-1]
            if newest_first:
                high = last.first
                wanted = [blocks.c.first < high]
            else:
                low = last.first + last.records
                wanted = [blocks.c.first > low - MAX_RECORDS, blocks.c.first + blocks.c.records > low]
            size = sum(len(row.inputs) + len(row.outputs) + len(row.contexts or "") for row in found)
            limit = max(_FEWEST, min(_MOST, limit * _BYTES // max(size, 1), 2 * limit))

    def _where(self, statement: Select[Any]) -> Select[Any]:
        query = self.query
        wanted: list[ColumnElement[bool]] = []
        parts = [scopes.c[name] == getattr(query, name) for name in Scope._fields if getattr(query, name) is not None]
        if parts:
            wanted.append(blocks.c.scope.in_(select(scopes.c.id).where(*parts)))
        if query.reward is not None or query.version is not None:
            named = {"name": query.reward, "version": query.version}
            chosen = [specs.c[name] == value for name, value in named.items() if value is not None]
            wanted.append(blocks.c.spec.in_(select(specs.c.id).where(*chosen)))
        if query.after is not None:
            wanted.append(blocks.c.first + blocks.c.records > query.after + 1)
        if query.since is not None:
            wanted.append(blocks.c.latest >= query.since)
        if query.until is not None:
            wanted.append(blocks.c.earliest < query.until)
        one: Any = query.id
        if query.key is not None:
            one = select(keys.c.record).where(keys.c.key == query.key).scalar_subquery()
        if one is not None:
            wanted += [
                blocks.c.first <= one,
                blocks.c.first > one - MAX_RECORDS,
                blocks.c.first + blocks.c.records > one,
            ]
        elif query.job is None:
            wanted.append(blocks.c.job.is_(None))
        if query.job is not None:
            wanted.append(blocks.c.job == query.job)
        return statement.select_from(blocks.join(scopes, scopes.c.id == blocks.c.scope)).where(*wanted)

    def _build_page(self, row: Any, layout: RecordLayout) -> Page | None:
        if not layout.fits(row.inputs, row.outputs, row.records):
            what = f"it does not hold {row.records} rows of {layout.reward.name!r}"
            raise LedgerBroken(f"{self._store.backend.name}: the block of record {row.first} is damaged: {what}.")
        chosen = None if self.by_block else self._find_chosen(row, layout)
        return Page(self._store.backend.name, row, layout, chosen) if chosen is None or len(chosen) else None

    def _find_chosen(self, row: Any, layout: RecordLayout) -> "np.ndarray[Any, np.dtype[np.intp]]":
        """Return the positions of the records wanted."""
        query = self.query
        keep = np.ones(row.records, np.bool_)
        if query.job is not None:
            totals = layout.decode_outputs(row.outputs, row.records)[:, 0]
            keep &= ~np.isnan(totals)  # what the new reward refused has no score
        if query.id is not None:
            keep &= np.arange(row.first, row.first + row.records) == query.id
        if query.after is not None:
            keep &= np.arange(row.first, row.first + row.records) > query.after
        if query.since is not None or query.until is not None:
            times = row.earliest + np.asarray([0 if at is None else at for at in decode_column(row.times, row.records)])
            keep &= times >= (query.since if query.since is not None else times.min())
            keep &= times < (query.until if query.until is not None else times.max() + 1)
        columns = ((row.episodes, query.episode), (row.steps, query.step), (row.keys, query.key))
        for column, wanted in columns:
            if wanted is not None:
                keep &= np.asarray([entry == wanted for entry in decode_column(column, row.records)])
        return np.flatnonzero(keep)


def find_record(store: Store, record: int | str) -> Record:
    """Return the record with a number or a key; NotInLedger if there is none."""
    query = Query.parse({"key" if isinstance(record, str) else "id": record})
    for found in History(store, query):
        return found
    what = f"the key {record!r}" if isinstance(record, str) else f"the number {record}"
    raise NotInLedger(f"{store.backend.name} has no record with {what}.")


def explain_record(store: Store, record: Record) -> Why:
    """Return a record with what is known of its writer."""
    with store.backend.snapshot() as connection, report_damage(store.backend.name, f"the writer {record.writer}"):
        row = connection.execute(select(writers).where(writers.c.id == record.writer)).one()
    return Why(record, row.host, row.process, row.made_with)
