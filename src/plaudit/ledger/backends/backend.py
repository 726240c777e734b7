"""Where a ledger is kept: what a ledger asks of SQLite and PostgreSQL alike."""

import os
import reprlib
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import MultipleResultsFound, NoResultFound
from sqlalchemy.sql import ClauseElement

from plaudit.errors import LedgerBroken, LedgerBusy, LedgerError, PlauditError

UNREADABLE = (
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
    NoResultFound,
    MultipleResultsFound,
    struct.error,
)
"""What reading a row raises that no ledger has written."""


LARGEST_VALUE = 128 << 20
"""Bytes of a value: no ledger writes more, and what is larger is not read."""

RANGE = 16_384
"""Numbers that a writer on a server reserves at a time: as many as the largest block has records, one of a segment."""

OUT_OF_ORDER = "this block does not follow the last one of its writer"
"""What the trigger of a ledger says to a writer whose chain another process has moved on."""


class TooLarge(LedgerBroken):
    """A value is larger than any that a ledger holds."""


class WriteConflict(LedgerError):
    """The database refuses a row: another writer wrote it first, or somebody added a constraint."""

    def __init__(self, ledger: str, reason: str, constraint: str | None) -> None:
        """Keep the driver's `reason` and what it calls the constraint; None for the trigger that every ledger has."""
        super().__init__(f"{ledger}: {reason}")
        self.reason = reason
        self.constraint = constraint


class ConnectionLost(LedgerBusy):
    """The server went away; whether the last write is in the ledger has to be asked."""


class Backend(ABC):
    """A database that holds a ledger; writing goes through one connection, reading through a pool."""

    name: str
    """What errors call it: a path, or an address without its password."""
    read_only: bool
    closed: bool = False
    engine: Engine
    """Connections to read with."""
    segments: Any = None
    """The `Segments` beside the ledger, which opening it sets; None where it can have none."""
    _next: int | None = None
    """The next number, while this writer has its turn; None where others may have written since."""

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Open one view of the ledger, which later writes do not change."""
        self.check_open()
        with self.translate_errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @abstractmethod
    def migration(self) -> AbstractContextManager[Connection]:
        """Open a transaction that may change the tables, alone."""

    @abstractmethod
    def start_budget(self) -> None:
        """Begin to count how long the server keeps a write waiting, over all attempts to write it."""

    @abstractmethod
    def transaction(self, *, single: bool = False) -> AbstractContextManager[Any]:
        """Open a transaction to write: a cursor of the driver's. What it wrote is durable when the block ends.

        With `single`, one statement is written, which is a transaction by itself.
        """

    @abstractmethod
    def translate_errors(self) -> AbstractContextManager[None]:
        """Turn what the driver raises into our errors."""

    def take_turn(self, cursor: Any, *, rising: bool = False) -> None:  # noqa: B027  # every write to a file is a turn
        """Wait, inside a transaction, for the others that change what all writers share; until it ends, they wait.

        With `rising`, numbers that are reserved afterwards are higher than those of every earlier turn.
        """

    def take_over(self) -> None:  # noqa: B027  # a file knows no transactions
        """Put a ledger in order that was restored from a dump of another server; LedgerError where it is read-only."""

    def reserve(self, cursor: Any, count: int) -> int:
        """Return the first of `count` numbers in a row that no record has."""
        if self._next is None:
            row = cursor.execute("SELECT first + records FROM blocks ORDER BY first DESC LIMIT 1").fetchone()
            with report_damage(self.name, "the last block"):
                self._next = int(row[0]) if row else 1
        first = self._next
        self._next += count
        return first

    def has_committed(self, token: str, head: bytes) -> bool:
        """Return whether a write whose acknowledgement was lost is in the ledger; SQLite rolls such a write back."""
        return False

    @abstractmethod
    def claim(self, name: str) -> str | None:
        """Take a name for as long as this process lives; return who has it where another one does."""

    @abstractmethod
    def release(self, name: str) -> None:
        """Let others claim the name."""

    @abstractmethod
    def compact(self) -> None:
        """Give space back that nothing needs."""

    def find_damage(self) -> list[str]:
        """Return what the database itself finds wrong with its file."""
        return []

    @abstractmethod
    def size(self) -> int:
        """Return how many bytes the ledger takes."""

    @abstractmethod
    def close(self) -> None:
        """Close every connection."""

    def is_being_written(self) -> bool:
        """Return whether to close it now would wait for somebody who is writing."""
        return False

    def abandon(self) -> None:  # noqa: B027  # most backends need nothing
        """Let go of a write that was interrupted at some point nobody knows."""

    @abstractmethod
    def drop_connections(self) -> None:
        """Let go of the connections that a forked process inherited, without disturbing the parent's."""

    def render(self, statement: ClauseElement) -> str:
        """Return a statement as the driver takes it, with parameters by position."""
        return _compile(statement, self.dialect)

    @property
    @abstractmethod
    def dialect(self) -> Dialect:
        """How statements are spelled here."""

    def check_in_place(self) -> None:  # noqa: B027  # a server is no file
        """Raise LedgerBroken where the file was moved, removed or replaced since it was opened."""

    def check_not_own(self, path: str | os.PathLike[str]) -> None:  # noqa: B027  # a server is no file
        """Raise where a file to be written is the ledger itself."""

    def check_open(self) -> None:
        """Raise where the ledger was closed."""
        if self.closed:
            raise LedgerError(f"{self.name} is closed; open it again.")

    def check_writable(self) -> None:
        """Raise where the ledger was opened to be read."""
        if self.read_only:
            raise LedgerError(f"{self.name} was opened with read_only=True; open it again to write.")


@contextmanager
def report_damage(ledger: str, what: str) -> Iterator[None]:
    """Raise LedgerBroken where reading `what` fails as only rows fail that no ledger has written."""
    try:
        yield
    except PlauditError:
        raise
    except UNREADABLE as error:
        raise LedgerBroken(
            f"{ledger}: {what} cannot be read: it is damaged ({type(error).__name__}: {str(error)[:200]}). "
            "Nothing was changed; run verify to see what else is damaged."
        ) from error


def require_type(kind: type, *values: object) -> None:
    """Raise TypeError where a value that is there has another type: SQLite lets any column hold anything."""
    for value in values:
        if not (value is None or isinstance(value, kind)):
            raise TypeError(f"{reprlib.repr(value)} is not of type {kind.__name__}")


def read_bytes(value: Any) -> bytes:
    """Return what a column of bytes holds; TypeError where it holds a number, say, of which `bytes` makes zeros."""
    if value is None:
        raise TypeError("not bytes, or more of them than a ledger writes")
    return value if isinstance(value, bytes) else bytes(memoryview(value))


@lru_cache(maxsize=64)
def _compile(statement: ClauseElement, dialect: Dialect) -> str:
    return str(statement.compile(dialect=dialect))
