"""What a re-scoring changed: the old and new totals of its records."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from plaudit.ledger.rescore.changes import Changes
from plaudit.ledger.rescore.rounding import Rounding
from plaudit.ledger.rescore.translation import Translation, find_terminated, find_translation
from plaudit.ledger.search import read_totals
from plaudit.ledger.storage.codec import RecordLayout
from plaudit.ledger.storage.schema import blocks, scopes
from plaudit.ledger.storage.segment_rows import LOCATED
from plaudit.ledger.storage.sizes import limit_size
from plaudit.ledger.storage.store import Store
from plaudit.ledger.summary.returns import number_decisions, read_steps
from plaudit.targets.dtypes import estimate_rounding

_TOGETHER = 256
"""Blocks to compare at a time."""


def compare_totals(store: Store, job: int, changes: Changes) -> None:
    """Compare every total of a re-scoring with the one it was made from."""
    joined = blocks.join(scopes, scopes.c.id == blocks.c.scope)
    names = ("outputs", "picked", "episodes", "steps")
    statement = select(
        *LOCATED,
        blocks.c.origin,
        *(limit_size(blocks.c[name]) for name in names),
        scopes.c.decision_class,
        scopes.c.run,
        scopes.c.actor,
    ).select_from(joined)
    after, number, last = -1, 0, None
    while True:
        page = statement.where(blocks.c.job == job, blocks.c.origin > after).order_by(blocks.c.origin).limit(_TOGETHER)
        with store.backend.snapshot() as connection:
            rows = store.segments.hydrate_all(connection.execute(page))
            origins = _read_origins(store, connection, rows)
        for row in rows:
            new, before = read_totals(row), read_totals(origins[row.origin])
            if row.picked is not None:
                before = before[json.loads(row.picked)]
            episodes, steps = read_steps(row)
            decisions = None
            if row.steps is not None:
                decisions = number_decisions(episodes.codes, steps)
                same = last == (row.run, row.decision_class, episodes.labels[episodes.codes[0]], steps[0])
                decisions += number if same else number + 1
                number = int(decisions[-1])
                last = (row.run, row.decision_class, episodes.labels[episodes.codes[-1]], steps[-1])
            changes.add(before, new, row.decision_class, decisions, episode=episodes, step=steps)
        if not rows:
            return
        after = rows[-1].origin


def _read_origins(store: Store, connection: Connection, rows: Sequence[Any]) -> dict[int, Any]:
    """Return the blocks that others were scored from, by number."""
    names = ("contexts", "inputs", "outputs")
    statement = select(*LOCATED, *(limit_size(blocks.c[name]) for name in names))
    found = connection.execute(statement.where(blocks.c.first.in_([row.origin for row in rows])))
    return {row.first: row for row in store.segments.hydrate_all(found)}


def compare_rounding(store: Store, layout: RecordLayout, job: int, rounding: Rounding) -> None:
    """Tell which totals of a re-scoring in float64 changed because they were recorded in a narrower dtype."""
    old = blocks.alias("old")
    narrow = select(
        *LOCATED, blocks.c.origin, *(limit_size(blocks.c[name]) for name in ("outputs", "picked"))
    ).select_from(blocks.join(old, old.c.first == blocks.c.origin))
    narrow = narrow.where(blocks.c.job == job, old.c.target.like("%/%")).order_by(old.c.first)
    after = -1
    while True:
        with store.backend.snapshot() as connection:
            found = connection.execute(narrow.where(old.c.first > after).limit(_TOGETHER))
            rows = store.segments.hydrate_all(found)
            origins = _read_origins(store, connection, rows)
            sources = store.specs.read(connection, {row.spec for row in origins.values()})
        if not rows:
            return
        groups: dict[tuple[int, str], list[tuple[Any, Any]]] = {}
        for row in rows:
            origin = origins[row.origin]
            groups.setdefault((origin.spec, origin.target), []).append((origin, row))
        for (spec, target), group in groups.items():
            way = find_translation(store.specs, sources[spec], layout)
            assert isinstance(way, Translation)  # it was scored
            _compare_blocks(way, target, group, rounding)
        after = rows[-1].origin


def _compare_blocks(found: Translation, target: str, pairs: Sequence[tuple[Any, Any]], rounding: Rounding) -> None:
    """Compare blocks, each with the one that was made from it."""
    chosen = [
        np.arange(origin.records) if row.picked is None else np.asarray(json.loads(row.picked)) for origin, row in pairs
    ]
    origins = [(origin, at) for (origin, _), at in zip(pairs, chosen, strict=True)]
    names = np.concatenate([origin.first + at for origin, at in origins])
    computation = found.find_computation(target, as_recorded=True)
    if not computation.is_installed:
        rounding.unknown += len(names)
        return
    inputs = np.concatenate([found.source.decode_inputs(row.inputs, row.records)[at] for row, at in origins])
    old = np.concatenate([read_totals(row)[at] for row, at in origins])
    new = np.concatenate([read_totals(row) for _, row in pairs])
    known = {"terminal": np.concatenate([find_terminated(row)[at] for row, at in origins])} if found.reads_ends else {}
    again = found.score(inputs, computation, known)[1]
    alone = (new != old) & (again[:, 0] == old) & np.isfinite(new)
    numbers = np.concatenate([inputs, again], axis=1)
    room = estimate_rounding(found.layout.scored.program, computation.dtype, numbers)
    rounding.add(lambda at: int(names[at]), alone, new - old, room)
