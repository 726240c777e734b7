"""Turns in an open file: one at a time, let go of by whoever dies, and nothing written."""

import os
import subprocess
import sys

import pytest

from plaudit import errors
from plaudit.file_lock import hold_lock
from support.forking import PythonProcess

HOLD = """
import sys, time
from plaudit.file_lock import hold_lock

with open(sys.argv[1], "rb+") as file, hold_lock(file.fileno(), "it", 1.0):
    print("taken", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"as it was")
    return path


@pytest.fixture
def holder(path):
    """Another process whose turn does not end."""
    process = PythonProcess([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "taken\n"
    yield process
    process.kill()
    process.communicate()


def test_nobody_else_has_a_turn_until_the_holder_dies(path, holder):
    with path.open("rb+") as file:
        with pytest.raises(errors.LedgerBusy, match=r"writing to rows for 0.05 s. Has it stopped in the middle"):
            hold_lock(file.fileno(), "rows", 0.05).__enter__()
        holder.kill()
        with hold_lock(file.fileno(), "rows", 10.0):
            assert path.read_bytes() == b"as it was"


def test_a_turn_ends_whatever_happens_in_it(path):
    with path.open("rb+") as one, path.open("rb+") as other:
        with pytest.raises(ZeroDivisionError), hold_lock(one.fileno(), "rows", 1.0):
            raise ZeroDivisionError
        with hold_lock(other.fileno(), "rows", 0.05):
            pass


def test_nothing_is_written_and_nothing_is_left(path, tmp_path):
    with path.open("rb+") as file, hold_lock(file.fileno(), "rows", 1.0):
        pass
    assert path.read_bytes() == b"as it was"
    assert os.listdir(tmp_path) == ["rows.jsonl"]
