"""One writer at a time in a SQLite file, across processes.

SQLite before 3.51.3 can damage its write-ahead log when several connections write and checkpoint at the same time, so
every write and every checkpoint happens under this lock. It also wakes waiting writers sooner than SQLite's own.
"""

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_bytes

from plaudit.errors import LedgerError
from plaudit.ledger.places.turns import let_go, take


class WriterLock:
    """A lock on a file beside the ledger, in which the writer that had it last has left its mark."""

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
        take(self._file, self._name, self._timeout)
        os.lseek(self._file, 0, os.SEEK_SET)
        self.first = os.read(self._file, 8) != self._mark
        if self.first:
            os.lseek(self._file, 0, os.SEEK_SET)
            with suppress(OSError):  # a full disk: without a mark, this writer looks every time
                os.write(self._file, self._mark)

    def __exit__(self, *error: object) -> None:
        """Let the next writer in."""
        let_go(self._file)

    def close(self) -> None:
        """Close the lock's file."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def __del__(self) -> None:
        """Close the file of a ledger that nobody closed."""
        self.close()
