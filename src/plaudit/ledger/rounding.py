"""Which totals changed by rounding alone: one was computed in a narrower dtype than the other."""

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from plaudit.ledger.storage.codec import RecordLayout
from plaudit.ledger.storage.recompute import get_recomputer
from plaudit.ledger.storage.schema import blocks
from plaudit.ledger.storage.store import Store
from plaudit.ledger.translation import Translation, find_translation
from plaudit.terminal import format_count

KEPT = 1000
"""Records that are kept by their numbers; beyond that they are counted."""
SHOWN = 10
_TOGETHER = 256
"""Blocks to compare at a time."""


@dataclass(slots=True)
class Rounding:
    """Totals that changed, and would not have if they had been computed in the dtype that the old ones were.

    Almost every one of them moves by a few units in the last place. Those that move further `flip`: a number fell on
    the other side of a threshold, as float32 0.1 does of `x > 0.1`.
    """

    records: int = 0
    """Records whose totals changed by rounding alone."""
    flips: int = 0
    """Those of them that moved further than rounding moves a sum."""
    flipped: list[int] = field(default_factory=list)
    """The numbers of the first of these records."""
    unknown: int = 0
    """Records of which this cannot be told, as what scored them is not installed here."""

    def add(
        self,
        records: NDArray[np.int64],
        old: NDArray[np.float64],
        new: NDArray[np.float64],
        again: NDArray[np.float64],
        room: NDArray[np.float64],
    ) -> None:
        """Add records by number: old and new totals, the new ones in the old dtype, and how far rounding moves them."""
        alone = (new != old) & (again == old) & np.isfinite(new)
        flips = alone & (np.abs(new - old) > room)
        self.records += int(alone.sum())
        self.flips += int(flips.sum())
        self.flipped += records[flips][: KEPT - len(self.flipped)].tolist()

    def __str__(self) -> str:
        """Return what rounding did, in a few lines; nothing where it did nothing."""
        lines = []
        if self.records:
            lines.append(
                f"{format_count(self.records, 'total')} changed by rounding alone: scored as recorded, they are what "
                "they were."
            )
        if self.flips:
            shown = ", ".join(map(str, self.flipped[:SHOWN])) + (", …" if self.flips > SHOWN else "")
            lines.append(f"{self.flips:,} of them fell on the other side of a threshold: record {shown}.")
        if self.unknown:
            lines.append(
                f"Of {format_count(self.unknown, 'record')} this cannot be told: what scored them is not installed."
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        return {"records": self.records, "flips": self.flips, "flipped": self.flipped, "unknown": self.unknown}


def compare_rounding(store: Store, layout: RecordLayout, job: int, rounding: Rounding) -> None:
    """Tell which totals of a re-scoring in float64 changed because they were recorded in a narrower dtype."""
    old = blocks.alias("old")
    narrow = select(
        *(old.c[name] for name in ("first", "records", "spec", "target", "inputs", "outputs")),
        blocks.c.outputs.label("after"),
        blocks.c.records.label("taken"),
        blocks.c.picked,
    ).select_from(blocks.join(old, old.c.first == blocks.c.origin))
    narrow = narrow.where(blocks.c.job == job, old.c.target.like("%/%")).order_by(old.c.first)
    after = -1
    while True:
        with store.backend.snapshot() as connection:
            rows = connection.execute(narrow.where(old.c.first > after).limit(_TOGETHER)).all()
            sources = store.specs.read(connection, {row.spec for row in rows})
        if not rows:
            return
        for row in rows:
            _compare_block(store, sources[row.spec], layout, row, rounding)
        after = rows[-1].first


def _compare_block(store: Store, source: RecordLayout, layout: RecordLayout, row: Any, rounding: Rounding) -> None:
    found = find_translation(store.specs, source, layout)
    assert isinstance(found, Translation)  # it was scored
    computation = found.find_computation(row.target, as_recorded=True)
    at = np.arange(row.records) if row.picked is None else np.asarray(json.loads(row.picked))
    if not computation.is_installed:
        rounding.unknown += len(at)
        return
    inputs, before = source.decode_inputs(row.inputs, row.records)[at], source.decode_outputs(row.outputs, row.records)
    new = found.layout.decode_outputs(row.after, row.taken)
    again = found.score(inputs, computation)[1]
    room = get_recomputer(found.layout).estimate_rounding(inputs, again, computation)
    rounding.add(row.first + at, before[at, 0], new[:, 0], again[:, 0], room)
