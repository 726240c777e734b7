"""The order of the history, and what a reader that comes back for more may be shown.

In a file, one writer at a time numbers records as they appear: they are in the order of their numbers. On a server each
writer has numbers of its own, and blocks are in the order of the transactions that wrote them, and of their numbers
within one. A transaction that began earlier may end later. So what a reader who continues `after` a record is shown
ends where the oldest transaction begins that is still open: before that, nothing appears any more.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    bindparam,
    func,
    literal,
    literal_column,
    or_,
    select,
    tuple_,
)
from sqlalchemy.engine import Dialect

from plaudit.ledger.storage.schema import blocks

_transaction: ColumnElement[int] = literal_column("blocks.xact", BigInteger)
"""The transaction that wrote a block, a column that a server alone has."""
_OTHERS = blocks.alias("others")
_other_transaction: ColumnElement[int] = literal_column("others.xact", BigInteger)
_HOLDER = (
    select(_transaction.label("xact"), blocks.c.first, blocks.c.records)
    .where(blocks.c.first <= bindparam("number"))
    .order_by(blocks.c.first.desc())
    .limit(1)
)
_SNAPSHOT = "SELECT pg_current_snapshot()::text"
_OLDEST_OPEN: ColumnElement[int] = literal_column("pg_snapshot_xmin(pg_current_snapshot())::text::bigint", BigInteger)


class Window(NamedTuple):
    """The records that are still to be read: those after, or from, one record on, and before another."""

    start: int | None
    inclusive: bool = False
    """Whether the record `start` is one of them."""
    before: int | None = None

    @property
    def lowest(self) -> int:
        """The lowest of its numbers in the block that holds `start`."""
        assert self.start is not None
        return self.start if self.inclusive else self.start + 1

    def holds_end(self, first: int, records: int) -> bool:
        """Return whether one of its ends lies in a block, which is then to be read in part."""
        return any(end is not None and first <= end < first + records for end in (self.start, self.before))


class Horizon(NamedTuple):
    """What could be seen when reading began: transactions before `low`, and those before `high` that were not open."""

    low: int
    high: int
    open: tuple[int, ...]


def list_order(dialect: Dialect) -> tuple[ColumnElement[Any], ...]:
    """Return the columns of blocks by which the history is ordered."""
    return (blocks.c.first,) if dialect.name == "sqlite" else (_transaction, blocks.c.first)


def find_place(dialect: Dialect) -> ColumnElement[int]:
    """Return what is ordered by before the numbers of records: the same for all in a file."""
    return literal(0) if dialect.name == "sqlite" else _transaction


def read_horizon(connection: Connection) -> Horizon | None:
    """Return what can be seen now; None in a file, where nothing appears before what was read."""
    if connection.dialect.name == "sqlite":
        return None
    low, high, others = connection.exec_driver_sql(_SNAPSHOT).scalar_one().split(":")
    return Horizon(int(low), int(high), tuple(map(int, filter(None, others.split(",")))))


def is_settled(dialect: Dialect) -> list[ColumnElement[bool]]:
    """Return the condition that nothing can appear any more before a block."""
    return [] if dialect.name == "sqlite" else [_transaction < _OLDEST_OPEN]


def find_previous(dialect: Dialect) -> ColumnElement[Any]:
    """Return the number of the block before a block in the order of the history; in a file, numbers say it."""
    if dialect.name == "sqlite":
        return literal(None)
    earlier = tuple_(_other_transaction, _OTHERS.c.first) < tuple_(_transaction, blocks.c.first)
    latest = (_other_transaction.desc(), _OTHERS.c.first.desc())
    return select(_OTHERS.c.first).where(earlier).order_by(*latest).limit(1).correlate(blocks).scalar_subquery()


def limit_to(
    connection: Connection, window: Window, horizon: Horizon | None, *, settled: bool
) -> list[ColumnElement[bool]]:
    """Return conditions that leave out blocks that hold no record in the window, or that are behind the horizon.

    Blocks may be merged while they are read; the one that holds an end of the window may begin before it. With
    `settled`, blocks are left out before which another may still appear.
    """
    if horizon is None:
        return _limit_numbers(window)
    seen = _transaction < horizon.low
    found = [seen if settled else or_(seen, (_transaction < horizon.high) & _transaction.not_in(horizon.open))]
    place: ColumnElement[Any] = tuple_(_transaction, blocks.c.first)
    if window.start is not None and (holder := _find_holder(connection, window.start)) is not None:
        begins = _bind(holder)
        found.append(place > begins if holder.first + holder.records <= window.lowest else place >= begins)
    if window.before is not None and (holder := _find_holder(connection, window.before)) is not None:
        found += [place <= _bind(holder), blocks.c.first != window.before]
    return found


def _limit_numbers(window: Window) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if window.start is not None:
        holder = select(func.max(_OTHERS.c.first)).where(_OTHERS.c.first <= window.lowest).scalar_subquery()
        found += [blocks.c.first >= func.coalesce(holder, 0), blocks.c.first + blocks.c.records > window.lowest]
    if window.before is not None:
        found.append(blocks.c.first < window.before)
    return found


def _find_holder(connection: Connection, number: int) -> Any:
    """Return the block that holds a record, or else the one with the next lower number; None where there is none."""
    return connection.execute(_HOLDER, {"number": number}).first()


def _bind(holder: Any) -> ColumnElement[Any]:
    return tuple_(literal(holder.xact, BigInteger), literal(holder.first, BigInteger))


def list_window_ends(row: Any, window: Window, numbers: Any) -> Sequence[Any]:
    """Return which of the numbers of a block's records lie in the window, one condition for each end in the block."""
    found = []
    if window.start is not None and row.first <= window.start < row.first + row.records:
        found.append(numbers >= window.lowest)
    if window.before is not None and row.first <= window.before < row.first + row.records:
        found.append(numbers < window.before)
    return found
