"""Merging small blocks: records that were written one by one are read as fast as those that came in bulk.

Numbers, keys, heads, sources and the order of the history stay what they were: chains run over records, and blocks are
merged that nothing lies between, now or later. Each transaction replaces a few
blocks by one that holds the same records, so whoever is killed in between loses nothing. A writer merges what it wrote
itself now and then; `compact` merges what is left.
"""

import struct
from collections.abc import Iterator, Sequence
from itertools import groupby
from types import SimpleNamespace
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from plaudit.ledger.backends.backend import read_bytes, report_damage
from plaudit.ledger.storage.chain import STRETCH, encode_moments, split_column
from plaudit.ledger.storage.codec import INLINE_RECORDS, MAX_NUMBERS, encode_times
from plaudit.ledger.storage.decisions import pack_contexts
from plaudit.ledger.storage.episode_parts import summarize_episodes
from plaudit.ledger.storage.order import find_previous, is_settled
from plaudit.ledger.storage.schema import blocks, jobs, summaries
from plaudit.ledger.storage.sizes import limit_size
from plaudit.ledger.storage.store import Store
from plaudit.ledger.storage.summary import summarize
from plaudit.ledger.storage.writer import Stretch

_TOGETHER = 32_768
"""Records to rewrite in one transaction, about; writers wait no longer than that takes."""
_MANY = 64
"""Blocks of a stretch from which on a writer merges them; fewer are read fast enough."""
_SHARED = ("writer", "spec", "scope", "target")
_NAMES = [column.name for column in blocks.columns]
_between: tuple[Any, Any] = (bindparam("low"), bindparam("high"))
_READ = select(*map(limit_size, blocks.c)).where(blocks.c.first.between(*_between)).order_by(blocks.c.first)
_RESCORED = select(blocks.c.origin).where(
    blocks.c.job.in_(select(jobs.c.id)), blocks.c.origin.between(*_between)
)  # by the index of jobs and origins
_REMOVE = [delete(summaries).where(summaries.c.first.between(*_between))]
_REMOVE.append(delete(blocks).where(blocks.c.first > _between[0], blocks.c.first <= _between[1]))
_GROW = (
    update(blocks)
    .values({column.name: bindparam(f"new_{column.name}") for column in blocks.columns})
    .where(blocks.c.first == bindparam("at"))
)
"""Makes the first of some blocks hold all their records; its place in the history stays what it was."""
_SUMMARIZE = insert(summaries).values({column.name: bindparam(column.name) for column in summaries.columns})
_SUMMARIZED = ("records", "earliest", "latest", "job", "episodes", "steps", "outputs")
_SPLIT = ("records", "earliest", "job", "times", "episodes", "steps", "contexts", "outputs")

_Row = dict[str, Any]
Span = tuple[int, int]
"""The first numbers of the first and of the last of some blocks."""


def merge_written(store: Store, *, closing: bool = False) -> None:
    """Merge what this writer wrote in small blocks: stretches that are whole and, when it is closing, the last one.

    What was recorded is durable, merged or not: where merging fails, blocks stay as they are, for `compact`.
    """
    for stretch in store.writer.take_stretches(open=closing):
        if stretch.blocks >= _MANY:
            try:
                merge_blocks(store, stretch)
            except Exception:  # whatever it is: to raise it would say that nothing was recorded
                return


def merge_blocks(store: Store, stretch: Stretch | None = None) -> int:
    """Merge small blocks that follow one another, of one writer, reward and scope; return how many there are fewer.

    With `stretch`, only blocks of that.
    """
    merged = 0
    with report_damage(store.backend.name, "a block"):
        for spans in _find_spans(store, stretch):
            merged += store.writer.transact(lambda cursor, spans=spans: _merge_spans(store, cursor, spans))  # type: ignore[misc]
    return merged


def _find_spans(store: Store, stretch: Stretch | None) -> Iterator[list[Span]]:
    """Yield blocks that can be merged, a few at a time."""
    columns = [blocks.c[name] for name in ("first", "records", "job", "segment", *_SHARED)]
    dialect = store.backend.dialect
    previous = find_previous(dialect).label("previous")
    digested = blocks.c.digest.is_not(None).label("digested")
    statement = select(*columns, previous, digested).where(*is_settled(dialect)).order_by(blocks.c.first)
    if stretch is not None:
        statement = statement.where(
            blocks.c.first.between(stretch.first, stretch.last), blocks.c.writer == stretch.writer
        )
    since: dict[int, int] = {}
    waiting: list[Span] = []
    size = 0
    group: list[Any] = []
    with (
        store.backend.snapshot() as connection,
        connection.execution_options(stream_results=True).execute(statement) as rows,
    ):
        for row in rows:
            if group and not _follows(group, row):
                waiting, size = _close_group(group, waiting, size)
                group = []
            if row.job is None and row.segment is None:
                group.append(row)
            since[row.writer] = STRETCH if row.digested else since.get(row.writer, 0) + row.records
            if since[row.writer] >= STRETCH:  # where the chain begins anew, a block has to end
                since[row.writer] = 0
                waiting, size = _close_group(group, waiting, size)
                group = []
            if size >= _TOGETHER:
                yield waiting
                waiting, size = [], 0
    waiting, _ = _close_group(group, waiting, size)
    if waiting:
        yield waiting


def _follows(group: Sequence[Any], row: Any) -> bool:
    last = group[-1]
    records = row.first - group[0].first + row.records
    same = all(getattr(row, name) == getattr(last, name) for name in _SHARED) and row.previous in (None, last.first)
    same = same and row.job is None and row.segment is None
    return same and row.first == last.first + last.records and records <= INLINE_RECORDS


def _close_group(group: Sequence[Any], waiting: list[Span], size: int) -> tuple[list[Span], int]:
    if len(group) < 2:
        return waiting, size
    last = group[-1]
    return [*waiting, (group[0].first, last.first)], size + last.first + last.records - group[0].first


def _merge_spans(store: Store, cursor: Any, spans: Sequence[Span]) -> int:
    store.backend.take_turn(cursor)  # as re-scorings do, which must not lose the blocks that they refer to
    render = store.backend.render
    whole = spans[0][0], spans[-1][1]
    kept = {row[0] for row in cursor.execute(render(_RESCORED), whole).fetchall()}
    merged = 0
    for span in spans:
        found = cursor.execute(render(_READ), span).fetchall()
        rows = [dict(zip(_NAMES, row, strict=True)) for row in found]
        for rescored, run in groupby(rows, key=lambda row: row["first"] in kept):
            if rescored:  # a re-scoring knows the blocks that it has scored by their numbers
                continue
            for part, made in _merge_fitting(list(run)):
                for statement in _REMOVE:
                    cursor.execute(render(statement), (part[0]["first"], part[-1]["first"]))
                cursor.execute(render(_GROW), (*(made[name] for name in _NAMES), made["first"]))
                summary = summarize(*(made[name] for name in _SUMMARIZED))
                parts = summarize_episodes(*(made[name] for name in _SPLIT))
                cursor.execute(render(_SUMMARIZE), (made["first"], *summary, *parts))
                merged += len(part) - 1
    return merged


def _merge_fitting(rows: Sequence[_Row]) -> Iterator[tuple[Sequence[_Row], _Row]]:
    """Yield blocks with the one that takes their place; where that would be too large, halves of them."""
    if len(rows) < 2:
        return
    try:
        made = _merge_rows(rows)
    except (ValueError, TypeError):  # what cannot be read is left as it is, for `verify` to tell
        return
    if max(len(value) for value in made.values() if isinstance(value, str | bytes)) <= MAX_NUMBERS:
        yield rows, made
        return
    middle = len(rows) // 2
    yield from _merge_fitting(rows[:middle])
    yield from _merge_fitting(rows[middle:])


def _merge_rows(rows: Sequence[_Row]) -> _Row:
    moments: list[int] = []
    for row in rows:
        count = row["records"]
        moments += struct.unpack(f"<{count}q", encode_moments(SimpleNamespace(**row), count))
    contexts = _join_column(rows, "contexts", ",")
    return {
        **rows[0],
        "records": len(moments),
        "earliest": min(moments),
        "latest": max(moments),
        "times": encode_times(moments),
        **{name: _join_column(rows, name, ", ") for name in ("keys", "episodes", "steps")},
        "contexts": None if contexts is None else pack_contexts(contexts),
        **{name: b"".join(read_bytes(row[name]) for row in rows) for name in ("inputs", "outputs")},
        "head": read_bytes(rows[-1]["head"]),
    }


def _join_column(rows: Sequence[_Row], name: str, separator: str) -> str | None:
    """Return the entries of several blocks as one column: one where all are the same, None where there are none."""
    entries = [entry for row in rows for entry in split_column(row[name], row["records"], separator)]
    if entries.count(entries[0]) == len(entries):
        return None if entries[0] is None else f"[{entries[0]}]"
    return f"[{separator.join('null' if entry is None else entry for entry in entries)}]"
