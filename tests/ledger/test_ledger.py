"""Opening, forgetting, moving and sending a ledger."""

import gc
import os
import pickle
import subprocess
import sys
import time

import pytest

from plaudit import FileError, Ledger, LedgerError
from plaudit.errors import LedgerBroken, WrongType
from support.forking import run_python
from support.ledgers import REWARD, signal

MANY = """
import gc, os, resource, sys
from plaudit import Ledger, Reward

gc.disable()
resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
signal = Reward.from_json(sys.argv[2]).score(distance=30.0, deceleration=0.0, action=0)
for _ in range(70):
    Ledger(sys.argv[1]).record(signal)
"""


LOADED = """
import sys
from plaudit import Ledger

with Ledger(sys.argv[1], read_only=True) as ledger:
    assert ledger.history().count() == 1
print(*sys.modules)
"""


def test_reading_a_ledger_loads_no_other_database(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(signal())
    told = subprocess.run([sys.executable, "-c", LOADED, tmp_path / "rewards.db"], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert "plaudit.ledger.verify.objects" in told.stdout.split()
    assert "sqlalchemy.dialects.postgresql" not in told.stdout.split()


@pytest.mark.skipif(os.name == "nt", reason="limits need POSIX")
def test_a_ledger_that_nobody_closed_keeps_no_file_open(tmp_path):
    run_python([sys.executable, "-c", MANY, tmp_path / "rewards.db", REWARD.to_json()], check=True)
    with Ledger(tmp_path / "rewards.db") as ledger:
        assert ledger.history().count() == 70


def test_the_collector_of_garbage_does_not_wait_for_a_write_that_it_interrupts(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        forgotten = Ledger(tmp_path / "rewards.db", timeout=600)
        forgotten.record(signal())
        backend = forgotten._store.backend
        with ledger._store.backend._lock:  # as in the middle of a write
            began = time.monotonic()
            del forgotten
            gc.collect()
            assert time.monotonic() - began < 300
        while backend._lock is not None and time.monotonic() - began < 300:
            time.sleep(0.01)
        assert backend._lock is None
        assert ledger.history().count() == 1


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be moved there")
@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_a_ledger_whose_file_is_gone_acknowledges_nothing(tmp_path, how):
    path = tmp_path / "rewards.db"
    ledger = Ledger(path)
    ledger.record(signal())
    path.rename(tmp_path / "elsewhere.db")
    if how == "removed":
        (tmp_path / "elsewhere.db").unlink()
    elif how == "replaced":
        path.write_bytes((tmp_path / "elsewhere.db").read_bytes())
    with pytest.raises(LedgerBroken, match="moved, removed or replaced"):
        ledger.record(signal())
    ledger.close()


def test_another_process_opens_it_for_itself(where):
    with Ledger(where, timeout=5) as ledger:
        ledger.record(signal())
        with pickle.loads(pickle.dumps(ledger)) as again:
            second = again.record(signal())
            assert second == 2 if isinstance(where, os.PathLike) else second > 2  # each writer has numbers of its own
        assert ledger.history().count() == 2


def test_a_closed_ledger_says_so(where):
    ledger = Ledger(where)
    ledger.close()
    ledger.close()
    for use in (lambda: ledger.record(signal()), lambda: ledger.history().count(), ledger.verify, ledger.writer):
        with pytest.raises(LedgerError, match="closed"):
            use()


@pytest.mark.parametrize(
    ("place", "kind", "match"),
    [
        (None, WrongType, "not a place for a ledger"),
        (3, WrongType, "not a place for a ledger"),
        (b"rewards.db", WrongType, "not a place for a ledger"),
        ("", FileError, "kept in a file"),
        (":memory:", FileError, "kept in a file"),
        ("sqlite:///rewards.db", LedgerError, r"Ledger\('rewards.db'\)"),
        ("mysql://host/db", LedgerError, "is neither"),
    ],
)
def test_what_is_no_place_is_told(place, kind, match):
    with pytest.raises(kind, match=match):
        Ledger(place)


LEFT_LOCKED = """
import os, sys, threading
from plaudit import Ledger

with Ledger(sys.argv[1]) as ledger:
    holder = threading.Thread(target=ledger._lock.acquire)
    holder.start()
    holder.join()
    child = os.fork()
    if not child:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_fork_does_not_wait_for_a_thread_that_ended_with_a_lock(tmp_path):
    """Nobody else will ever release it."""
    run_python([sys.executable, "-c", LEFT_LOCKED, str(tmp_path / "rewards.db")], check=True, timeout=60)
