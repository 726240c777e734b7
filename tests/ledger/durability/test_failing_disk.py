"""A disk that refuses to sync: nothing is acknowledged after it, and the ledger has to be opened again."""

import subprocess

import pytest

from plaudit import Ledger
from support.forking import PythonProcess
from support.ledgers import check_kept, command, signal
from support.mounts import need_strace

RECORDS = 12


def said_with(fault, path, mode="single"):
    """Return what a writer says whose system calls fail as `fault` says."""
    need_strace()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with PythonProcess(command("write", path, "run", mode, f"limit={RECORDS}", "wait"), **pipes) as writer:
        assert writer.stdout.readline() == "waiting\n"  # everything is imported, and nothing opened
        tracing = ["-f", "-o", "/dev/null", "-e", f"trace={fault.split(':')[0]}", "-e", f"inject={fault}"]
        with subprocess.Popen(["strace", *tracing, "-p", str(writer.pid)], stderr=subprocess.PIPE, text=True) as strace:
            attached = strace.stderr.readline()
            said, told = writer.communicate("go\n", timeout=300)
        assert "attached" in attached, attached
    return said.splitlines(), told


def check(said, path, counted, before=0):
    acknowledged = max((int(line) for line in said if line.isdigit()), default=0)
    wrong = [line for line in said if line.startswith(("error", "again"))]
    if wrong:
        last = max(at for at, line in enumerate(said) if line.isdigit() or line == "open")
        assert said.index(wrong[0]) > last, "a record was acknowledged after the error"
        assert wrong[0].startswith("error LedgerBroken"), wrong
        assert wrong[1].startswith("again LedgerBroken"), f"the handle goes on after a failed sync: {wrong}"
        assert "open it again" in wrong[1]
    else:
        assert acknowledged >= RECORDS
    check_kept(path, {"run": acknowledged, "before": before})
    with Ledger(path) as ledger:  # opened again, it goes on
        ledger.record(signal(0), run="after", step=0)
    check_kept(path, {"run": acknowledged, "after": 1})
    counted("syncs that failed", injected=1, reported=bool(wrong), lost=0)
    return wrong


@pytest.mark.parametrize("when", [2, 5, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 3, 4, 6, 7, 8))])
def test_nothing_is_acknowledged_after_a_sync_of_the_log_failed(tmp_path, when, counted):
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        ledger.record(signal(0), run="before", step=0)
    said, _ = said_with(f"fdatasync,fsync:error=EIO:when={when}", path)
    wrong = check(said, path, counted, before=1)
    assert wrong or when <= 2, "no error reached the writer"  # the folder's sync is not SQLite's to report


@pytest.mark.parametrize("when", [6])
def test_a_disk_that_fails_for_good_is_said_so(tmp_path, when, counted):
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        ledger.record(signal(0), run="before", step=0)
    said, _ = said_with(f"fdatasync,fsync:error=EIO:when={when}+", path)
    assert check(said, path, counted, before=1)


@pytest.mark.parametrize("when", [pytest.param(4, marks=pytest.mark.slow), 16])
def test_a_write_that_fails_is_no_acknowledgement(tmp_path, when, counted):
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        ledger.record(signal(0), run="before", step=0)
    said, told = said_with(f"pwrite64:error=EIO:when={when}+", path)
    if "open" in said:
        assert check(said, path, counted, before=1)
    else:
        assert "LedgerBroken" in told or "FileError" in told or "UnusableFile" in told, told[-2000:]
        check_kept(path, {"before": 1}, most=0)


@pytest.mark.parametrize("when", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 4))])
def test_a_ledger_whose_making_the_disk_refuses_can_be_made_later(tmp_path, when):
    path = tmp_path / "ledger.db"
    said, told = said_with(f"fdatasync,fsync:error=EIO:when={when}", path)
    assert "Broken" in told or "open" in said, told[-2000:]
    acknowledged = max((int(line) for line in said if line.isdigit()), default=0)
    check_kept(path, {"run": acknowledged})


def test_a_buffered_writer_fails_the_receipts_that_the_disk_refused(tmp_path, counted):
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        ledger.record(signal(0), run="before", step=0)
    said, _ = said_with("fdatasync,fsync:error=EIO:when=4", path, mode="buffered")
    acknowledged = max((int(line) for line in said if line.isdigit()), default=0)
    assert any(line.startswith("error LedgerBroken") for line in said) or acknowledged >= RECORDS, said
    check_kept(path, {"run": acknowledged, "before": 1})
