"""Finds the blocks that hold the records of a query, by an index for every choice, and reads a few at a time."""

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, or_, select

from plaudit.ledger.backends.backend import report_damage
from plaudit.ledger.context import NAMES
from plaudit.ledger.query import Query
from plaudit.ledger.storage.codec import FLOAT, MAX_RECORDS, check_count, decode_column
from plaudit.ledger.storage.order import Horizon, Window, limit_to, list_order, list_window_ends, read_horizon
from plaudit.ledger.storage.schema import blocks, keys, scopes, specs, summaries
from plaudit.ledger.storage.segment_rows import HELD, LOCATED, SegmentRow
from plaudit.ledger.storage.sizes import limit_size
from plaudit.ledger.storage.store import Store
from plaudit.ledger.storage.summary import list_forks, number_episode

_FEWEST, _MOST = 16, 2048
"""Blocks to read at a time: more as long as they are small."""
_BYTES = 4 << 20
"""About how many bytes to read at a time."""
_PROBED = {"yield_per": 1000}
"""How blocks are streamed that are looked at one by one."""

Positions = NDArray[np.intp]


class Found(NamedTuple):
    """A block that was read, and which of its records were chosen."""

    row: Any
    chosen: Positions | None
    """Their positions; None for all."""

    def __len__(self) -> int:
        """Return how many records were chosen."""
        return int(self.row.records) if self.chosen is None else len(self.chosen)


class BlockSearch:
    """The blocks of a query."""

    def __init__(self, store: Store, query: Query, begin: int | None = None) -> None:
        """Keep the query; nothing is read yet. `begin` is the number of the record to begin with."""
        self._backend, self._segments = store.backend, store.segments
        self._order = list_order(store.backend.dialect)
        self._begin = begin
        self.query = query

    @cached_property
    def by_block(self) -> bool:
        """Whether the query takes or leaves whole blocks."""
        names = ("episode", "step", "key", "since", "until", "after", "job", "id")
        return self._begin is None and all(getattr(self.query, name) is None for name in names)

    @property
    def _whole(self) -> Window:
        return Window(self.query.after) if self._begin is None else Window(self._begin, inclusive=True)

    def read(self, columns: Sequence[ColumnElement[Any]], *, newest_first: bool = False) -> Iterator[Found]:
        """Yield columns of the blocks that hold chosen records, in order, from one short transaction after another."""
        asked = dict.fromkeys((*self._deciding, *columns))
        held = any(column.name in HELD for column in asked)
        wanted = [limit_size(column) for column in dict.fromkeys((*asked, *LOCATED) if held else asked)]
        go_through = self._scan if self._is_ordered() else self._look_up
        for found, window in go_through(wanted, newest_first=newest_first):
            row = self._segments.hydrate(found) if held else found
            with report_damage(self._backend.name, f"the block of record {row.first}"):
                check_count(row.records)
                in_part = not self.by_block or window.holds_end(row.first, row.records)
                chosen = self._find_chosen(row, window) if in_part else None
            if chosen is None or len(chosen):
                yield Found(row, chosen)

    def read_blocks(self, firsts: Sequence[int], columns: Sequence[ColumnElement[Any]]) -> Iterator[Any]:
        """Yield columns of the blocks with these numbers that are still there, in order."""
        with self._backend.snapshot() as connection:
            yield from connection.execute(_select_blocks(tuple(columns), self._order), {"firsts": firsts}).all()

    def read_totals(self, firsts: Sequence[int], columns: Sequence[ColumnElement[Any]]) -> Iterator[Any]:
        """Yield columns of the blocks with these numbers, and what `read_totals` needs of them."""
        wanted = dict.fromkeys((*columns, blocks.c.outputs, *LOCATED))
        yield from map(self._segments.hydrate, self.read_blocks(firsts, tuple(wanted)))

    # -- two ways to go through blocks ---------------------------------------------------------------------------------

    def _scan(self, columns: Sequence[Any], *, newest_first: bool) -> Iterator[tuple[Any, Window]]:
        """Yield blocks in the order of the history, and what was to be read when they were."""
        order = [column.desc() for column in self._order] if newest_first else self._order
        window, limit, horizon = self._whole, _FEWEST, None
        while True:
            statement = select(*columns).order_by(*order).limit(limit)
            with self._backend.snapshot() as connection:
                horizon = horizon or read_horizon(connection)
                within = statement.where(*self._limit_to(connection, window, horizon))
                found = connection.execute(self.where(within, connection)).all()
            for row in found:
                yield row, window
            if len(found) < limit:
                return
            window = _move(window, found, newest_first=newest_first)
            limit = _choose_limit(limit, found)

    def _look_up(self, columns: Sequence[Any], *, newest_first: bool) -> Iterator[tuple[Any, Window]]:
        """Yield blocks that an index finds anywhere in the ledger; of each, eight bytes are kept until it is read."""
        window, limit = self._whole, _FEWEST
        with self._backend.snapshot() as connection:
            horizon = read_horizon(connection)
        before: tuple[Window, array[int]] | None = None
        while True:
            firsts = self._find(window, horizon)
            if newest_first:
                firsts.reverse()
            if (window, firsts) == before:  # nothing was merged meanwhile
                with report_damage(self._backend.name, f"the block of record {firsts[0]}"):
                    raise LookupError("its scope or its summary is not there")
            before = window, firsts
            start = 0
            while start < len(firsts):
                part = firsts[start : start + limit].tolist()
                found = list(self.read_blocks(part, columns))
                for row in reversed(found) if newest_first else found:
                    yield row, window
                start += limit
                if found:
                    window = _move(window, found[::-1] if newest_first else found, newest_first=newest_first)
                    limit = _choose_limit(limit, found)
                if len(found) < len(part):  # some were merged meanwhile
                    break
            else:
                return

    def _limit_to(self, connection: Connection, window: Window, horizon: Horizon | None) -> list[ColumnElement[bool]]:
        return limit_to(connection, window, horizon, settled=self.query.after is not None)

    def _find(self, window: Window, horizon: Horizon | None) -> "array[int]":
        """Return the numbers of the blocks that may hold chosen records, in order."""
        probed = {"episode": blocks.c.episodes, "step": blocks.c.steps}
        texts = [limit_size(column) for name, column in probed.items() if getattr(self.query, name) is not None]
        with self._backend.snapshot() as connection, report_damage(self._backend.name, "a block"):
            within = select(blocks.c.first).where(*self._limit_to(connection, window, horizon))
            chosen = self.where(within, connection)
            statement = (
                select(blocks.c.first, blocks.c.segment, *texts)
                .where(blocks.c.first.in_(chosen))
                .order_by(*self._order)
            )
            with connection.execute(statement, execution_options=_PROBED) as rows:
                return array("q", (row.first for row in rows if self._may_hold(row)))

    def _may_hold(self, row: Any) -> bool:
        """Return whether the texts of a block have the episode and the step wanted, perhaps of different records."""
        query = self.query
        if row.segment is not None:
            return True
        if not all(text.startswith("[") for text in row[2:]):
            raise ValueError("its episodes or its steps are no list")
        if query.episode is not None and json.dumps(query.episode) not in row.episodes:
            return False
        return query.step is None or next(_find_steps(row.steps, query.step), None) is not None

    # -- what is chosen ---------------------------------------------------------------------------------------------

    def _is_ordered(self) -> bool:
        """Return whether one index finds the blocks, and in the order of the history."""
        if self._list_intervals() or self.query.job is not None:
            return False
        with self._backend.snapshot() as connection:
            several = [len(connection.execute(part.limit(2)).all()) > 1 for part in self._list_shared().values()]
        return not any(several)

    def _list_shared(self) -> dict[Any, Select[Any]]:
        """Return the columns of blocks that name a scope or a reward, and what finds those chosen."""
        query = self.query
        found: dict[Any, Select[Any]] = {}
        parts = [scopes.c[name] == getattr(query, name) for name in NAMES if getattr(query, name) is not None]
        if parts:
            found[blocks.c.scope] = select(scopes.c.id).where(*parts)
        named = {specs.c.name: query.reward, specs.c.version: query.version}
        chosen = [column == value for column, value in named.items() if value is not None]
        if chosen:
            found[blocks.c.spec] = select(specs.c.id).where(*chosen)
        return found

    def where(self, statement: Select[Any], connection: Connection) -> Select[Any]:
        """Return a statement on blocks with the conditions of the query; what they need is joined."""
        query = self.query
        scattered = self._list_intervals()
        wanted = [*scattered]
        for column, numbers in self._list_shared().items():
            found = connection.execute(numbers.limit(2)).scalars().all()
            # A sum has no index: where an episode or a step is asked for, theirs finds fewer blocks.
            own = column if query.episode is None and query.step is None else column + 0
            wanted.append(own == found[0] if len(found) == 1 else own.in_(numbers))  # one keeps an index in order
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
        return _join(statement, summarized=bool(scattered)).where(*wanted)

    def _list_intervals(self) -> list[ColumnElement[bool]]:
        """Return conditions that leave out blocks whose steps, episodes or times lie elsewhere."""
        query, own = self.query, summaries.c
        found: list[ColumnElement[bool]] = []
        if query.episode is not None:
            number = number_episode(query.episode)
            found.append(_meets(own.episode_fork, own.episode_low, own.episode_high, number, number))
        if query.step is not None:
            fork = own.step_fork if query.episode is None else own.step_fork + 0  # episodes find fewer blocks
            found.append(_meets(fork, own.step_low, own.step_high, query.step, query.step))
        if query.since is not None or query.until is not None:
            until = None if query.until is None else query.until - 1
            found.append(_meets(own.time_fork, blocks.c.earliest, blocks.c.latest, query.since, until))
        return found

    @cached_property
    def _deciding(self) -> list[ColumnElement[Any]]:
        query = self.query
        found: list[ColumnElement[Any]] = [blocks.c.first, blocks.c.records]
        if query.since is not None or query.until is not None:
            found += [blocks.c.earliest, blocks.c.times]
        needed = {"episode": "episodes", "step": "steps", "key": "keys", "job": "outputs"}
        return found + [blocks.c[column] for name, column in needed.items() if getattr(query, name) is not None]

    def _find_chosen(self, row: Any, window: Window) -> Positions:
        query = self.query
        numbers = np.arange(row.first, row.first + row.records)
        keep = np.ones(row.records, np.bool_)
        for within in list_window_ends(row, window, numbers):
            keep &= within
        if query.job is not None:
            keep &= ~np.isnan(read_totals(row))  # what the new reward refused has no score
        if query.id is not None:
            keep &= numbers == query.id
        if query.since is not None or query.until is not None:
            times = _read_moments(row)
            keep &= times >= (query.since if query.since is not None else times.min())
            keep &= times < (query.until if query.until is not None else times.max() + 1)
        if query.step is not None:
            keep &= _locate_step(row, query.step)
        for column, wanted in (("episode", query.episode), ("key", query.key)):
            if wanted is not None:
                keep &= _locate_entry(row, column, wanted)
        return np.flatnonzero(keep)


def read_totals(row: Any) -> NDArray[np.float64]:
    """Return the totals of the records of a block."""
    if isinstance(row, SegmentRow):
        return row.totals
    return np.frombuffer(row.outputs, FLOAT).reshape(row.records, -1)[:, 0]


def read_values(row: Any) -> NDArray[np.float64]:
    """Return the totals of the records of a block, and the values of each term, as rows."""
    if isinstance(row, SegmentRow):
        return row.values
    rows = np.frombuffer(row.outputs, FLOAT).reshape(row.records, -1)
    return rows[:, [0, *range(2, rows.shape[1], 2)]]


def _read_moments(row: Any) -> NDArray[np.int64]:
    if isinstance(row, SegmentRow):
        return row.moments
    offsets = decode_column(row.times, row.records)
    return np.asarray([0 if at is None else at for at in offsets], np.int64) + int(row.earliest)


def _locate_entry(row: Any, column: str, wanted: str) -> NDArray[np.bool_]:
    if isinstance(row, SegmentRow):
        return row.match(column, wanted)
    entries = decode_column(getattr(row, f"{column}s"), row.records)
    return np.fromiter((entry == wanted for entry in entries), np.bool_, row.records)


def _find_steps(column: str, step: int) -> Iterator[int]:
    """Yield where the JSON of a block's steps has this one; searching a text is sooner done than reading it."""
    for match in re.finditer(rf"{step}(?![0-9])", column):
        if column[match.start() - 1] in "[ ,":
            yield match.start()


def _locate_step(row: Any, step: int) -> NDArray[np.bool_]:
    if isinstance(row, SegmentRow):
        return row.match("step", step)
    column, count = row.steps, row.records
    found = np.zeros(count, np.bool_)
    position = place = 0
    for start in _find_steps(column, step):
        position += column.count(",", place, start)
        place = start
        found[position : position + 1 if "," in column else count] = True  # one entry stands for all
    return found


def _meets(fork: Any, low: Any, high: Any, start: int | None, end: int | None) -> ColumnElement[bool]:
    """Return the condition that an interval has a number from `start` to `end`, either None for any; see summary.py."""
    within = [fork >= start] if start is not None else []
    around = [high >= start] if start is not None else []
    if end is not None:
        within.append(fork <= end)
        around.append(low <= end)
    forks = {each for point in (start, end) if point is not None for each in list_forks(point)}
    return or_(and_(*within), and_(fork.in_(sorted(forks)), *around))


def _join(statement: Select[Any], *, summarized: bool = False) -> Select[Any]:
    asked = statement.columns_clause_froms
    source: Any = blocks
    if scopes in asked:
        source = source.join(scopes, scopes.c.id == blocks.c.scope)
    if summarized or summaries in asked:
        source = source.join(summaries, summaries.c.first == blocks.c.first)
    return statement.select_from(source)


@lru_cache(maxsize=64)
def _select_blocks(columns: tuple[ColumnElement[Any], ...], order: tuple[ColumnElement[Any], ...]) -> Select[Any]:
    """Return what reads columns of blocks by their numbers; to make it takes as long as to run it."""
    chosen = blocks.c.first.in_(bindparam("firsts", expanding=True))
    return _join(select(*map(limit_size, columns))).where(chosen).order_by(*order)


def _move(window: Window, found: Sequence[Any], *, newest_first: bool) -> Window:
    """Return the window without the blocks that were read."""
    last = found[-1]
    return window._replace(before=last.first) if newest_first else Window(last.first + last.records - 1)


def _choose_limit(limit: int, found: Sequence[Any]) -> int:
    """Return how many blocks to read next: about as many bytes as are worth a statement, and not suddenly more."""
    size = sum(len(value) for row in found for value in row if isinstance(value, str | bytes))
    return max(_FEWEST, min(_MOST, limit * _BYTES // max(size, 1), 2 * limit))
