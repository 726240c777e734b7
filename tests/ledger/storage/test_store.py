"""Where a ledger cannot be, it says why, and leaves what is there as it was."""

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from plaudit import Ledger
from plaudit.errors import FileError, InputError, LedgerBroken, LedgerBusy, LedgerError, PlauditError
from plaudit.ledger.backends.sqlite import SqliteBackend
from plaudit.ledger.storage.revisions import prepare_tables
from support.ledgers import run, signal, verified
from support.mounts import mounted, need_root


@pytest.fixture
def path(tmp_path):
    """A ledger of three records."""
    with Ledger(tmp_path / "ledger.db") as ledger:
        for step in range(3):
            ledger.record(signal(step), run="run", step=step, key=f"key {step}")
    return tmp_path / "ledger.db"


@pytest.fixture(scope="module")
def nobody():
    """What somebody who owns nothing can do with ledgers of root's."""
    need_root()
    folder = Path(tempfile.mkdtemp(prefix="plaudit-nobody-"))
    folder.chmod(0o755)
    try:
        yield run("as_nobody", folder)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("which", ["file", "folder", "both", "hidden", "none"])
def test_a_file_or_folder_that_is_not_writable_is_said_so(nobody, which):
    said = nobody[f"write {which}"]
    assert said.startswith(("FileError", "LedgerError")), said
    assert any(word in said for word in ("permission", "Permission", "writable")), said


def test_what_may_not_be_written_can_be_read(nobody):
    assert nobody["read file"] == nobody["read folder"] == nobody["read both"] == 1
    assert nobody["read hidden"].startswith("FileError")
    assert "no such file" in nobody["read none"]


def test_a_backup_into_a_folder_that_is_not_writable_is_said_so(nobody):
    assert nobody["backup"].startswith("FileError"), nobody["backup"]


def test_a_folder_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(FileError, match="no folder"):
        Ledger(tmp_path / "missing" / "ledger.db")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_ledger(tmp_path):
    with pytest.raises(FileError, match="directory"):
        Ledger(tmp_path)


def test_a_file_that_is_not_there_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        Ledger(tmp_path / "ledger.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"hello", b"x" * 100, b"SQLite format 2\0" + bytes(4096), os.urandom(9000)])
@pytest.mark.parametrize("read_only", [False, True])
def test_what_is_no_database_is_refused_and_left_alone(tmp_path, content, read_only):
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    with pytest.raises(LedgerBroken, match="not a ledger"):
        Ledger(path, read_only=read_only)
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_ledger(tmp_path):
    path = tmp_path / "ledger.db"
    path.touch()
    with Ledger(path) as ledger:
        ledger.record(signal())
        verified(ledger)


def test_an_empty_file_is_no_ledger_to_read(tmp_path):
    path = tmp_path / "ledger.db"
    path.touch()
    with pytest.raises(LedgerError, match="contains no ledger"):
        Ledger(path, read_only=True)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("table", ["notes", "blocks"])
def test_a_database_that_is_no_ledger_is_refused_and_left_alone(tmp_path, read_only, table):
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute(f"CREATE TABLE {table} (text)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(path, read_only=read_only)
    assert path.read_bytes() == before


def test_a_database_that_was_emptied_becomes_a_ledger(tmp_path):
    other = sqlite3.connect(tmp_path / "ledger.db")
    other.executescript("CREATE TABLE gone (n); DROP TABLE gone")
    other.close()
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.record(signal())
        verified(ledger)


def test_a_new_file_that_another_program_holds_is_busy(tmp_path):
    backend = SqliteBackend(tmp_path / "ledger.db", read_only=False, timeout=0.05)
    other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerBusy, match="locked by another program"):
        prepare_tables(backend)
    other.close()
    prepare_tables(backend)
    backend.close()
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.record(signal())
        verified(ledger)


def test_what_was_opened_to_be_read_is_not_written(path):
    before = path.read_bytes()
    with Ledger(path, read_only=True) as ledger:
        for work in (lambda: ledger.record(signal()), ledger.compact, lambda: ledger.register(signal().frame.source)):
            with pytest.raises(LedgerError, match="read_only"):
                work()
        verified(ledger)
    assert path.read_bytes() == before


def test_a_file_that_was_opened_to_be_read_refuses_writes_itself(path):
    with (
        Ledger(path, read_only=True) as ledger,
        pytest.raises(PlauditError, match="readonly database"),
        ledger._store.backend.snapshot() as connection,
    ):
        connection.exec_driver_sql("DELETE FROM blocks")


def test_a_closed_ledger_says_so(path):
    ledger = Ledger(path)
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.record(signal())


def test_names_that_need_quoting_are_only_names(tmp_path):
    for name in ("a b.db", "a?mode=ro.db", "a#b%20.db", "é [1] *.db", "a'b\".db", ":memory:", "a&b=c.db"):
        with Ledger(tmp_path / name) as ledger:
            ledger.record(signal())
            ledger.backup(tmp_path / f"copy of {name}")
        assert (tmp_path / name).is_file()
        with Ledger(tmp_path / f"copy of {name}", read_only=True) as copy:
            assert copy.history().count() == 1
    left = [found.name for found in tmp_path.iterdir() if "part" in found.name or found.name.endswith(("-wal", "-shm"))]
    assert left == []


def test_a_file_system_without_shared_memory_is_refused(tmp_path, monkeypatch):
    """SQLite without locks knows no shared memory, as some file systems do not."""
    import plaudit.ledger.backends.sqlite as module

    connect = sqlite3.connect
    monkeypatch.setattr(
        module.sqlite3, "connect", lambda where, **options: connect(f"{where}&vfs=unix-none", **options)
    )
    with pytest.raises(FileError, match=r"write-ahead log.*'delete'"):
        Ledger(tmp_path / "ledger.db")


@pytest.mark.parametrize(
    "name", ["a\0b.db", "x" * 300 + ".db", "a/" * 3000 + "x.db", "loop.db", "\ud800.db", b"x.db", 5, None]
)
def test_what_can_be_no_file_is_said_so(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop.db").symlink_to("loop.db")
    for read_only in (False, True):
        with pytest.raises(PlauditError):
            Ledger(name, read_only=read_only)
    with Ledger(tmp_path / "ledger.db") as ledger:
        for use in (ledger.backup, ledger.export, ledger.import_file):
            with pytest.raises(PlauditError):
                use(name)


def test_what_is_no_plain_file_is_neither_a_ledger_nor_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(FileError, match="not a regular file"):
        Ledger(tmp_path / "pipe.jsonl")
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.record(signal())
        for write in (ledger.backup, ledger.export):
            with pytest.raises(FileError, match="not a regular file"):
                write(tmp_path / "pipe.jsonl", overwrite=True)
    assert (tmp_path / "pipe.jsonl").is_fifo()
    assert [found.name for found in tmp_path.iterdir() if found.name.startswith(".")] == []


def test_a_name_of_bytes_that_are_no_text_is_only_a_name(tmp_path):
    path = tmp_path / os.fsdecode(b"\xff.db")
    with Ledger(path) as ledger:
        ledger.record(signal())
    assert path.is_file()


@pytest.mark.parametrize("timeout", ["3", float("nan"), float("inf"), -1, None])
def test_a_timeout_is_a_number_of_seconds(tmp_path, timeout):
    with pytest.raises(InputError, match="timeout="):
        Ledger(tmp_path / "ledger.db", timeout=timeout)
    assert list(tmp_path.iterdir()) == []


def test_a_backup_into_a_folder_that_is_read_only_is_said_so(path, tmp_path):
    need_root()
    with mounted("-t", "tmpfs", "-o", "ro", "tmpfs", at=tmp_path / "fixed") as fixed, Ledger(path) as ledger:
        for write in (ledger.backup, ledger.export):
            with pytest.raises(FileError, match=r"copy\.jsonl cannot be written: Read-only file system"):
                write(fixed / "copy.jsonl")


def test_a_backup_into_a_folder_that_makes_no_files_is_said_so(path):
    with Ledger(path) as ledger, pytest.raises(FileError, match=r"/proc/copy\.db cannot be written"):
        ledger.backup("/proc/copy.db")
