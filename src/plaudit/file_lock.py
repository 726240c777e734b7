"""Locks on files: one process at a time, by a lock that the system lets go when its holder dies."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from plaudit.errors import FileError, LedgerBusy

# A system has one of the two.
fcntl: Any = import_module("fcntl") if find_spec("fcntl") else None
msvcrt: Any = import_module("msvcrt") if find_spec("msvcrt") else None

_BEYOND = 1 << 62
"""Which byte Windows locks: it lets nobody write where somebody holds a lock, and no file is that long."""


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
    if try_lock(file):
        return
    end, pause = time.monotonic() + timeout, 0.0002
    while not try_lock(file):
        if time.monotonic() > end:
            raise LedgerBusy(
                f"another process has been writing to {name} for {timeout:g} s. Has it stopped in the middle of a "
                "write? "
                "Nothing was recorded; try again, or open it with a longer timeout=."
            )
        time.sleep(pause)
        pause = min(2 * pause, 0.01)


def try_lock(file: int) -> bool:
    """Take the lock unless another process, or another opened file, has it; return whether it is ours."""
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


@contextmanager
def lock_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder where it is missing, and keep other runs out of it; LedgerBusy where one is writing to it.

    The file `.lock` stays: what counts is who holds it, and the system lets it go when its holder dies.
    """
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        file = os.open(place / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    except FileExistsError:
        raise FileError(f"{place} is a file; name a folder.") from None
    except OSError as error:
        raise FileError(f"{place} cannot be created or written to: {error.strerror or error}") from None
    try:
        if not try_lock(file):
            raise LedgerBusy(f"another run is writing to {place}. Wait until it ends, or name another folder.")
        yield place
    finally:
        os.close(file)  # which releases the lock
