"""Whether every key leads to the one record that carries it."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, select

from plaudit.errors import shorten
from plaudit.ledger.backends.backend import UNREADABLE
from plaudit.ledger.storage.codec import decode_column
from plaudit.ledger.storage.schema import blocks, keys
from plaudit.ledger.storage.sizes import limit_size

_KEPT = select(keys.c.record, keys.c.key).order_by(keys.c.record)
_COLUMNS = select(*map(limit_size, (blocks.c.first, blocks.c.records, blocks.c["keys"])))
_CARRIED = _COLUMNS.where(blocks.c["keys"].is_not(None)).order_by(blocks.c.first)
_STREAMED = {"yield_per": 1000}


class KeyCheck:
    """Takes in the keys of blocks as they are read; only where they are not those of the table, each is looked at."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._count = 0
        self._sum = 0

    def add(self, first: int, count: int, column: str) -> None:
        """Take in the keys of a block."""
        names = zip(decode_column(column, count), range(first, first + count), strict=True)
        pairs = [pair for pair in names if pair[0] is not None]
        self._count += len(pairs)
        self._sum += _add_hashes(pairs)

    def find_problems(self, connection: Connection) -> Iterator[tuple[int, str]]:
        """Yield records and what is wrong with their keys."""
        cursor = connection.connection.cursor()  # tuples are enough
        cursor.execute("SELECT key, record FROM keys")
        count = found = 0
        while rows := cursor.fetchmany(10_000):
            found += _add_hashes(rows)
            count += len(rows)
        if (count, found) != (self._count, self._sum):
            yield from _compare_each(connection)


def _add_hashes(pairs: Iterable[Sequence[object]]) -> int:
    """Return the sum of the hashes of keys with their records.

    Those of strings are made with a secret of this process. Those of tuples are not good enough: their sum often stays
    the same when two keys change places.
    """
    return sum([hash(f"{record} {key}") for key, record in pairs])


def _compare_each(connection: Connection) -> Iterator[tuple[int, str]]:
    """Go through the keys of records and those of the table side by side, in the order of records."""
    together = heapq.merge(_list_carried(connection), _list_kept(connection), key=itemgetter(0))
    for record, group in groupby(together, key=itemgetter(0)):
        sides: tuple[set[str], set[str]] = (set(), set())
        for _, in_table, key in group:
            sides[in_table].add(key)
        for key in sorted(sides[0] - sides[1]):
            yield record, f"its key {shorten(key)} {_describe_lead(connection, key)}"
        for key in sorted(sides[1] - sides[0]):
            yield record, f"the key {shorten(key)} points to it, but it does not carry that key"


def _list_carried(connection: Connection) -> Iterator[tuple[int, bool, Any]]:
    with connection.execute(_CARRIED, execution_options=_STREAMED) as rows:
        for first, count, column in rows:
            with suppress(*UNREADABLE):  # which is told as damage of the block
                listed = enumerate(decode_column(column, count), start=first)
                yield from [(record, False, key) for record, key in listed if isinstance(key, str)]


def _list_kept(connection: Connection) -> Iterator[tuple[int, bool, Any]]:
    with connection.execute(_KEPT, execution_options=_STREAMED) as rows:
        for record, key in rows:
            if isinstance(record, int) and isinstance(key, str):  # other types are told of as such
                yield record, True, key


def _describe_lead(connection: Connection, key: str) -> str:
    """Return where the table leads to with a key that it does not lead to its record with."""
    number = connection.execute(select(keys.c.record).where(keys.c.key == key)).scalar()
    if number is None:
        return "is missing from the table of keys: it could be recorded again"
    holder = connection.execute(_COLUMNS.where(blocks.c.first <= number).order_by(blocks.c.first.desc())).first()
    with suppress(*UNREADABLE):
        if holder is not None and list(decode_column(holder[2], holder[1]))[number - holder[0]] == key:
            return f"is also the key of record {number}: it was recorded twice"
    return f"points to {number}"
