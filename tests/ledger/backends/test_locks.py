"""The lock beside a ledger: what else is under its name is left as it is, and a ledger has one lock, whatever it is called."""

import os
import subprocess
import sys

import pytest

from plaudit import Ledger
from plaudit.errors import FileError, LedgerBusy, LedgerError
from support.ledgers import signal, verified

THESIS = b"All happy rewards are alike; each unhappy reward is unhappy in its own way."


@pytest.fixture
def thesis(tmp_path):
    path = tmp_path / "thesis.txt"
    path.write_bytes(THESIS)
    return path


def refuse(tmp_path, thesis=None):
    """Check that no ledger is made beside something that is not its lock, and that the error names it."""
    lock = tmp_path / "rewards.db.lock"
    with pytest.raises(LedgerError, match=r"rewards\.db\.lock .*Writers need it"):
        Ledger(tmp_path / "rewards.db")
    assert os.path.lexists(lock)
    assert not (tmp_path / "rewards.db").exists()
    if thesis is not None:
        assert thesis.read_bytes() == THESIS


def test_a_symbolic_link_is_not_followed(tmp_path, thesis):
    (tmp_path / "rewards.db.lock").symlink_to(thesis)
    refuse(tmp_path, thesis)


def test_a_link_to_nowhere_makes_nothing_there(tmp_path):
    (tmp_path / "rewards.db.lock").symlink_to(tmp_path / "elsewhere")
    refuse(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_hard_link_is_not_written_to(tmp_path, thesis):
    (tmp_path / "rewards.db.lock").hardlink_to(thesis)
    refuse(tmp_path, thesis)


def test_a_file_of_somebody_else_s_is_not_written_to(tmp_path, thesis):
    thesis.rename(tmp_path / "rewards.db.lock")
    refuse(tmp_path, tmp_path / "rewards.db.lock")


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_file_is_refused(tmp_path, kind):
    lock = tmp_path / "rewards.db.lock"
    os.mkfifo(lock) if kind == "pipe" else lock.mkdir()
    refuse(tmp_path)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="not allowed on this machine: chown needs root")
def test_a_lock_of_another_user_is_refused(tmp_path):
    (tmp_path / "rewards.db.lock").touch()
    os.chown(tmp_path / "rewards.db.lock", 4242, 4242)
    refuse(tmp_path)
    os.chown(tmp_path, 4242, 4242)  # in that user's own folder it is as it should be
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(signal(0))


def test_nothing_is_written_into_a_lock(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger, Ledger(tmp_path / "rewards.db") as other:
        for step in range(5):
            ledger.record(signal(2 * step), run="run", step=2 * step)
            other.record(signal(2 * step + 1), run="run", step=2 * step + 1)
        assert [record.step for record in ledger.history()] == list(range(10))
        verified(ledger)
    assert (tmp_path / "rewards.db.lock").read_bytes() == b""


@pytest.mark.parametrize("link", ["link.db", "folder/link.db", "../{name}/folder/../link.db"])
def test_a_link_to_a_ledger_has_the_lock_of_the_ledger(tmp_path, link, monkeypatch):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.db").symlink_to("rewards.db")
    (tmp_path / "folder" / "link.db").symlink_to("../rewards.db")
    monkeypatch.chdir(tmp_path)
    with Ledger("rewards.db") as ledger:
        ledger.record(signal(0), run="run", step=0)
        hold = "import sys, time; from plaudit.file_lock import acquire_lock; f = open(sys.argv[1], 'rb+');" + (
            "acquire_lock(f.fileno(), 'it', 1); print('taken', flush=True); time.sleep(60)"
        )
        with Ledger(link.format(name=tmp_path.name), timeout=0.05) as same:
            same.record(signal(1), run="run", step=1)
            holder = subprocess.Popen(
                [sys.executable, "-c", hold, tmp_path / "rewards.db.lock"], stdout=subprocess.PIPE, text=True
            )
            assert holder.stdout.readline() == "taken\n"
            with pytest.raises(LedgerBusy):
                same.record(signal(2), run="run", step=2)
            holder.kill()
            holder.communicate()
        assert [record.step for record in ledger.history()] == [0, 1]
    locks = list(tmp_path.rglob("*.lock"))
    assert locks == [tmp_path / "rewards.db.lock"]


def test_a_link_to_a_ledger_that_is_not_there_yet_makes_it_there(tmp_path):
    (tmp_path / "link.db").symlink_to("rewards.db")
    with Ledger(tmp_path / "link.db") as ledger:
        ledger.record(signal(0))
    assert (tmp_path / "rewards.db").is_file()
    assert (tmp_path / "link.db").is_symlink()


def test_a_ledger_with_two_names_is_not_written_to(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(signal(0))
    (tmp_path / "other.db").hardlink_to(tmp_path / "rewards.db")
    with pytest.raises(FileError, match="hard link"):
        Ledger(tmp_path / "other.db")
    with Ledger(tmp_path / "rewards.db", read_only=True) as ledger:
        assert ledger.history().count() == 1
