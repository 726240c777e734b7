"""What a re-scoring changed: the old and new totals of its records."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import select

from plaudit.ledger.rescore.changes import Changes
from plaudit.ledger.rescore.rounding import Rounding
from plaudit.ledger.rescore.translation import Translation, find_terminated, find_translation
from plaudit.ledger.storage.codec import FLOAT, RecordLayout
from plaudit.ledger.storage.schema import blocks, scopes
from plaudit.ledger.storage.sizes import limit_size
from plaudit.ledger.storage.store import Store
from plaudit.ledger.summary.returns import number_decisions, read_steps
from plaudit.targets.dtypes import estimate_rounding

_TOGETHER = 256
"""Blocks to compare at a time."""


def compare_totals(store: Store, job: int, changes: Changes) -> None:
    """Compare every total of a re-scoring with the one it was made from."""
    old = blocks.alias("old")
    joined = blocks.join(old, old.c.first == blocks.c.origin).join(scopes, scopes.c.id == blocks.c.scope)
    names = ("origin", "records", "outputs", "picked", "episodes", "steps")
    statement = select(
        *(limit_size(blocks.c[name]) for name in names),
        limit_size(old.c.outputs).label("before"),
        old.c.records.label("held"),
        scopes.c.decision_class,
        scopes.c.run,
        scopes.c.actor,
    ).select_from(joined)
    after, number, last = -1, 0, None
    while True:
        page = statement.where(blocks.c.job == job, blocks.c.origin > after).order_by(blocks.c.origin).limit(_TOGETHER)
        with store.backend.snapshot() as connection:
            rows = connection.execute(page).all()
        for row in rows:
            new = np.frombuffer(row.outputs, FLOAT).reshape(row.records, -1)[:, 0]
            before = np.frombuffer(row.before, FLOAT).reshape(row.held, -1)[:, 0]
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


def compare_rounding(store: Store, layout: RecordLayout, job: int, rounding: Rounding) -> None:
    """Tell which totals of a re-scoring in float64 changed because they were recorded in a narrower dtype."""
    old = blocks.alias("old")
    narrow = select(
        *(limit_size(old.c[name]) for name in ("first", "records", "spec", "target", "contexts", "inputs", "outputs")),
        limit_size(blocks.c.outputs).label("after"),
        blocks.c.records.label("taken"),
        limit_size(blocks.c.picked),
    ).select_from(blocks.join(old, old.c.first == blocks.c.origin))
    narrow = narrow.where(blocks.c.job == job, old.c.target.like("%/%")).order_by(old.c.first)
    after = -1
    while True:
        with store.backend.snapshot() as connection:
            rows = connection.execute(narrow.where(old.c.first > after).limit(_TOGETHER)).all()
            sources = store.specs.read(connection, {row.spec for row in rows})
        if not rows:
            return
        groups: dict[tuple[int, str], list[Any]] = {}
        for row in rows:
            groups.setdefault((row.spec, row.target), []).append(row)
        for (spec, target), group in groups.items():
            found = find_translation(store.specs, sources[spec], layout)
            assert isinstance(found, Translation)  # it was scored
            _compare_blocks(found, target, group, rounding)
        after = rows[-1].first


def _compare_blocks(found: Translation, target: str, rows: Sequence[Any], rounding: Rounding) -> None:
    chosen = [np.arange(row.records) if row.picked is None else np.asarray(json.loads(row.picked)) for row in rows]
    names = np.concatenate([row.first + at for row, at in zip(rows, chosen, strict=True)])
    computation = found.find_computation(target, as_recorded=True)
    if not computation.is_installed:
        rounding.unknown += len(names)
        return
    source, pairs = found.source, list(zip(rows, chosen, strict=True))
    inputs = np.concatenate([source.decode_inputs(row.inputs, row.records)[at] for row, at in pairs])
    old = np.concatenate([source.decode_outputs(row.outputs, row.records)[at, 0] for row, at in pairs])
    new = np.concatenate([found.layout.decode_outputs(row.after, row.taken)[:, 0] for row in rows])
    known = {"terminal": np.concatenate([find_terminated(row)[at] for row, at in pairs])} if found.reads_ends else {}
    again = found.score(inputs, computation, known)[1]
    alone = (new != old) & (again[:, 0] == old) & np.isfinite(new)
    numbers = np.concatenate([inputs, again], axis=1)
    room = estimate_rounding(found.layout.scored.program, computation.dtype, numbers)
    rounding.add(lambda at: int(names[at]), alone, new - old, room)
