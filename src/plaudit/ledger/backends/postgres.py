"""A ledger in a PostgreSQL database, for many writers on many machines."""

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection, Engine, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine import URL, Dialect, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import QueuePool
from sqlalchemy.util import LRUCache

from plaudit.errors import InputError, LedgerBusy, LedgerError, MissingExtra, UnusableFile
from plaudit.ledger.backends.backend import OUT_OF_ORDER, RANGE, Backend, ConnectionLost, WriteConflict

try:
    import psycopg

    from plaudit.ledger.backends.postgres_wait import Budget, Connector, Unanswered
except ImportError as error:
    raise MissingExtra("a ledger in PostgreSQL needs psycopg. Install it: pip install 'plaudit[pg]'") from error

_DIALECT = postgresql.dialect(paramstyle="format")  # type: ignore[no-untyped-call]
_DIALECTS: dict[URL, Dialect] = {}
"""How statements are spelled on each server that was asked for its version."""
_COMPILED: LRUCache[Any, Any] = LRUCache(500)
"""Statements compiled for one of them, for all ledgers of the process."""
_LOCK = 7_203_417
"""The advisory lock under which everything is changed that writers share: chained tables, merged blocks, the tables."""


_FIND_HOLDER = """
SELECT pid, coalesce(host(client_addr), 'this machine') FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND datname = current_database() AND datid = database
AND classid = %s::bigint::oid AND objid = %s::bigint::oid AND objsubid = 1
"""
_TAKE_TURN = "SELECT set_config('lock_timeout', %(wait)s, true), pg_advisory_xact_lock(%(lock)s)"
_IS_AHEAD = "SELECT max(xact) >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint FROM blocks"
_PUT_IN_ORDER = f"""
UPDATE blocks
SET xact = xact - (SELECT max(xact) FROM blocks) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1
WHERE ({_IS_AHEAD})
"""
"""Moves all blocks, in their order, to before every transaction of this server that is still open."""


class PostgresBackend(Backend):
    """A ledger in a database of a server."""

    def __init__(self, address: str, *, read_only: bool, timeout: float) -> None:
        """Connect to the server."""
        self._url = _parse_url(address)
        self.name = _format_url(self._url)
        self.read_only = read_only
        self._timeout = timeout
        self._budget = Budget(timeout)
        plain = self._url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._connector = Connector(plain, self._budget, read_only=read_only)
        server = self._url.set(database=None)
        dialect = _DIALECTS.get(server) or _build_dialect()
        pool = QueuePool(self._connect_reader, pool_size=2, pre_ping=True, dialect=dialect)
        self.engine = Engine(pool, dialect, self._url, execution_options={"compiled_cache": _COMPILED})
        self._writer: psycopg.Connection[Any] | None = None
        self._claims: set[str] = set()
        self._session = 0
        """The server's process in which the claims are held."""
        self._end = 0
        """Where the range of numbers ends that this writer has reserved."""
        try:
            with self.translate_errors(), self.engine.connect() as connection:
                if server not in _DIALECTS:
                    dialect.initialize(connection)  # it asks the server which version it is
                    _DIALECTS[server] = dialect
        except ConnectionLost as error:
            raise LedgerBusy(f"{error} Is the server running? Are the user and the database correct?") from None

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Open one view of the ledger, which later writes do not change."""
        self.check_open()
        with self.translate_errors():
            with self._budget.share():
                connection = self.engine.connect()
            with self._budget.renew(), connection, connection.begin():
                yield connection

    @contextmanager
    def migration(self) -> Iterator[Connection]:
        """Open a transaction that may change the tables, alone."""
        self.check_writable()
        with self.translate_errors(), self._budget.share(), self.engine.connect() as connection:
            # A snapshot for all of it would be taken before the lock, and not show what was made while waiting for it.
            connection.execution_options(isolation_level="READ COMMITTED")
            with connection.begin():
                connection.exec_driver_sql(_TAKE_TURN, self._describe_turn())
                with self._budget.renew():
                    yield connection
                self._budget.start()  # for the commit

    def start_budget(self) -> None:
        """Begin to count how long the server keeps a write waiting."""
        self._budget.lost = False

    @contextmanager
    def transaction(self, *, single: bool = False) -> Iterator[Any]:
        """Open a transaction to write; what it wrote is durable when the block ends.

        One statement is one journey to the server. Of several, only those that are asked for a row wait for an answer:
        the others go with the commit.
        """
        self.check_writable()
        if not self._budget.lost:
            self._budget.start()
        numbers = self._next, self._end
        try:
            with self.translate_errors():
                if self._writer is None or self._writer.closed:
                    self._writer = self._connect()
                lost_claims = bool(self._claims) and self._session != self._writer.info.backend_pid
                with self._budget.renew():
                    if single and not lost_claims:
                        with self._writer.cursor() as cursor:
                            yield cursor
                    else:
                        with self._writer.pipeline(), self._writer.cursor() as cursor:
                            cursor.execute("BEGIN")
                            if lost_claims:
                                self._claim_again(cursor)
                            yield cursor
                            cursor.execute("COMMIT")
        except BaseException as error:
            lost = isinstance(error, ConnectionLost) or not isinstance(error, Exception)
            if lost:  # and may have used its numbers
                self._next = None
            else:
                self._next = numbers[0] if self._end == numbers[1] else self._end - RANGE
            self._end_transaction(lost=lost)
            self._budget.lost = isinstance(error, ConnectionLost)
            raise

    def _end_transaction(self, *, lost: bool) -> None:
        """Roll back what failed; hang up where the connection was lost, or Ctrl-C struck at some point nobody knows."""
        if not lost and self._writer is not None:
            try:
                if self._writer.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    self._writer.execute("ROLLBACK")
                return
            except psycopg.Error:
                pass
        self._hang_up()

    def take_turn(self, cursor: Any, *, rising: bool = False) -> None:
        """Wait for the others that change what all writers share; those that add blocks alone need no turn."""
        cursor.execute(_TAKE_TURN, self._describe_turn()).fetchone()
        if rising:
            self._next = None

    def reserve(self, cursor: Any, count: int) -> int:
        """Return the first of `count` numbers in a row that no record has: out of a range that only this writer has."""
        if self._next is None or self._next + count > self._end:
            self._next = int(cursor.execute("SELECT nextval('record_numbers')").fetchone()[0])
            self._end = self._next + RANGE
        first = self._next
        self._next += count
        return first

    def claim(self, name: str) -> str | None:
        """Take a name for as long as this session lives; return who has it where another one does."""
        with self.transaction() as cursor:
            holder = _lock_name(cursor, name)
            self._session = cursor.connection.info.backend_pid
        if holder is None:
            self._claims.add(name)
            return None
        return f"server process {holder[0]}, a connection from {holder[1]}"

    def release(self, name: str) -> None:
        """Let others claim the name."""
        self._claims.discard(name)
        if self._writer is not None and not self._writer.closed:  # else its session is gone, and its locks with it
            with self.transaction() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", (_number_name(name),))

    def _claim_again(self, cursor: Any) -> None:
        """Take every name in a new session; where the server has not noticed that the old one is gone, end it."""
        for name in sorted(self._claims):
            while (holder := _lock_name(cursor, name)) is not None:
                if holder[0] != self._session or self._budget.left <= 0:
                    raise LedgerError(
                        f"{self.name}: while the server was unavailable, another process (a connection from "
                        f"{holder[1]}) has "
                        f"started writing as {name}. Nothing was recorded; stop one of the two."
                    )
                cursor.execute("SELECT pg_terminate_backend(%s, 1000)", (holder[0],))
        self._session = cursor.connection.info.backend_pid

    def _hang_up(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with suppress(psycopg.Error):
                writer.close()

    def _connect_reader(self) -> Any:
        made = self._connector.connect(hurried=False)
        made.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        return made

    def _connect(self) -> "psycopg.Connection[Any]":
        try:
            return self._connector.connect(hurried=True)
        except psycopg.OperationalError as error:
            raise LedgerBusy(
                f"{self._describe_silence(error)} Nothing was recorded; try again when it answers."
            ) from error

    def take_over(self) -> None:
        """Put a ledger in order that was restored from a dump of another server, which counted transactions higher."""
        with self.snapshot() as connection:
            if not connection.exec_driver_sql(_IS_AHEAD).scalar():
                return
        if self.read_only:
            raise LedgerError(
                f"{self.name} was restored from a dump of another server, and the order of its records is still by "
                "that server's transactions. Open it once for writing to put it in order (`plaudit ledger compact` "
                "does)."
            )
        with self.migration() as connection:
            connection.exec_driver_sql(_PUT_IN_ORDER)

    def _describe_turn(self) -> dict[str, Any]:
        """Return how long to wait for the lock: less than is left, so that the server says who holds it."""
        seconds = min(self._timeout, 0.9 * self._budget.left)
        return {"wait": f"{max(1, round(1000 * seconds))}ms", "lock": _LOCK}

    def _describe_silence(self, error: "psycopg.Error") -> str:
        if isinstance(error, Unanswered | psycopg.errors.ConnectionTimeout):
            return f"{self.name} has not answered for {self._budget.seconds:g} s: the server or the network hangs."
        return f"{self.name} does not answer: {str(error).strip()}"

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Turn what the driver raises into our errors."""
        earlier = sys.exception()
        try:
            yield
        except (psycopg.Error, DBAPIError) as error:
            original = error.orig if isinstance(error, DBAPIError) else error
            if not isinstance(original, psycopg.Error):
                raise
            if (interrupt := _find_interrupt(error, earlier)) is not None:
                raise interrupt from None
            raise self._translate_error(original) from error

    def _translate_error(self, error: "psycopg.Error") -> Exception:
        message = str(error).strip()
        if isinstance(error, psycopg.errors.DeadlockDetected):
            return WriteConflict(self.name, message, None)
        if isinstance(error, psycopg.IntegrityError | psycopg.errors.RaiseException):
            reason = error.diag.message_primary or message
            constraint = error.diag.constraint_name or reason
            return WriteConflict(self.name, reason, None if reason == OUT_OF_ORDER else constraint)
        if isinstance(error, psycopg.errors.ProgramLimitExceeded):
            return InputError(
                f"{self.name}: {error.diag.message_primary or message}. A server indexes keys, runs, phases, decision "
                "classes and actors, at most some 2,700 bytes of each: put longer text into context=. "
                "Nothing was recorded."
            )
        if isinstance(error, psycopg.errors.DiskFull):
            return UnusableFile(
                f"{self.name}: the server's disk is full. Nothing was recorded; free some space and try again."
            )
        if isinstance(error, psycopg.errors.LockNotAvailable):
            return LedgerBusy(
                f"another process has been writing to {self.name} for {self._timeout:g} s. Has it stopped in "
                "the middle of a write? Nothing was recorded; try again, or open it with a longer timeout=."
            )
        if isinstance(error, psycopg.OperationalError):
            return ConnectionLost(self._describe_silence(error))
        return LedgerError(f"{self.name}: {message}")

    def has_committed(self, token: str, head: bytes) -> bool:
        """Return whether a write whose acknowledgement was lost is in the ledger."""
        with self.transaction() as cursor:
            row = cursor.execute("SELECT head FROM writers WHERE token = %s", (token,)).fetchone()
        return row is not None and bytes(row[0]) == head

    def compact(self) -> None:
        """Give space back and refresh what the planner knows."""
        self.check_writable()
        with (
            self.translate_errors(),
            self._budget.share(),
            self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
        ):
            connection.execute(text("VACUUM ANALYZE"))

    def size(self) -> int:
        """Return the bytes of the database."""
        with self.snapshot() as connection:
            return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())

    def close(self) -> None:
        """Close every connection."""
        self.closed = True
        self.engine.dispose()
        if self._writer is not None:
            if self._claims:  # the server notices a moment later that a session has ended
                with suppress(psycopg.Error), self._budget.share(), self._writer.transaction():
                    self._writer.execute("SELECT pg_advisory_unlock_all()")
            self._writer.close()
            self._writer = None

    def drop_connections(self) -> None:
        """Let go of the connections that a forked process inherited; psycopg closes none that is another process's."""
        self.engine.dispose(close=False)
        self._writer = self._next = None
        self._claims.clear()

    @property
    def dialect(self) -> Dialect:
        """How statements are spelled here."""
        return _DIALECT


def _find_interrupt(error: BaseException | None, earlier: BaseException | None) -> KeyboardInterrupt | None:
    """Return the Ctrl-C in whose place `error` was raised, if there was one since `earlier` was raised.

    After a Ctrl-C psycopg waits for the statement to end and leaves its pipeline, and raises what goes wrong there.
    """
    while error is not None and error is not earlier:
        if isinstance(error, KeyboardInterrupt):
            return error
        error = error.__context__
    return None


def _number_name(name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"plaudit {name}".encode()).digest()[:8], signed=True)


def _lock_name(cursor: Any, name: str) -> tuple[int, str] | None:
    """Take the lock of a name for the session; return the server's process that has it, and from where, if one does."""
    number = _number_name(name)
    if cursor.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()[0]:
        return None
    halves = (number >> 32) & 0xFFFFFFFF, number & 0xFFFFFFFF
    found: tuple[int, str] | None = cursor.execute(_FIND_HOLDER, halves).fetchone()
    return found or (0, "an unknown address")


def _build_dialect() -> Dialect:
    return PGDialect_psycopg(dbapi=psycopg, isolation_level="REPEATABLE READ")  # type: ignore[no-untyped-call]


def _parse_url(address: str) -> URL:
    try:
        url = make_url(address)
        if "@" in (url.host or ""):
            raise ValueError("an @ in the password must be written as %40")
    except (ArgumentError, ValueError):
        raise LedgerError(
            "this is not a database address; write postgresql://user:password@host:5432/database. In the "
            "password, write @ as %40, / as %2F and : as %3A."
        ) from None
    return url.set(drivername="postgresql+psycopg")


def _format_url(url: URL) -> str:
    """Return an address for people: no password, wherever it was written."""
    secret = [name for name in url.query if "password" in name.lower()]
    plain = url.set(drivername="postgresql").difference_update_query(secret)
    return plain.render_as_string(hide_password=True)
