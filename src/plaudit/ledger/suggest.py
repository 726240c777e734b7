"""What may have been meant by a query that finds nothing: the nearest value that records have."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from sqlalchemy import Column, select

from plaudit.errors import find_nearest
from plaudit.ledger.context import NAMES
from plaudit.ledger.query import Query
from plaudit.ledger.search import BlockSearch
from plaudit.ledger.storage.codec import decode_column
from plaudit.ledger.storage.schema import blocks, keys, scopes, specs
from plaudit.ledger.storage.store import Store

_MOST_VALUES = 500
"""How many values that begin like the one that was asked for are compared with it, and how many others."""
_BLOCKS = 100
"""Episodes stand in blocks and in no table of their own: they are looked for in so many, the newest."""
_COLUMNS: dict[str, Column[Any]] = {
    "reward": specs.c.name,
    "version": specs.c.version,
    **{name: scopes.c[name] for name in NAMES},
    "key": keys.c.key,
}


def suggest_value(store: Store, query: Query) -> tuple[str, str] | None:
    """Return what of a query no record has, and the nearest value that one has; None where there is no guess.

    No record is read but for episodes, and then few: a ledger of any size answers at once.
    """
    for name, column in _COLUMNS.items():
        wanted = getattr(query, name)
        near = [] if wanted is None else _find_values(store, column, wanted)
        if near and wanted not in near and (found := find_nearest(wanted, near)) is not None:
            return name, found
    if query.episode is None:
        return None
    found = find_nearest(query.episode, dict.fromkeys(_read_episodes(store, query)))
    return None if found in (None, query.episode) else ("episode", found)


def list_known_values(store: Store, query: Query, *, most: int) -> tuple[str, list[str]] | None:
    """Return what of a query no record has, and some values that records have; None where each value is known."""
    for name, column in _COLUMNS.items():
        wanted = getattr(query, name)
        if wanted is None or name == "key":
            continue
        with store.backend.snapshot() as connection:
            if connection.execute(select(column).where(column == wanted).limit(1)).first() is None:
                known = select(column).where(column.is_not(None)).distinct().order_by(column).limit(most)
                return name, list(connection.execute(known).scalars())
    return None


def _find_values(store: Store, column: Column[Any], wanted: str) -> list[str]:
    """Return values of a column: the one that is wanted, or those that begin like it and then some others."""
    start = wanted[: (len(wanted) + 1) // 2]
    conditions = (column == wanted, column.between(start, start + "\U0010ffff"), column.is_not(None))
    found: dict[str, None] = {}
    with store.backend.snapshot() as connection:
        for condition in conditions:
            statement = select(column).where(condition).distinct().limit(_MOST_VALUES)
            found |= dict.fromkeys(connection.execute(statement).scalars())
            if wanted in found:
                break
    return list(found)


def _read_episodes(store: Store, query: Query) -> Iterator[str]:
    others = replace(query, episode=None, step=None, key=None, since=None, until=None, after=None)
    search = BlockSearch(store, others)
    for found in islice(search.read((blocks.c.records, blocks.c.episodes), newest_first=True), _BLOCKS):
        for episode in decode_column(found.row.episodes, found.row.records):
            if episode is not None:
                yield str(episode)
