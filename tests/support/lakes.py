"""What tests of lakes share: ledgers with records that are worth files, and what a lake must hold of them."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from plaudit import Ledger
from support.samples import following

DAY = datetime(2026, 11, 1, tzinfo=UTC)
COUNT = 300


def columns(count=COUNT):
    """Return steps that differ."""
    steps = np.arange(count)
    return {
        "distance": 5.0 + steps * 0.37 % 60,
        "deceleration": steps * 0.11 % 9,
        "action": steps % 4,
    }


def fill(path, *, runs=("night", None), count=COUNT, **options):
    """Return a ledger with a segment for each run, a day apart, and some single records."""
    ledger = Ledger(path, **options)
    for day, run in enumerate(runs):
        at = [DAY + timedelta(days=day, seconds=step) for step in range(count)]
        ledger.record_batch(following, columns(count), run=run, episode="e", step=range(count), at=at)
    for step in range(3):
        signal = following.score(distance=9.0, deceleration=1.0, action=step)
        ledger.record(signal, run="single", step=step, key=f"single/{step}", context={"n": step}, at=DAY)
    return ledger


def read_all(ledger):
    """Return every record as it reads."""
    return [repr(record) for record in ledger.history()]


def check(ledger, before, head=()):
    """Check that a ledger reads as it did, and that verify finds nothing wrong."""
    assert read_all(ledger) == before
    found = ledger.verify(heads=head)
    assert found.ok, str(found)


def list_tables(lake):
    """Return the Delta tables of a lake, by name."""
    deltalake = pytest.importorskip("deltalake", reason="needs plaudit[lake]")
    found = {}
    for folder in sorted(Path(lake).iterdir()):
        if (folder / "_delta_log").is_dir():
            found[folder.name] = deltalake.DeltaTable(folder)
    return found


def count_runs(table):
    """Return how many records each run has in a Delta table."""
    return Counter(table.to_pyarrow_table(columns=["run"]).column("run").to_pylist())
