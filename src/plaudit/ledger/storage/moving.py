"""Moving records from the database into segments, and small segments into larger ones: what `compact` does.

Numbers, keys, chains and sources stay what they were. Each transaction puts other places of the same records into their
blocks, so whoever is killed in between loses nothing.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from sqlalchemy import bindparam, delete, func, null, select, update

from plaudit.ledger.backends.backend import report_damage
from plaudit.ledger.context import Scope
from plaudit.ledger.storage.chain import encode_moments, split_column
from plaudit.ledger.storage.codec import FEWEST, NotFaithful
from plaudit.ledger.storage.record_table import RecordTable, describe_records, get_table
from plaudit.ledger.storage.schema import blocks, scopes, segments
from plaudit.ledger.storage.segment_rows import HELD, SegmentReader, SegmentRow
from plaudit.ledger.storage.segments import ROWS, Segments
from plaudit.ledger.storage.sizes import limit_size
from plaudit.ledger.storage.store import Store

_TOGETHER = 16 * ROWS
"""Records that are moved in one transaction, about; writers wait no longer than that takes."""
_SMALL = 4 * ROWS
"""Records of a segment below which it is joined with others."""
_NEVER = (1 << 63) - 1
_FEW = 500
"""Blocks that are read at a time."""
_PACKED = '[{"packed": '
"""How contexts begin that evaluation reads by columns: their blocks stay in the database, where it finds those."""
_MAY_MOVE = func.coalesce(func.substr(blocks.c.contexts, 1, len(_PACKED)), "") != _PACKED
_LISTED = (
    select(blocks.c.first, blocks.c.records, blocks.c.spec, blocks.c.target, scopes.c.run)
    .join(scopes, scopes.c.id == blocks.c.scope)
    .where(blocks.c.segment.is_(None), blocks.c.records > 1, _MAY_MOVE)  # of one alone, listings read the block
    .where(blocks.c.latest < bindparam("before"))
    .order_by(blocks.c.spec, blocks.c.target, scopes.c.run, blocks.c.first)
)
_OPENED = select(*map(limit_size, blocks.c), *(scopes.c[name] for name in Scope._fields)).join(
    scopes, scopes.c.id == blocks.c.scope
)
_MOVE = (
    update(blocks)
    .values(segment=bindparam("to"), place=bindparam("at"), **{name: null() for name in HELD})
    .where(blocks.c.first == bindparam("block"), blocks.c.records == bindparam("count"), blocks.c.segment.is_(None))
    .returning(blocks.c.first)
)
_JOIN = (
    update(blocks)
    .values(segment=bindparam("to"), place=blocks.c.place + bindparam("more"))
    .where(blocks.c.segment == bindparam("old"))
)
_FORGET = delete(segments).where(segments.c.id == bindparam("old"), segments.c.lake.is_(None)).returning(segments.c.id)
_HELD_FILES = (
    select(segments.c.id, segments.c.path, segments.c.records, blocks.c.spec, blocks.c.target, scopes.c.run)
    .join(blocks, blocks.c.segment == segments.c.id)
    .join(scopes, scopes.c.id == blocks.c.scope)
    .where(segments.c.records < _SMALL, segments.c.lake.is_(None), segments.c.path.not_like("%://%"))
    .group_by(segments.c.id, segments.c.path, segments.c.records, blocks.c.spec, blocks.c.target, scopes.c.run)
    .having(func.max(blocks.c.latest) < bindparam("before"))
    .order_by(blocks.c.spec, blocks.c.target, scopes.c.run, segments.c.id)
)


def move_blocks(store: Store, *, fewest: int | None = None, before: int | None = None) -> int:
    """Move what the database holds of records into segments, where enough are alike; return how many were moved.

    Args:
        store: The ledger.
        fewest: Records of one reward, target and run that are worth a file; as for new ones if omitted.
        before: A time in microseconds since 1970, UTC: newer records stay where they are.
    """
    files: Segments | None = store.writer.segments
    if files is None:
        return 0
    moved = 0
    known = {"before": _NEVER if before is None else before}
    for group in _find_groups(store, FEWEST if fewest is None else fewest, known):
        moved += _move_group(store, files, group)
    _join_small(store, files, known)
    _remove_orphans(store, files)
    return moved


def _find_groups(store: Store, fewest: int, known: dict[str, int]) -> Iterator[list[int]]:
    """Yield the numbers of blocks whose records can share a file."""
    with store.backend.snapshot() as connection:
        listed = connection.execute(_LISTED, known).all()
    for _, alike in groupby(listed, key=lambda row: (row.spec, row.target, row.run)):
        group: list[int] = []
        size = 0
        for row in alike:
            group.append(row.first)
            size += row.records
            if size >= _TOGETHER:
                yield group
                group, size = [], 0
        if size >= fewest:
            yield group


def _move_group(store: Store, files: Segments, group: Sequence[int]) -> int:
    rows: list[Any] = []
    with store.backend.snapshot() as connection, report_damage(store.backend.name, "a block"):
        for start in range(0, len(group), _FEW):
            part = blocks.c.first.in_(group[start : start + _FEW])
            rows += connection.execute(_OPENED.where(part).order_by(blocks.c.first))
        layout = store.specs.read(connection, [rows[0].spec])[rows[0].spec]
    records = get_table(layout, rows[0].target)
    described = [(row, table) for row in rows if (table := _build_table(records, row)) is not None]
    if not described:
        return 0
    file = files.write(records, [table for _, table in described])
    places = np.cumsum([0, *(row.records for row, _ in described)]).tolist()
    moves = [(place, row.first, row.records) for (row, _), place in zip(described, places[:-1], strict=True)]

    def work(cursor: Any) -> None:
        segment = store.writer.enter_segment(cursor, file)
        for place, first, count in moves:
            if cursor.execute(store.backend.render(_MOVE), (segment, place, first, count)).fetchall() == []:
                raise _Moved

    return places[-1] if _transact(store, files, file.path, work) else 0


class _Moved(Exception):
    """A block that was to be moved is another one by now."""


def _transact(store: Store, files: Segments, path: str, work: Any) -> bool:
    """Put blocks into another file; return whether they were still what they had been."""
    try:
        store.writer.transact(work)
    except _Moved:
        files.settle(path)
        files.remove(path)
        return False
    return True


def _build_table(records: RecordTable, row: Any) -> pa.Table | None:
    """Return the records of a block as a table; None where it would not give them back to the character."""
    count = row.records
    try:
        moments = np.frombuffer(encode_moments(row, count), "<i8")
        texts = [split_column(column, count) for column in (row.keys, row.episodes, row.steps)]
        contexts = split_column(row.contexts, count, ",")
        keys, episodes, steps = ([None if each is None else json.loads(each) for each in column] for column in texts)
        context = describe_records(moments, keys, episodes, steps, contexts)
        scope = Scope(*(getattr(row, name) for name in Scope._fields))
        layout = records.layout
        inputs, outputs = layout.decode_inputs(row.inputs, count), layout.decode_outputs(row.outputs, count)
        table = records.build(scope, context, inputs, outputs, computed=False)
    except (
        NotFaithful,
        ValueError,
        TypeError,
        OverflowError,
        pa.ArrowException,
    ):  # what is damaged is left for `verify` to tell
        return None
    again = SegmentRow(row, _InMemory(records, table))
    same = (
        (again.times == row.times or row.job is None)
        and [split_column(column, count) for column in (again.keys, again.episodes, again.steps)] == texts
        and split_column(again.contexts, count, ",") == contexts
        and (again.inputs, again.outputs) == (row.inputs, row.outputs)
    )
    return table if same else None


class _InMemory(SegmentReader):
    """Reads a table that is in no file yet."""

    def __init__(self, records: RecordTable, table: pa.Table) -> None:
        self._records, self._table = records, table

    def read(self, row: Any, start: int, count: int, names: Sequence[str] | None) -> pa.Table:
        known = [name for name in names or () if name in self._table.column_names]
        return self._table.select(known)

    def find_table(self, row: Any) -> RecordTable:
        return self._records


# -- small files -------------------------------------------------------------------------------------------------------


def _join_small(store: Store, files: Segments, known: dict[str, int]) -> None:
    """Join small segments of one reward, target and run; what was one file for each flush becomes few."""
    with store.backend.snapshot() as connection:
        listed = connection.execute(_HELD_FILES, known).all()
    for (spec, target, _), alike in groupby(listed, key=lambda row: (row.spec, row.target, row.run)):
        group: list[Any] = []
        for row in alike:
            group.append(row)
            if sum(each.records for each in group) >= _TOGETHER:
                _join_group(store, files, spec, target, group)
                group = []
        if len(group) > 1:
            _join_group(store, files, spec, target, group)


def _join_group(store: Store, files: Segments, spec: int, target: str, group: Sequence[Any]) -> None:
    with store.backend.snapshot() as connection:
        layout = store.specs.read(connection, [spec])[spec]
    tables = [files.read(row.path, 0, row.records) for row in group]
    file = files.write(get_table(layout, target), tables)
    places = np.cumsum([0, *map(len, tables)]).tolist()

    def work(cursor: Any) -> None:
        segment = store.writer.enter_segment(cursor, file)
        for row, more in zip(group, places[:-1], strict=True):
            cursor.execute(store.backend.render(_JOIN), (segment, more, row.id))
            if cursor.execute(store.backend.render(_FORGET), (row.id,)).fetchall() == []:
                raise _Moved

    if _transact(store, files, file.path, work):
        for row in group:
            files.remove(row.path)


def _remove_orphans(store: Store, files: Segments) -> None:
    """Remove files that no row names; in a transaction, so that nobody else is about to name one."""

    def work(cursor: Any) -> None:
        known = cursor.execute(store.backend.render(select(segments.c.path))).fetchall()
        for path in files.list_orphans({path for (path,) in known}):
            files.remove(path)

    store.writer.transact(work)
