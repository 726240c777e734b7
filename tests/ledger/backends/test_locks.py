"""The lock beside a ledger: what else is under its name is left as it is, and a ledger has one lock, whatever it is called."""

import os
import shutil
import subprocess
import sys

import pytest

from plaudit import Ledger
from plaudit.errors import FileError, LedgerBusy, LedgerError
from support.ledgers import signal, verified

THESIS = b"All happy rewards are alike; each unhappy reward is unhappy in its own way."


def refuse(tmp_path):
    """Check that no ledger is made beside something that is not its lock, and that the error names it."""
    with pytest.raises(LedgerError, match=r"rewards\.db\.lock .*Writers need this file"):
        Ledger(tmp_path / "rewards.db")
    assert os.path.lexists(tmp_path / "rewards.db.lock")
    assert not (tmp_path / "rewards.db").exists()


@pytest.mark.parametrize(
    "place",
    [
        lambda lock, thesis: lock.symlink_to(thesis),
        lambda lock, thesis: lock.symlink_to(lock.with_name("elsewhere")),
        lambda lock, thesis: lock.hardlink_to(thesis),
        lambda lock, thesis: shutil.copy(thesis, lock),
        lambda lock, thesis: os.mkfifo(lock),
        lambda lock, thesis: lock.mkdir(),
    ],
    ids=["symbolic link", "link to nowhere", "hard link", "file of somebody else's", "pipe", "folder"],
)
def test_what_is_no_lock_is_refused_and_left_alone(tmp_path, place):
    lock, thesis = tmp_path / "rewards.db.lock", tmp_path / "thesis.txt"
    thesis.write_bytes(THESIS)
    place(lock, thesis)
    refuse(tmp_path)
    assert thesis.read_bytes() == THESIS
    assert not lock.is_file() or lock.read_bytes() == THESIS
    assert not (tmp_path / "elsewhere").exists()


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
