"""Locks on files: one process at a time, by a lock that the system lets go when its holder dies."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from secrets import token_bytes
from typing import Any

from plaudit.errors import LedgerBusy, LedgerError

# A system has one of the two.
fcntl: Any = import_module("fcntl") if find_spec("fcntl") else None
msvcrt: Any = import_module("msvcrt") if find_spec("msvcrt") else None

_BEYOND = 1 << 62
"""Which byte Windows locks: it lets nobody write where somebody holds a lock, and no file is that long."""


class WriterLock:
    """One writer at a time in a SQLite file, by a file beside it in which the last writer has left its mark.

    SQLite before 3.51.3 can damage its write-ahead log when several connections write and checkpoint at the same time,
    so every write and every checkpoint happens under this lock. It also wakes waiting writers sooner than SQLite's own.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        """Open the lock's file, which stays there; `timeout` is how many seconds to wait for another writer."""
        self._file = -1
        self._name = os.fspath(path.with_suffix(""))
        self._timeout = timeout
        self._mark = token_bytes(8)
        self.first = True
        """Whether another writer may have written since this one did last."""
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise LedgerError(f"{path} cannot be opened: {error.strerror}. Writers need it to take turns.") from None

    def __enter__(self) -> None:
        """Wait for the lock; LedgerBusy if another writer keeps it for too long."""
        acquire_lock(self._file, self._name, self._timeout)
        os.lseek(self._file, 0, os.SEEK_SET)
        self.first = os.read(self._file, 8) != self._mark
        if self.first:
            os.lseek(self._file, 0, os.SEEK_SET)
            with suppress(OSError):  # a full disk: without a mark, this writer looks every time
                os.write(self._file, self._mark)

    def __exit__(self, *error: object) -> None:
        """Let the next writer in."""
        release_lock(self._file)

    def close(self) -> None:
        """Close the lock's file."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def __del__(self) -> None:
        """Close the file of a ledger that nobody closed."""
        self.close()


@contextmanager
def hold_lock(file: int, name: str, timeout: float) -> Iterator[None]:
    """Keep every other process out; LedgerBusy if one does not end in `timeout` seconds."""
    acquire_lock(file, name, timeout)
    try:
        yield
    finally:
        release_lock(file)


def acquire_lock(file: int, name: str, timeout: float) -> None:
    """Wait for the lock; LedgerBusy if another process does not release it in `timeout` seconds."""
    if _try_lock(file):
        return
    end, pause = time.monotonic() + timeout, 0.0002
    while not _try_lock(file):
        if time.monotonic() > end:
            raise LedgerBusy(
                f"another process has been writing to {name} for {timeout:g} s. Is one stopped in the middle? "
                "Nothing was recorded; try again, or open it with a longer timeout=."
            )
        time.sleep(pause)
        pause = min(2 * pause, 0.01)


def _try_lock(file: int) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            os.lseek(file, _BEYOND, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    except (BlockingIOError, PermissionError):  # Windows says the latter
        return False
    return True


def release_lock(file: int) -> None:
    """Let the next process in."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_UN)
    else:
        os.lseek(file, _BEYOND, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
