"""Records as they were recorded, chosen by their context and streamed: never more than a page in memory."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Column, Connection, func, select

from plaudit.errors import InputError, LedgerBroken, NotInLedger
from plaudit.frames import ArrowTable, PandasFrame, PolarsFrame, build_pandas, build_polars
from plaudit.html import MOST_ROWS, build_heading, build_name, build_table, join
from plaudit.ledger.backends.backend import report_damage, require_type
from plaudit.ledger.context import Scope, validate_integer
from plaudit.ledger.query import Query
from plaudit.ledger.ranking import rank_records
from plaudit.ledger.record import Page, Record, Why, read_records
from plaudit.ledger.search import BlockSearch, Positions, read_totals
from plaudit.ledger.storage.codec import RecordLayout, decode_column
from plaudit.ledger.storage.schema import blocks, scopes, summaries, writers
from plaudit.ledger.storage.segment_rows import SegmentRow
from plaudit.ledger.storage.store import Store
from plaudit.ledger.suggest import KnownValues, list_known_values, suggest_value
from plaudit.ledger.totals import Tally, Totals
from plaudit.terminal import format_count

if TYPE_CHECKING:
    import pyarrow

    from plaudit.plots.axes import Axes

_WHOLE = (*blocks.c, *(scopes.c[name] for name in Scope._fields))
_SUMS = (blocks.c.first, blocks.c.records, summaries.c.total, summaries.c.low, summaries.c.high)
_STREAMED = {"yield_per": 10_000}
_MOST_DRAWN = 100_000
"""Records that a picture of steps is made of at most."""


class History:
    """Records in the order in which they were recorded: iterate, or take `arrow`, `count`, `totals` or `first`."""

    def __init__(self, store: Store, query: Query, owner: object = None, begin: int | None = None) -> None:
        """Keep the query; nothing is read yet. `owner` is kept too, so the ledger is not closed before.

        `begin` is the number of the record to begin with.
        """
        self._store = store
        self._owner = owner
        self._search = BlockSearch(store, query, begin)
        self.query = query

    def __iter__(self) -> Iterator[Record]:
        """Yield the records one by one."""
        for page in self.pages():
            yield from read_records(page)

    def _repr_html_(self) -> str:
        shown, count = list(islice(self, MOST_ROWS)), self.count()
        terms = list(dict.fromkeys(name for each in shown for name in each.signal.values))
        rows = [(*(each.id, each.run, each.actor, each.episode, each.step), *_list_paid(each, terms)) for each in shown]
        headers = ("record", "run", "actor", "episode", "step", "total", *map(build_name, terms))
        title = f"{format_count(count, 'record')} of {self._store.backend.name}{self.query.describe()}"
        table = build_table(headers, rows, right=("record", "step", *headers[5:]), count=count)
        return join(build_heading(title), table if shown else None)

    def plot(self, *, ax: "Axes | None" = None) -> "Axes":
        """Draw what each term paid in every record, stacked above and below zero, with the total as a line.

        It is meant for an episode: `ledger.history(run="night-3", episode="7").plot()`. Records of several rewards, or
        more than a picture can hold, are refused.

        Args:
            ax: The matplotlib axes; a new figure if omitted.

        Raises:
            NotInLedger: There is no such record.
            InputError: The records are of several rewards, or too many.
            MissingExtra: matplotlib is not installed.
        """
        from plaudit.plots.stacked import plot_stacked

        if (count := self.count()) > _MOST_DRAWN:
            raise InputError(f"{count:,} records are too many for a plot of steps; choose an episode, or .last(1000).")
        records = list(self) or [self.first()]
        rewards = list(dict.fromkeys(f"{each.signal.reward}@{each.signal.version}" for each in records))
        if len(rewards) > 1:
            raise InputError(f"these records belong to several rewards, {', '.join(rewards)}; choose one with reward=.")
        names = list(dict.fromkeys(name for each in records for name in each.signal.values))
        columns = {name: [each.signal.values.get(name, 0.0) for each in records] for name in names}
        steps = [-1 if each.step is None else each.step for each in records]
        in_order = all(one < other for one, other in pairwise(steps)) and steps[0] >= 0
        where = {(each.run, each.actor, each.episode) for each in records}
        names_of_one = [str(part) for part in next(iter(where)) if part is not None] if len(where) == 1 else []
        return plot_stacked(
            columns,
            [each.total for each in records],
            x=steps if in_order else None,
            along="step" if in_order else "record",
            title=" ".join([rewards[0], *names_of_one]),
            ax=ax,
        )

    def first(self) -> Record:
        """Return the oldest record; NotInLedger if there is none."""
        for record in self:
            return record
        raise self._explain_nothing()

    def _explain_nothing(self) -> NotInLedger:
        hint = ""
        if (near := self.suggest()) is not None:
            hint = f" Did you mean {near[0]}={near[1]!r}?"
        elif (known := self.list_known_values()) is not None:
            hint = f" It has {known.name}={known.describe()}."
        return NotInLedger(f"{self._store.backend.name} has no record{self.query.describe()}.{hint}")

    def suggest(self) -> tuple[str, str] | None:
        """Return what may be misspelt where there are no records: a part of the query that none has, and the nearest.

        None where there is no guess.
        """
        return suggest_value(self._store, self.query)

    def list_known_values(self) -> KnownValues | None:
        """Return what records have of a part of the query that none matches.

        None where each part of it, on its own, has records.
        """
        return list_known_values(self._store, self.query)

    def find_last(self) -> int:
        """Return the number of the last record, 0 if there is none."""
        for found in self._search.read((), newest_first=True):
            return int(found.row.first + (found.row.records - 1 if found.chosen is None else found.chosen[-1]))
        return 0

    def last(self, count: int) -> "History":
        """Return the history that begins with the last `count` records; itself where there are no older ones."""
        left = validate_integer("count", count) or 0
        if left < 1:
            raise InputError(f"last({left}) selects nothing; pass at least 1.")
        for found in self._search.read((), newest_first=True):
            if len(found) >= left:
                at = len(found) - left if found.chosen is None else int(found.chosen[-left])
                return History(self._store, self.query, self._owner, found.row.first + at)
            left -= len(found)
        return self

    def worst(self, count: int = 10, *, term: str | None = None) -> list[Record]:
        """Return the records with the lowest totals, the worst first; with `term`, those it paid least."""
        return self._rank(count, term, lowest=True)

    def best(self, count: int = 10, *, term: str | None = None) -> list[Record]:
        """Return the records with the highest totals, the best first; with `term`, those it paid most."""
        return self._rank(count, term, lowest=False)

    def _rank(self, count: int, term: str | None, *, lowest: bool) -> list[Record]:
        numbers = rank_records(self._store, self._search, count, term=term, lowest=lowest)
        return [find_record(self._store, number) for number in numbers]

    def count(self) -> int:
        """Return how many records there are."""
        if self._search.by_block:
            statement = select(func.coalesce(func.sum(blocks.c.records), 0))
            with self._store.backend.snapshot() as connection:
                return int(connection.execute(self._search.where(statement, connection)).scalar_one())
        return sum(map(len, self._search.read(())))

    def counts(self) -> list[tuple[RecordLayout, int]]:
        """Return how many records there are of each reward, in the order in which rewards were stored."""
        counted: dict[int, int] = {}
        if self._search.by_block:
            statement = select(blocks.c.spec, func.sum(blocks.c.records)).group_by(blocks.c.spec)
            with self._store.backend.snapshot() as connection:
                rows = connection.execute(self._search.where(statement, connection))
                counted = {spec: int(count) for spec, count in rows}
        else:
            for found in self._search.read((blocks.c.spec,)):
                counted[found.row.spec] = counted.get(found.row.spec, 0) + len(found)
        with self._store.backend.snapshot() as connection:
            layouts = self._store.specs.read(connection, counted)
        return [(layouts[spec], counted[spec]) for spec in sorted(counted)]

    def totals(self) -> Totals:
        """Return what the totals of the records are like: their mean, the lowest and the highest.

        Where the choice takes whole blocks, the sums are added that were made when they were written; otherwise the
        totals of the records are read, and nothing else of them.
        """
        whole = Tally()
        tallies = self.tally_totals(blocks.c.scope)
        with self._store.backend.snapshot() as connection:
            rates = read_rates(connection)
        for (scope,), tally in tallies.items():
            whole.join(tally, rate=rates.get(scope))
        return whole.finish()

    def may_have_masked(self) -> bool:
        """Return whether some of the records may have no total; False is certain."""
        if not self._search.by_block:
            return True
        with self._store.backend.snapshot() as connection:
            unsummed = select(*_SUMS).where(summaries.c.total.is_(None)).limit(1)
            return connection.execute(self._search.where(unsummed, connection)).first() is not None

    def tally_totals(self, *groups: Column[Any]) -> dict[tuple[Any, ...], Tally]:
        """Return the totals of the records added up, by columns of their blocks; those of samples are not weighed."""
        found: defaultdict[tuple[Any, ...], Tally] = defaultdict(Tally)
        search = self._search
        if not search.by_block:
            for row, chosen in search.read((blocks.c.outputs, *groups)):
                with report_damage(self._store.backend.name, f"the block of record {row.first}"):
                    found[tuple(getattr(row, group.name) for group in groups)].add(read_totals(row)[chosen])
            return found
        unsummed: list[int] = []
        with self._store.backend.snapshot() as connection:
            statement = search.where(select(*_SUMS, *groups), connection)
            with connection.execute(statement, execution_options=_STREAMED) as rows:
                for first, count, total, low, high, *group in rows:
                    if total is None:
                        unsummed.append(first)
                    else:
                        found[tuple(group)].add_sum(count, total, low, high)
        for first in unsummed:
            for row in search.read_totals([first], groups):
                found[tuple(getattr(row, group.name) for group in groups)].add(read_totals(row))
        return found

    def arrow(self, rows: int = 65_536) -> "Iterator[pyarrow.RecordBatch]":
        """Yield the records as Arrow batches: context, total and the values and inputs of one reward, in columns.

        Rewards differ in their columns, so a batch holds records of one.
        """
        from plaudit.ledger.arrow import build_batches

        return build_batches(self.pages(), rows)

    def to_arrow(self) -> ArrowTable:
        """Return the records, all of one reward, as a table of Arrow: the columns of `arrow`.

        Raises:
            LedgerError: They are of several rewards; NotInLedger where there are none, and so no columns.
            MissingExtra: Arrow is not installed.
        """
        from plaudit.ledger.arrow import build_table

        found = build_table(self.arrow())
        if found is None:
            raise self._explain_nothing()
        return found

    def to_pandas(self) -> PandasFrame:
        """Return the records, all of one reward, as a data frame of pandas; raises what `to_arrow` does."""
        return build_pandas(self.to_arrow())

    def to_polars(self) -> PolarsFrame:
        """Return the records, all of one reward, as a data frame of Polars; raises what `to_arrow` does."""
        return build_polars(self.to_arrow())

    def pages(self, *, whole: bool = False) -> Iterator[Page]:
        """Yield blocks with their chosen records, reading a few at a time so that writers are never in the way.

        Of a segment's block only the part with the chosen records is loaded, but for `whole`.
        """
        layouts: dict[int, RecordLayout] = {}
        for row, chosen in self._search.read(_WHOLE):
            layout = layouts.get(row.spec)
            if layout is None:
                with self._store.backend.snapshot() as connection:
                    layout = layouts[row.spec] = self._store.specs.read(connection, [row.spec])[row.spec]
            name = self._store.backend.name
            if isinstance(row, SegmentRow):
                yield Page(name, *((row, chosen) if whole else _narrow(row, chosen)), layout)
                continue
            with report_damage(name, f"the block of record {row.first}"):
                whole = layout.fits(row.inputs, row.outputs, row.records)
            if not whole:
                what = f"it does not hold {row.records} rows of {layout.reward.name!r}"
                raise LedgerBroken(f"{name}: the block of record {row.first} is damaged: {what}.")
            yield Page(name, row, chosen, layout)

    def read_batches(self, records: int, *, whole: bool = False) -> Iterator[list[Page]]:
        """Yield pages in lists of about so many records, which are worth an array or a commit."""
        waiting: list[Page] = []
        count = 0
        for page in self.pages(whole=whole):
            waiting.append(page)
            count += page.row.records
            if count >= records:
                yield waiting
                waiting, count = [], 0
        if waiting:
            yield waiting


def _list_paid(record: Record, terms: Sequence[str]) -> list[float | str | None]:
    if math.isnan(record.total):
        return ["not scored", *(None for _ in terms)]
    return [record.total, *map(record.signal.values.get, terms)]


def _narrow(row: SegmentRow, chosen: Positions | None) -> tuple[SegmentRow, Positions | None]:
    """Return the part of a block in which the chosen records are; of a re-scoring, all of it."""
    if chosen is None or row.origin is not None:
        return row, chosen
    start = int(chosen[0])
    return row.narrow(start, int(chosen[-1]) + 1), chosen - start


def read_rates(connection: Connection) -> dict[int, float]:
    """Return the rates of the scopes of which only a sample of the episodes was recorded."""
    statement = select(scopes.c.id, scopes.c.sample_rate).where(scopes.c.sample_rate.is_not(None))
    return {row.id: row.sample_rate for row in connection.execute(statement)}


def find_record(store: Store, record: int | str) -> Record:
    """Return the record with a number or a key; NotInLedger if there is none."""
    query = Query.parse({"key" if isinstance(record, str) else "id": record})
    for found in History(store, query):
        return found
    near = suggest_value(store, query)
    hint = "" if near is None else f" Did you mean {near[1]!r}?"
    what = f"the key {record!r}" if isinstance(record, str) else f"the number {record}"
    raise NotInLedger(f"{store.backend.name} has no record with {what}.{hint}")


def list_contexts(store: Store, query: Query, begin: int | None = None) -> Iterator[tuple[int, str | None, Any]]:
    """Yield the number, the run and the context of each record from `begin` on, and read nothing else of them."""
    for row, chosen in BlockSearch(store, query, begin).read((blocks.c.contexts, scopes.c.run)):
        with report_damage(store.backend.name, f"the block of record {row.first}"):
            contexts = list(decode_column(row.contexts, row.records))
        for at in range(row.records) if chosen is None else chosen.tolist():
            yield row.first + at, row.run, contexts[at]


def find_records(store: Store, numbers: Collection[int]) -> list[Record]:
    """Return the records with these numbers, in order; a page that has several is decoded once."""
    found: list[Record] = []
    for number in sorted(set(numbers)):
        if found and number <= found[-1].id:
            continue
        for page in History(store, Query(id=number)).pages(whole=True):
            there = np.array(sorted({each - page.row.first for each in numbers if page.holds(each)}))
            row, chosen = _narrow(page.row, there) if isinstance(page.row, SegmentRow) else (page.row, there)
            found += read_records(replace(page, row=row, chosen=chosen))
    return found


def explain_records(store: Store, records: Sequence[Record]) -> list[Why]:
    """Return records with what is known of their writers."""
    known: dict[int, Why] = {}
    for record in records:
        if record.writer not in known:
            known[record.writer] = explain_record(store, record)
    return [replace(known[record.writer], record=record) for record in records]


def explain_record(store: Store, record: Record) -> Why:
    """Return a record with what is known of its writer."""
    with store.backend.snapshot() as connection, report_damage(store.backend.name, f"the writer {record.writer}"):
        row = connection.execute(select(writers).where(writers.c.id == record.writer)).one()
        require_type(str, row.host, row.made_with)
    return Why(record, row.host, row.process, row.made_with)
