"""A ledger in a SQLite file: write-ahead log, every commit on disk before it is acknowledged."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.engine import Dialect, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool, Pool, QueuePool
from sqlalchemy.util import LRUCache

from plaudit.atomic import parse_path, sync_folder
from plaudit.errors import FileError, LedgerBroken, LedgerBusy, LedgerError, UnusableFile
from plaudit.ledger.backends.backend import LARGEST_VALUE, OUT_OF_ORDER, Backend, TooLarge, WriteConflict
from plaudit.ledger.backends.locks import ClaimedNames, WriterLock

_COMPILED: LRUCache[Any, Any] = LRUCache(500)
"""Statements as SQLite takes them, for all ledgers of the process: compiling one takes longer than most of them run."""
_DAMAGED = ("malformed", "disk I/O error", "decode to UTF-8")
PAGE = 1024
"""Bytes a page: a single record touches three of them, and each is written to the log whole."""
_LOG = 8 << 20
"""Bytes that the log may grow by before a commit moves it into the file."""


class SqliteBackend(Backend):
    """A ledger in one file, with its log and lock beside it."""

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool, timeout: float) -> None:
        """Open the file; it is made if it is not there, unless it is only to be read."""
        self._given = parse_path(path).absolute()
        self.path = Path(os.path.realpath(self._given))  # a link to a ledger has the lock and the log of the ledger
        self.name = os.fspath(path)
        self.read_only = read_only
        self.broken: str | None = None
        self._timeout = timeout
        self._check_file()
        self._lock: WriterLock | None = None
        self._claims = ClaimedNames(self.path)
        self._writer: sqlite3.Connection | None = None
        self.engine = self._build_engine(
            QueuePool, partial(_connect_reader, self.path, timeout), pool_size=2, max_overflow=20
        )
        if read_only:
            self._file = _identify(self.path)
        else:
            try:
                self._open_to_write()
            except BaseException:
                self.close()
                raise

    def _open_to_write(self) -> None:
        self._lock = WriterLock(self.path, self.name, self._timeout)
        with self.translate_errors(), self._lock:
            new = not self.path.exists()
            self._writer = self._connect("rwc" if new else "rw")
            self._writer.execute(f"PRAGMA page_size = {PAGE}")  # takes effect in a new file
            tables = {row[0] for row in self._writer.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not tables or "schema_revision" in tables:  # what is no ledger is left as it is, and refused later
                self._start_log()
            self._writer.execute("PRAGMA synchronous = FULL")
            self._writer.execute(f"PRAGMA wal_autocheckpoint = {_LOG // PAGE}")
            self._file = _identify(self.path)
        if new:
            sync_new_file(self.path)

    def _start_log(self) -> None:
        (mode,) = self.writer.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise FileError(
                f"{self.name} cannot use a write-ahead log, and records are not safe without one: SQLite stays in "
                f"mode {mode!r}. Its file system may lack shared memory; keep the ledger on a local disk."
            )

    def _check_file(self) -> None:
        if self.path.is_dir():
            raise FileError(f"{self.name} is a directory; name a file in it.")
        if not self.path.parent.is_dir():
            raise FileError(f"{self.name} cannot be opened: there is no folder {self.path.parent}.")
        if not self.path.exists():
            if self.read_only:
                raise FileError(f"{self.name} cannot be opened: there is no such file.")
            if not os.access(self.path.parent, os.W_OK):
                raise FileError(f"{self.name} cannot be created: the folder {self.path.parent} is not writable.")
            return
        # The file itself is never opened here: closing it would drop the locks of other ledgers of this process on it.
        if not self.path.is_file():
            raise FileError(f"{self.name} is not a regular file; a ledger needs one.")
        if not self.read_only and os.stat(self.path).st_nlink > 1:
            raise FileError(
                f"{self.name} has a second name (a hard link) and would get a log and a lock under each, "
                "which damages it. Remove one of the names; copy a ledger with backup."
            )
        if not os.access(self.path, os.R_OK if self.read_only else os.R_OK | os.W_OK):
            hint = "" if self.read_only else " To read it only: Ledger(path, read_only=True)."
            raise FileError(f"{self.name} cannot be opened: permission denied.{hint}")

    def _connect(self, mode: str) -> sqlite3.Connection:
        return _connect(self.path, self._timeout, mode)

    def _build_engine(self, pool: type[Pool], connect: Any, **options: Any) -> Engine:
        made = pool(connect, dialect=self.dialect, **options)
        return Engine(made, self.dialect, make_url("sqlite://"), execution_options={"compiled_cache": _COMPILED})

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Open one view of the ledger, which later writes do not change."""
        self.check_open()
        with self.translate_errors(), self.engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            try:
                yield connection
            finally:
                connection.exec_driver_sql("ROLLBACK")

    @contextmanager
    def migration(self) -> Iterator[Connection]:
        """Open a transaction that may change the tables, alone."""
        engine = self._build_engine(NullPool, partial(self._connect, "rw"))
        with self.translate_errors(), self._writer_lock, engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.exec_driver_sql("COMMIT")

    def start_budget(self) -> None:
        """Do nothing: a file answers at once."""

    def transaction(self, *, single: bool = False) -> "_Transaction":
        """Open a transaction to write; what it wrote is durable when the block ends."""
        if self._lock is None:
            self.check_writable()
        if self.broken:
            raise LedgerBroken(f"{self.name} refused an earlier write ({self.broken}); open it again to continue.")
        return _Transaction(self, single)

    def claim(self, name: str) -> str | None:
        """Take a name for as long as this process lives; return who has it where another one does."""
        with self._report_claims(), self._writer_lock:
            return self._claims.take(name)

    def release(self, name: str) -> None:
        """Let others claim the name."""
        with self._report_claims(), self._writer_lock:
            self._claims.release(name)

    @contextmanager
    def _report_claims(self) -> Iterator[None]:
        try:
            yield
        except LedgerBusy:
            raise
        except OSError as error:
            raise FileError(f"{self.name}.writers cannot be written: {error.strerror}.") from None

    def check_in_place(self) -> None:
        """Raise where the file was moved, removed or replaced: what is written to it now, nobody would find."""
        if _identify(self._given) != self._file:
            what = "read" if self.read_only else "write to"
            raise LedgerBroken(
                f"{self.name} was moved, removed or replaced while it was open. Nothing was recorded; open the ledger "
                f"that you want to {what}. (Copy a ledger with backup, not by moving files.)"
            )

    def check_not_own(self, path: str | os.PathLike[str]) -> None:
        """Raise where a file to be written is the ledger itself, its log or its lock."""
        target = Path(os.path.realpath(path))
        if target in [
            self.path.with_name(f"{self.path.name}{ending}") for ending in ("", "-wal", "-shm", ".lock", ".writers")
        ]:
            raise LedgerError(f"{os.fspath(path)} is part of the ledger itself; choose another name.")

    @property
    def _writer_lock(self) -> WriterLock:
        if self._lock is None:
            self.check_writable()
        assert self._lock is not None
        return self._lock

    @property
    def writer(self) -> sqlite3.Connection:
        """The one connection that writes."""
        assert self._writer is not None
        return self._writer

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turn what SQLite raises into our errors."""
        try:
            yield
        except sqlite3.Error as error:
            raise self.translate_error(error) from error
        except DBAPIError as error:
            if not isinstance(error.orig, sqlite3.Error):
                raise
            raise self.translate_error(error.orig) from error
        except UnicodeDecodeError as error:  # SQLite quotes what it found where a table's name should be
            raise LedgerBroken(f"{self.name}: its tables cannot be read; the file is damaged.") from error

    def translate_error(self, error: sqlite3.Error) -> LedgerError | FileError:
        """Return our error for one of SQLite's."""
        text = str(error)
        if isinstance(error, sqlite3.IntegrityError):
            constraint = text.partition(" constraint failed: ")[2] or text  # that of a trigger is in its own words
            return WriteConflict(self.name, text, None if text == OUT_OF_ORDER else constraint)
        if "locked" in text or "busy" in text:
            return LedgerBusy(f"{self.name} is locked by another program ({text}). Nothing was recorded; try again.")
        if getattr(error, "sqlite_errorname", "") == "SQLITE_IOERR_SHMSIZE":
            return UnusableFile(
                f"{self.name}: no space for the index of its log. Is the disk full? Nothing was recorded."
            )
        if "full" in text:
            return UnusableFile(f"{self.name}: the disk is full. Nothing was recorded; free some space and try again.")
        if "readonly" in text or "unable to open" in text:
            return FileError(f"{self.name} cannot be opened or written: {text}. Are file and folder writable?")
        if "not a database" in text:
            return LedgerBroken(
                f"{self.name} is not a ledger: it is not an SQLite database, or its first bytes are damaged."
            )
        if getattr(error, "sqlite_errorname", "") == "SQLITE_TOOBIG":
            return TooLarge(
                f"{self.name}: a value is larger than {LARGEST_VALUE >> 20} MiB, more than a ledger can hold. If you "
                "were recording it, nothing was recorded; if it is in the file, the file is damaged: run verify to "
                "see where."
            )
        if any(sign in text for sign in _DAMAGED):
            return LedgerBroken(f"{self.name}: {text}. Nothing more can be recorded here; open it again and verify it.")
        return LedgerError(f"{self.name}: {text}")

    def copy_to(self, path: Path) -> None:
        """Copy the file as it is now, while others write."""
        with self.translate_errors():
            source = self._connect("ro")
            copy = sqlite3.connect(path)
            try:
                source.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
            finally:
                copy.close()
                source.close()

    def compact(self) -> None:
        """Move the log into the file and give free space back."""
        self.checkpoint()
        with self.translate_errors(), self._writer_lock:
            self.writer.execute("VACUUM")
            self.writer.execute("PRAGMA optimize")
        self.checkpoint()

    def checkpoint(self) -> None:
        """Move the log into the file."""
        with self.translate_errors(), self._writer_lock:
            self._read_something()
            self.writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _read_something(self) -> None:
        """Read something: a connection that has not done so since the log began does not move the log either."""
        self.writer.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def find_damage(self) -> list[str]:
        """Return what SQLite finds wrong with its pages."""
        try:
            with self.snapshot() as connection:
                found = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check(20)")]
        except LedgerBroken as error:
            return [str(error)]
        return [] if found == ["ok"] else found

    def size(self) -> int:
        """Return the bytes of the file and its log."""
        parts = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    def is_being_written(self) -> bool:
        """Return whether somebody is writing at this moment: to close it would wait."""
        if self._lock is None:
            return False
        free = self._lock.try_enter()
        if free:
            self._lock.__exit__()
        return not free

    def close(self) -> None:
        """Close every connection; the last one to go moves the log into the file."""
        self.closed = True
        self.engine.dispose()
        if self._writer is not None and self._lock is not None:
            with self.translate_errors(), self._lock:
                with suppress(sqlite3.Error):
                    self._read_something()
                self._claims.close()
                self._writer.close()
        if self._lock is not None:
            self._lock.close()
        self._writer = self._lock = None

    def abandon(self) -> None:
        """Let go of a write that was interrupted at some point nobody knows."""
        if self._writer is not None and self._lock is not None:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            self._lock.__exit__()

    def drop_connections(self) -> None:
        """Close what a forked process inherited.

        SQLite would take the parent's locks for the child's own; what the child wrote would be lost when the parent
        closes. The parent's locks are not touched by this.
        """
        self.engine.dispose()
        self._claims.drop()
        if self._writer is not None and self._lock is not None:
            self._writer.close()
            self._lock.close()
        self._writer = self._lock = None

    @property
    def dialect(self) -> Dialect:
        """How statements are spelled here."""
        return _build_dialect()


class _Transaction:
    """One write: take the lock, begin, commit; on any error roll back. One statement needs no begin and commit."""

    __slots__ = ("_backend", "_lock", "_single", "_writer")

    def __init__(self, backend: SqliteBackend, single: bool) -> None:
        self._backend = backend
        self._single = single
        self._lock = backend._writer_lock
        self._writer = backend.writer

    def __enter__(self) -> sqlite3.Connection:
        self._lock.__enter__()
        try:
            self._backend.check_in_place()
            self._backend._next = None  # another writer may have written since this one did
            if not self._single:
                if self._writer.in_transaction:  # Ctrl-C struck in the middle of ending the last write
                    self._writer.execute("ROLLBACK")
                self._writer.execute("BEGIN IMMEDIATE")
        except BaseException as error:
            self._roll_back(error)
            raise
        return self._writer

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if error is None and not self._single:
                self._writer.execute("COMMIT")  # a checkpoint that is due happens here too, under the lock
        except sqlite3.Error as failure:
            error = failure
        finally:
            if error is None:
                self._lock.__exit__()
            else:
                self._roll_back(error)

    def _roll_back(self, error: BaseException) -> None:
        """Roll back, let the lock go and say what SQLite said in our words."""
        backend = self._backend
        try:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
        finally:
            self._lock.__exit__()
            if isinstance(error, sqlite3.Error):
                if "I/O" in str(error):  # Linux forgets what it failed to write: a later success would prove nothing
                    backend.broken = str(error)
                raise backend.translate_error(error) from error


def _identify(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from every other, whatever it is called; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@cache
def _build_dialect() -> Dialect:
    """Return the one dialect of the process: what SQLAlchemy compiled for one it compiles again for another."""
    engine = create_engine("sqlite://", paramstyle="qmark")
    with engine.connect():  # it asks SQLite which version it is
        return engine.dialect


def _connect(path: Path, timeout: float, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(os.fsencode(path))}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)  # which SQLite knows before it loads a value
    connection.execute(f"PRAGMA cache_size = {-8 * 1024}")
    if mode.startswith("ro"):
        connection.execute("PRAGMA query_only = 1")
    return connection


def _connect_reader(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection to read with; it knows nothing of the ledger, which can so be forgotten at once."""
    try:
        return _connect(path, timeout, "ro")
    except sqlite3.OperationalError:
        if path.with_name(f"{path.name}-wal").exists():
            raise
        return _connect(path, timeout, "ro&immutable=1")  # a folder that cannot be written to, and no writer


def sync_new_file(path: Path) -> None:
    """Make a new file's name durable; SQLite itself overlooks a failure of this."""
    try:
        sync_folder(path.parent)
    except OSError as error:
        raise LedgerBroken(f"the folder {path.parent} could not be synced to disk: {error.strerror}") from None
