"""Where a record was first recorded: its writer and its place there, which stays the same in whatever ledger it is."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, bindparam, func, select

from plaudit.ledger.backends.backend import Backend
from plaudit.ledger.storage.contents import split_runs
from plaudit.ledger.storage.schema import blocks, imported, writers

TOGETHER = 500
"""Names to look for in one statement."""


def format_source(token: str, row: Any, at: int) -> str:
    """Return the source of the record at a position of a block that was first recorded here."""
    return f"{token}/{row.seq + at}"


def _parse_source(text: str) -> tuple[str, int] | None:
    """Return the writer of a source and the record's place there; None where no ledger wrote it."""
    token, _, place = text.partition("/")
    if not (place.isascii() and place.isdecimal() and len(place) <= 18):  # a database counts no further
        return None
    return token, int(place)


class Lookup(NamedTuple):
    """A statement that finds rows by one name, and the same for many of them."""

    one: Select[Any]
    many: Select[Any]


def build_lookup(statement: Select[Any], column: ColumnElement[Any]) -> Lookup:
    """Return what finds the rows in which a column is one of the names asked for."""
    names: list[Any] = [bindparam(f"name_{at}") for at in range(TOGETHER)]
    return Lookup(statement.where(column == bindparam("name")), statement.where(column.in_(names)))


def look_up(
    backend: Backend, cursor: Any, lookup: Lookup, names: Iterable[str | int | bytes], *before: Any
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows with one of these names, many of which each statement takes; parameters come `before` them."""
    wanted = list(dict.fromkeys(names))
    for start in range(0, len(wanted), TOGETHER):
        part = wanted[start : start + TOGETHER]
        statement = lookup.many if len(part) > 1 else lookup.one
        padding = part[-1:] * (TOGETHER - len(part)) if len(part) > 1 else []
        yield from cursor.execute(backend.render(statement), (*before, *part, *padding)).fetchall()


_IMPORTED = build_lookup(select(imported.c.source, imported.c.record), imported.c.source)
_WRITERS = build_lookup(select(writers.c.token, writers.c.id), writers.c.token)
_other = blocks.alias()
_holder = select(func.max(_other.c.seq)).where(_other.c.writer == bindparam("same"), _other.c.seq <= bindparam("low"))
_BLOCKS = (
    select(blocks.c.seq, blocks.c.first, blocks.c.records)
    .where(
        blocks.c.writer == bindparam("writer"),
        blocks.c.seq >= _holder.scalar_subquery(),
        blocks.c.seq <= bindparam("high"),
    )
    .order_by(blocks.c.seq)
)


def find_sources(backend: Backend, cursor: Any, sources: Collection[str]) -> dict[str, int]:
    """Return the numbers of those records that a ledger has: those it was the first to record, and those it took in."""
    found = {text: int(record) for text, record in look_up(backend, cursor, _IMPORTED, sources)}
    parsed = {text: source for text in sources if (source := _parse_source(text)) is not None}
    own = dict(look_up(backend, cursor, _WRITERS, (token for token, _ in parsed.values())))
    by_writer: dict[int, list[tuple[str, int]]] = {}
    for text, (token, place) in parsed.items():
        if token in own:
            by_writer.setdefault(own[token], []).append((text, place))
    for writer, wanted in by_writer.items():
        found.update(_find_own(backend, cursor, writer, wanted))
    return found


def _find_own(
    backend: Backend, cursor: Any, writer: int, wanted: Sequence[tuple[str, int]]
) -> Iterator[tuple[str, int]]:
    """Yield which records a writer of this ledger wrote, with their numbers."""
    held: list[tuple[int, int, int]] = []
    for run in split_runs({place for _, place in wanted}):
        parameters = (writer, writer, run[0], run[-1])
        held += [tuple(row) for row in cursor.execute(backend.render(_BLOCKS), parameters).fetchall()]
    starts = [seq for seq, _, _ in held]
    for text, place in wanted:
        at = bisect_right(starts, place) - 1
        if at < 0:
            continue
        seq, first, records = held[at]
        if place - seq < records:
            yield text, first + place - seq
