"""Turns in an open file: one process at a time, by a lock that the system lets go when its holder dies."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from plaudit.errors import LedgerBusy

# A system has one of the two.
fcntl: Any = import_module("fcntl") if find_spec("fcntl") else None
msvcrt: Any = import_module("msvcrt") if find_spec("msvcrt") else None

_BEYOND = 1 << 62
"""Which byte Windows locks: it lets nobody write where somebody holds a lock, and no file is that long."""


@contextmanager
def turn(file: int, name: str, timeout: float) -> Iterator[None]:
    """Keep every other process from taking its turn; LedgerBusy if one does not end in `timeout` seconds."""
    take(file, name, timeout)
    try:
        yield
    finally:
        let_go(file)


def take(file: int, name: str, timeout: float) -> None:
    """Wait for a turn; LedgerBusy if another process does not end its own in `timeout` seconds."""
    if _taken(file):
        return
    end, pause = time.monotonic() + timeout, 0.0002
    while not _taken(file):
        if time.monotonic() > end:
            raise LedgerBusy(
                f"another process has been writing to {name} for {timeout:g} s. Is one stopped in the middle? "
                "Nothing was recorded; try again, or open it with a longer timeout=."
            )
        time.sleep(pause)
        pause = min(2 * pause, 0.01)


def _taken(file: int) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            os.lseek(file, _BEYOND, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    except (BlockingIOError, PermissionError):  # Windows says the latter
        return False
    return True


def let_go(file: int) -> None:
    """End a turn."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_UN)
    else:
        os.lseek(file, _BEYOND, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
