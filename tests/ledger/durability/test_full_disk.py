"""A full disk: a clear error, nothing written by half, and on it goes when there is room."""

import pytest

from plaudit import Ledger
from plaudit.errors import FileError
from plaudit.ledger.storage import batch, moving
from support.ledgers import REWARD, check_kept, columns, signal, verified
from support.mounts import need_root, small

KIB = 1024


def fill(folder, *, leave):
    """Fill a file system up to some bytes; return the file that does."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
        file.truncate(max(0, file.tell() - leave))
    return ballast


def record_until_full(ledger, start):
    """Record until the disk is full and return how many steps are there."""
    step = start
    with pytest.raises(FileError, match="full"):
        while step < start + 20_000:
            ledger.record(signal(step), run="run", step=step, context="x" * 300)
            step += 1
    return step


@pytest.mark.parametrize("leave", [4 * KIB, 12 * KIB, 40 * KIB, 100 * KIB, 250 * KIB, 600 * KIB])
def test_a_full_disk_is_said_and_recording_goes_on_when_there_is_room(tmp_path, leave, counted):
    need_root("mount")
    with small(tmp_path / "disk", "4m") as disk:
        with Ledger(disk / "ledger.db") as ledger:
            ledger.record(signal(0), run="run", step=0)
            ballast = fill(disk, leave=leave)
            first = record_until_full(ledger, 1)
            for _ in range(3):
                with pytest.raises(FileError, match="full"):
                    ledger.record_batch(
                        REWARD, columns(first, 3000 + first), run="run", step=range(first, first + 3000)
                    )
            assert ledger.history().count() == first
            verified(ledger)
            ballast.unlink()
            for step in range(first, first + 20):
                ledger.record(signal(step), run="run", step=step)
            ballast = fill(disk, leave=leave)
            second = record_until_full(ledger, first + 20)
        ballast.unlink()
        found = check_kept(disk / "ledger.db", {"run": second}, most=0)
    counted("full disks", times=2, acknowledged=found, lost=0)


@pytest.mark.parametrize("size", ["4k", "16k", "64k"])
def test_a_disk_too_small_for_a_ledger_is_said_so(tmp_path, size):
    need_root("mount")
    with small(tmp_path / "disk", size) as disk:
        with pytest.raises(FileError, match="full"):
            Ledger(disk / "ledger.db")
        for leftover in disk.iterdir():
            leftover.unlink()


def test_what_could_not_be_made_for_lack_of_room_is_made_later(tmp_path):
    need_root("mount")
    with small(tmp_path / "disk", "4m") as disk:
        ballast = fill(disk, leave=48 * KIB)
        with pytest.raises(FileError, match="full"):
            Ledger(disk / "ledger.db")
        ballast.unlink()
        with Ledger(disk / "ledger.db") as ledger:
            ledger.record(signal(0), run="run", step=0)
        check_kept(disk / "ledger.db", {"run": 1}, most=0)


def test_a_backup_that_does_not_fit_leaves_nothing_behind(tmp_path, monkeypatch):
    need_root("mount")
    monkeypatch.setattr(batch, "FEWEST", 10**9)  # all of it lies in the database
    with Ledger(tmp_path / "ledger.db") as ledger, small(tmp_path / "disk", "256k") as disk:
        ledger.record_batch(REWARD, columns(0, 20_000), run="run", step=range(20_000))
        with pytest.raises(FileError):
            ledger.backup(disk / "copy.db")
        assert list(disk.iterdir()) == []


def test_an_export_that_does_not_fit_leaves_nothing_behind(tmp_path):
    need_root("mount")
    with Ledger(tmp_path / "ledger.db") as ledger, small(tmp_path / "disk", "256k") as disk:
        ledger.record_batch(REWARD, columns(0, 2000), run="run", step=range(2000))
        with pytest.raises(FileError):
            ledger.export(disk / "records.jsonl")
        assert list(disk.iterdir()) == []


def test_a_compaction_without_room_leaves_the_ledger_as_it_is(tmp_path, monkeypatch):
    need_root("mount")
    for module in (batch, moving):
        monkeypatch.setattr(module, "FEWEST", 10**9)  # all of it lies in the database
    with small(tmp_path / "disk", "4m") as disk, Ledger(disk / "ledger.db") as ledger:
        ledger.record_batch(REWARD, columns(0, 10_000), run="run", step=range(10_000))
        ballast = fill(disk, leave=100 * KIB)
        with pytest.raises(FileError, match="full"):
            ledger.compact()
        ballast.unlink()
        ledger.record(signal(10_000), run="run", step=10_000)
        assert ledger.history().count() == 10_001
        verified(ledger)
