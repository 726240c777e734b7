"""What makes a record what it is, read from a ledger for many records at once, and where two of them differ."""

import json
from collections.abc import Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func, select

from plaudit.ledger.backends.backend import read_bytes
from plaudit.ledger.context import Scope, to_datetime
from plaudit.ledger.storage.codec import PackedRecord, decode_column
from plaudit.ledger.storage.schema import blocks, scopes, specs
from plaudit.ledger.storage.segment_rows import HELD, LOCATED, SegmentReader
from plaudit.ledger.storage.sizes import limit_size
from plaudit.ledger.storage.specs import IDENTITY

_GAP, _SPAN = 256, 8192
"""Numbers at most this far apart are looked for together, over at most so many."""

_other = blocks.alias()
_holder = select(func.max(_other.c.first)).where(_other.c.first <= bindparam("low"))
_READ = (
    select(
        *(column for column in LOCATED if column.name != "target"),
        blocks.c.target,
        *(specs.c[name] for name in IDENTITY),
        *(scopes.c[name] for name in Scope._fields),
        *(limit_size(blocks.c[name]) for name in HELD),
    )
    .join(specs, specs.c.id == blocks.c.spec)
    .join(scopes, scopes.c.id == blocks.c.scope)
    .where(blocks.c.first >= _holder.scalar_subquery(), blocks.c.first <= bindparam("high"))
)

_NAMES = [column.name for column in _READ.selected_columns]


class Content(NamedTuple):
    """Everything that was recorded of a record, which its number and its place in a chain are not."""

    reward: str
    version: str
    part: str
    formula: str
    domain: str
    run: str | None
    phase: str | None
    decision_class: str | None
    actor: str | None
    sample_rate: float | None
    episode: str | None
    step: int | None
    context: str | None
    inputs: bytes
    scores: bytes
    target: str
    at: int
    key: str | None


KEYED = Content._fields[:15]
"""What a record that is recorded again under its key must agree in: it may be a moment later."""


def build_content(record: PackedRecord) -> Content:
    """Return the content of a record that is to be written."""
    context = None if record.context is None else json.dumps(json.loads(record.context), sort_keys=True)
    place = record.episode, record.step, context, record.inputs, record.outputs, record.target, record.at, record.key
    return Content._make((*record.layout.identity, *record.scope, *place))


def list_differences(there: Content, here: Content, names: Sequence[str] = Content._fields) -> list[str]:
    """Return in which of its parts a record differs from the one in the ledger, in words."""
    found = []
    for name in names:
        a, b = getattr(there, name), getattr(here, name)
        if a != b and name in ("inputs", "scores"):
            found.append(name)
        elif a != b:
            a, b = (to_datetime(at).isoformat() for at in (a, b)) if name == "at" else (a, b)
            found.append(f"{name}: {a!s:.60} there, {b!s:.60} here")
    return found


def read_contents(reader: SegmentReader, cursor: Any, numbers: Iterable[int]) -> dict[int, Content]:
    """Return the contents of records by number, in a few statements; those that are not there are left out."""
    found: dict[int, Content] = {}
    for run in split_runs(numbers):
        rows = cursor.execute(reader.backend.render(_READ), (run[0], run[-1])).fetchall()
        starts = {row[0]: row for row in rows}
        held: dict[int, list[int]] = {}
        order = sorted(starts)
        at = 0
        for number in run:
            while at + 1 < len(order) and order[at + 1] <= number:
                at += 1
            if order and order[at] <= number < order[at] + starts[order[at]][1]:
                held.setdefault(order[at], []).append(number)
        for first, wanted in held.items():
            found.update(_read_block(reader, starts[first], wanted))
    return found


def _read_block(reader: SegmentReader, row: Sequence[Any], wanted: Sequence[int]) -> Iterator[tuple[int, Content]]:
    block = reader.hydrate(SimpleNamespace(**dict(zip(_NAMES, row, strict=True))))
    first, count, earliest, target = block.first, block.records, block.earliest, block.target
    shared = [getattr(block, name) for name in (*IDENTITY, *Scope._fields)]
    *texts, inputs, outputs = (getattr(block, name) for name in HELD)
    times, keys, episodes, steps, contexts = (list(decode_column(column, count)) for column in texts)
    sides = [(read_bytes(side), len(side) // count) for side in (inputs, outputs)]
    for number in wanted:
        at = number - first
        context = None if contexts[at] is None else json.dumps(contexts[at], sort_keys=True)
        rows = (side[at * width : (at + 1) * width] for side, width in sides)
        found = (*shared, episodes[at], steps[at], context, *rows, target, earliest + (times[at] or 0), keys[at])
        yield number, Content._make(found)


def split_runs(numbers: Iterable[int]) -> Iterator[list[int]]:
    """Yield numbers in order, in lists of those that lie close together.

    >>> list(split_runs([7, 5, 100_000, 6]))
    [[5, 6, 7], [100000]]
    """
    run: list[int] = []
    for number in sorted(numbers):
        if run and (number - run[-1] > _GAP or number - run[0] > _SPAN):
            yield run
            run = []
        run.append(number)
    if run:
        yield run
