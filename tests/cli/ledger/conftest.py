"""A ledger for the commands to read: twelve steps and one record with everything."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from plaudit import Entry, Ledger
from support.command_line import DRIVE
from support.samples import following

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def _fill(where: object) -> None:
    """Record an episode a minute apart, then one record with everything a record can have."""
    with Ledger(where) as ledger:
        signals = [following.score(**row) for row in DRIVE]
        ledger.record_many(
            Entry(signal=signal, run="night-3", episode=7, step=step, at=NOON + timedelta(minutes=step))
            for step, signal in enumerate(signals)
        )
        ledger.record(
            signals[0],
            key="crash",
            run="day-1",
            episode="last",
            step=4,
            phase="drive",
            decision_class="braking",
            actor="car\x1b[31m",
            context={"seed": 5},
            at=NOON + timedelta(days=1),
        )


@pytest.fixture
def fill() -> Callable[[object], None]:
    """Record thirteen records in a ledger."""
    return _fill


@pytest.fixture(scope="session")
def filled(tmp_path_factory) -> Path:
    """A ledger of thirteen records, which is only copied."""
    path = tmp_path_factory.mktemp("ledger") / "rewards.db"
    _fill(path)
    return path


@pytest.fixture
def rewards(tmp_path, filled) -> Path:
    """A ledger of thirteen records."""
    return Path(shutil.copy(filled, tmp_path / "rewards.db"))


@pytest.fixture
def names(tmp_path):
    """The names of the files that are there, but for what SQLite puts beside a ledger."""

    def listed() -> list[str]:
        return sorted(path.name for path in tmp_path.iterdir() if not path.name.endswith(("-wal", "-shm", ".lock")))

    return listed
