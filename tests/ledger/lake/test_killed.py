"""Tests of archiving that is killed: what was acknowledged is there, whole, and in the lake once."""

import random
import subprocess
import sys
import time
from collections import Counter

import pytest

from plaudit import Ledger
from support.lakes import count_runs, list_tables
from support.ledgers import PROGRAMS

pytest.importorskip("deltalake", reason="needs plaudit[lake]")
EACH = 60


def kill_one(path, lake, run, draw, seconds):
    """Let a program archive for a while, and kill it."""
    command = [sys.executable, PROGRAMS / "archive.py", path, lake, run]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "0\n"
        for _ in range(draw.choice((1, 1, 2, 4))):
            running.stdout.readline()
        time.sleep(draw.random() * seconds)
        running.kill()


def check_killed(tmp_path, kills, seed, seconds):
    """Kill archivers, then look: each record once in the ledger, and once in the lake."""
    draw = random.Random(seed)
    path, lake = tmp_path / "rewards.db", tmp_path / "lake"
    for life in range(kills):
        kill_one(path, lake, f"life {life}", draw, seconds)
    with Ledger(path) as ledger:
        total = ledger.history().count()
        ledger.archive(lake)
        found = ledger.verify()
        assert found.ok, str(found)
        kept = Counter(record.run for record in ledger.history())
        assert sum(kept.values()) == total
    assert all(count % EACH == 0 for count in kept.values()), "no batch is there in part"
    (table,) = list_tables(lake).values()
    assert count_runs(table) == kept
    assert not list(tmp_path.glob("*.segments/*/*.parquet")), "nothing is kept here that lies in the lake"
    return total


def test_an_archiver_that_is_killed_loses_nothing_and_lists_nothing_twice(tmp_path):
    assert check_killed(tmp_path, 1, 3, 0.1) > 0


@pytest.mark.slow
def test_a_hundred_kills_lose_nothing_and_list_nothing_twice(tmp_path, counted):
    total = check_killed(tmp_path, 100, 7, 0.3)
    counted("kill -9 while archiving", kills=100, records=total, lost=0, twice=0)
