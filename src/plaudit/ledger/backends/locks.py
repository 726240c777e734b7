"""The locks of a ledger in a file, by files beside it: one writer at a time, and names that one live process has."""

import errno
import json
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from plaudit.errors import LedgerError
from plaudit.file_lock import acquire_lock, release_lock, try_lock

_NEEDED = "Writers need this file to take turns: move it away, or keep the ledger elsewhere."


class WriterLock:
    """One writer at a time in a SQLite file, by a lock on a file beside it, into which nothing is written.

    SQLite before 3.51.3 can damage its write-ahead log when several connections write and checkpoint at the same time,
    so every write and every checkpoint happens under this lock. It also wakes waiting writers sooner than SQLite's own.
    """

    def __init__(self, ledger: Path, name: str, timeout: float) -> None:
        """Open the lock's file, which stays there; `timeout` is how many seconds to wait for another writer."""
        self._file = -1
        self._name = name
        self._timeout = timeout
        self._file = _open_lock_file(ledger.with_name(f"{ledger.name}.lock"), ledger)

    def __enter__(self) -> None:
        """Wait for the lock; LedgerBusy if another writer keeps it for too long."""
        acquire_lock(self._file, self._name, self._timeout)

    def try_enter(self) -> bool:
        """Take the lock where nobody has it; return whether it is ours."""
        return try_lock(self._file)

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


class ClaimedNames:
    """Names that this process has for itself, until it releases them or ends.

    They stand in a file of its own in a folder beside the ledger. The file is locked while the process lives, so that
    one without a lock was left by a process that was killed. Use it under the `WriterLock` alone.
    """

    def __init__(self, ledger: Path) -> None:
        """Begin with no name, and no file."""
        self._folder = ledger.with_name(f"{ledger.name}.writers")
        self._path = self._folder / f"{os.getpid()}-{token_hex(8)}.json"
        self._file = -1
        self._names: set[str] = set()

    def take(self, name: str) -> str | None:
        """Take a name; return who has it, where another process, or another ledger of this one, does."""
        for holder, names in self._read_others():
            if name in names:
                return holder
        self._names.add(name)
        self._write()
        return None

    def release(self, name: str) -> None:
        """Let others take the name."""
        self._names.discard(name)
        self._write()

    def close(self) -> None:
        """Release every name."""
        self._names.clear()
        self._write()

    def drop(self) -> None:
        """Leave the names to the process that this one was forked from."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def _read_others(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the other processes that live, in words, with their names; remove what dead ones left."""
        for path in sorted(self._folder.glob("*.json")):
            if path == self._path:
                continue
            with suppress(OSError, ValueError, KeyError, TypeError):  # removed meanwhile, or not a file of ours
                file = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
                try:
                    if try_lock(file):
                        path.unlink()
                        continue
                    with open(file, encoding="utf-8", closefd=False) as stream:
                        said = json.load(stream)
                    yield f"process {int(said['process'])} on {str(said['host'])[:100]}", list(said["names"])
                finally:
                    os.close(file)

    def _write(self) -> None:
        """Write the names of this process; without any, it has no file."""
        if not self._names:
            if self._file >= 0:
                with suppress(OSError):
                    self._path.unlink()
                self.drop()
            with suppress(OSError):
                self._folder.rmdir()  # unless others have names
            return
        if self._file < 0:
            self._folder.mkdir(exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
            try_lock(self._file)
        said = {"process": os.getpid(), "host": socket.gethostname(), "names": sorted(self._names)}
        os.lseek(self._file, 0, os.SEEK_SET)
        os.truncate(self._file, 0)
        os.write(self._file, json.dumps(said).encode())

    def __del__(self) -> None:
        """Close the file of a ledger that nobody closed."""
        self.drop()


def _open_lock_file(path: Path, ledger: Path) -> int:
    """Return a lock's file, opened or made; LedgerError where there is something else under its name."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        file = os.open(path, flags, 0o666)
    except OSError as error:
        what = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise LedgerError(f"{path} cannot be opened: {what}. {_NEEDED}") from None
    try:
        wrong = _find_foreign(os.fstat(file), path, ledger)
    except OSError as error:
        wrong = str(error.strerror)
    if wrong is not None:
        os.close(file)
        raise LedgerError(f"{path} is not a ledger's lock file: {wrong}. It was left unchanged. {_NEEDED}")
    return file


def _find_foreign(found: os.stat_result, path: Path, ledger: Path) -> str | None:
    """Return what tells a file from the lock that plaudit makes; None where nothing does."""
    if not stat.S_ISREG(found.st_mode) or path.is_symlink():  # Windows follows links
        return "it is not a regular file"
    if found.st_nlink > 1:
        return "it has a second name (a hard link)"
    if found.st_size:
        return f"it has {found.st_size:,} bytes, but a lock file is empty"
    owners = {os.stat(place).st_uid for place in (ledger, ledger.parent) if place.exists()}
    if os.name != "nt" and found.st_uid not in {os.geteuid(), 0, *owners}:
        return f"it belongs to user {found.st_uid}, who owns neither the ledger nor its folder"
    return None
