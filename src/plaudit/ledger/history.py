"""Records as they were recorded, chosen by their context and streamed: never more than a page in memory."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import ColumnElement, Select, func, select

from plaudit.errors import LedgerBroken, NotInLedger
from plaudit.ledger.blocks.block import LARGEST, entries
from plaudit.ledger.blocks.shape import Rows, Shape
from plaudit.ledger.blocks.shelf import Shelf
from plaudit.ledger.choice import Choice
from plaudit.ledger.places.place import Place
from plaudit.ledger.places.schema import blocks, keys, scopes, specs
from plaudit.ledger.record import Record, Scope, moment
from plaudit.reward.signal import Signal

if TYPE_CHECKING:
    import pyarrow

_FEWEST, _MOST = 16, 2048
"""Blocks to read at a time: more as long as they are small."""
_BYTES = 4 << 20
"""About how many bytes to read at a time."""


@dataclass(frozen=True, slots=True)
class Page:
    """A block as it was read, with those of its records that were chosen."""

    row: Any
    shape: Shape
    chosen: "np.ndarray[Any, np.dtype[np.intp]] | None"
    """Positions of the chosen records; None for all."""

    @property
    def inputs(self) -> Rows:
        """The inputs of all its records."""
        return self.shape.input_rows(self.row.inputs, self.row.records)

    @property
    def outputs(self) -> Rows:
        """The outputs of all its records."""
        return self.shape.output_rows(self.row.outputs, self.row.records)

    def positions(self) -> "np.ndarray[Any, np.dtype[np.intp]]":
        """Return the positions of the chosen records."""
        return np.arange(self.row.records) if self.chosen is None else self.chosen


class History:
    """Records in the order in which they were recorded. Iterate over it, or take `arrow`, `count` or `first`."""

    def __init__(self, place: Place, shelf: Shelf, choice: Choice) -> None:
        """Choose; nothing is read yet."""
        self._place = place
        self._shelf = shelf
        self.choice = choice

    def __iter__(self) -> Iterator[Record]:
        """Yield the records one by one."""
        for page in self.pages():
            yield from records(page)

    def first(self) -> Record:
        """Return the oldest record; NotInLedger if there is none."""
        for record in self:
            return record
        raise NotInLedger(f"{self._place.name} has no record{self.choice.told()}.")

    def last(self, count: int) -> "History":
        """Return the history that begins with the last `count` records; itself where there are no older ones."""
        left, start = count, self.choice.after
        for page in self._read(newest_first=True):
            positions = page.positions()
            if len(positions) >= left:
                before = page.row.first + int(positions[-left]) - 1
                return History(self._place, self._shelf, replace(self.choice, after=before))
            left -= len(positions)
            if start is not None and page.row.first <= start:
                break
        return self

    def count(self) -> int:
        """Return how many records there are."""
        if self.by_block:
            statement = self._where(select(func.coalesce(func.sum(blocks.c.records), 0)))
            with self._place.reading() as connection:
                return int(connection.execute(statement).scalar_one())
        return sum(len(page.positions()) for page in self.pages())

    def counts(self) -> list[tuple[Shape, int]]:
        """Return how many records there are of each reward."""
        found: dict[Shape, int] = {}
        if not self.by_block:
            for page in self.pages():
                found[page.shape] = found.get(page.shape, 0) + len(page.positions())
            return list(found.items())
        statement = self._where(select(blocks.c.spec, func.sum(blocks.c.records)).group_by(blocks.c.spec))
        with self._place.reading() as connection:
            shapes = self._shelf.read(connection)
            return [(shapes[spec], int(count)) for spec, count in connection.execute(statement)]

    def arrow(self, rows: int = 65_536) -> "Iterator[pyarrow.RecordBatch]":
        """Yield the records as Arrow batches: context, total and the values and inputs of one reward, in columns.

        Rewards differ in their columns, so a batch holds records of one.
        """
        from plaudit.ledger.exchange.arrow import batches

        return batches(self.pages(), rows)

    @cached_property
    def by_block(self) -> bool:
        """Whether the choice takes or leaves whole blocks."""
        choice = self.choice
        names = ("episode", "step", "key", "since", "until", "after", "job", "id")
        parts = [getattr(choice, name) for name in names]
        return all(part is None for part in parts)

    def pages(self) -> Iterator[Page]:
        """Yield blocks with their chosen records, reading a few at a time so that writers are never in the way."""
        return self._read(newest_first=False)

    def gathered(self, records: int) -> Iterator[list[Page]]:
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
        after = None if self.choice.after is None else blocks.c.first > self.choice.after - LARGEST
        limit = _FEWEST
        while True:
            with self._place.reading() as connection:
                shapes = self._shelf.read(connection)
                statement = self._where(select(blocks, *_SCOPE)).order_by(order).limit(limit)
                found = connection.execute(statement if after is None else statement.where(after)).all()
            for row in found:
                page = self._page(row, shapes[row.spec])
                if page is not None:
                    yield page
            if len(found) < limit:
                return
            after = blocks.c.first < found[-1].first if newest_first else blocks.c.first > found[-1].first
            size = sum(len(row.inputs) + len(row.outputs) + len(row.contexts or "") for row in found)
            limit = max(_FEWEST, min(_MOST, limit * _BYTES // max(size, 1), 2 * limit))

    def _where(self, statement: Select[Any]) -> Select[Any]:
        choice = self.choice
        wanted: list[ColumnElement[bool]] = []
        parts = [scopes.c[name] == getattr(choice, name) for name in Scope._fields if getattr(choice, name) is not None]
        if parts:
            wanted.append(blocks.c.scope.in_(select(scopes.c.id).where(*parts)))
        if choice.reward is not None or choice.version is not None:
            named = {"name": choice.reward, "version": choice.version}
            chosen = [specs.c[name] == value for name, value in named.items() if value is not None]
            wanted.append(blocks.c.spec.in_(select(specs.c.id).where(*chosen)))
        if choice.after is not None:
            wanted.append(blocks.c.first + blocks.c.records > choice.after + 1)
        if choice.since is not None:
            wanted.append(blocks.c.latest >= choice.since)
        if choice.until is not None:
            wanted.append(blocks.c.earliest < choice.until)
        one: Any = choice.id
        if choice.key is not None:
            one = select(keys.c.record).where(keys.c.key == choice.key).scalar_subquery()
        if one is not None:
            wanted += [blocks.c.first <= one, blocks.c.first > one - LARGEST, blocks.c.first + blocks.c.records > one]
        elif choice.job is None:
            wanted.append(blocks.c.job.is_(None))
        if choice.job is not None:
            wanted.append(blocks.c.job == choice.job)
        return statement.select_from(blocks.join(scopes, scopes.c.id == blocks.c.scope)).where(*wanted)

    def _page(self, row: Any, shape: Shape) -> Page | None:
        if not shape.fits(row.inputs, row.outputs, row.records):
            what = f"it does not hold {row.records} rows of {shape.reward.name!r}"
            raise LedgerBroken(f"{self._place.name}: the block of record {row.first} is damaged: {what}.")
        chosen = None if self.by_block else self._chosen(row, shape)
        return Page(row, shape, chosen) if chosen is None or len(chosen) else None

    def _chosen(self, row: Any, shape: Shape) -> "np.ndarray[Any, np.dtype[np.intp]]":
        """Return the positions of the records wanted."""
        choice = self.choice
        keep = np.ones(row.records, np.bool_)
        if choice.job is not None:
            totals = shape.output_rows(row.outputs, row.records)[:, 0]
            keep &= ~np.isnan(totals)  # what the new reward refused has no score
        if choice.id is not None:
            keep &= np.arange(row.first, row.first + row.records) == choice.id
        if choice.after is not None:
            keep &= np.arange(row.first, row.first + row.records) > choice.after
        if choice.since is not None or choice.until is not None:
            times = row.earliest + np.asarray([0 if at is None else at for at in entries(row.times, row.records)])
            keep &= times >= (choice.since if choice.since is not None else times.min())
            keep &= times < (choice.until if choice.until is not None else times.max() + 1)
        columns = ((row.episodes, choice.episode), (row.steps, choice.step), (row.keys, choice.key))
        for column, wanted in columns:
            if wanted is not None:
                keep &= np.asarray([entry == wanted for entry in entries(column, row.records)])
        return np.flatnonzero(keep)


_SCOPE = tuple(scopes.c[name] for name in Scope._fields)


def records(page: Page) -> Iterator[Record]:
    """Yield the chosen records of a page."""
    row, shape, count = page.row, page.shape, page.row.records
    about = (row.run, row.phase, row.decision_class, row.actor, row.target, row.writer, row.seq, row.job)
    columns = (row.times, row.keys, row.episodes, row.steps, row.contexts, row.picked)
    if count == 1:
        one = [None if column is None else json.loads(column)[0] for column in columns]
        yield _record(row, 0, one, shape.signal_of(row.inputs, row.outputs), about)
        return
    lists = [list(entries(column, count)) for column in columns]
    inputs, outputs = page.inputs, page.outputs
    for at in page.positions().tolist():
        signal = shape.signal(inputs[at].tolist(), outputs[at].tolist())
        yield _record(row, at, [listed[at] for listed in lists], signal, about)


def _record(row: Any, at: int, entry: list[Any], signal: Signal, about: tuple[Any, ...]) -> Record:
    time, key, episode, step, context, picked = entry
    run, phase, decision_class, actor, target, writer, seq, job = about
    origin = None if row.origin is None else row.origin + (at if picked is None else picked)
    when = moment(row.earliest + (time or 0))
    where = (run, episode, step, phase, decision_class, actor, context)
    return Record(row.first + at, key, signal, when, *where, target, writer, seq, origin, job)
