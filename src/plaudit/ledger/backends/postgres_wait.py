"""Waiting for a PostgreSQL server: connections, locks and answers within one budget of seconds.

A server that stands still keeps accepting what it is sent, so no timeout of TCP's strikes, and none of its own.
Therefore the time is taken here: whatever psycopg waits for, it waits no longer than the budget lasts.
"""

import math
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg

Result = TypeVar("Result")

_FINAL = (
    "authentication failed",
    "does not exist",
    "no pg_hba.conf entry",
    "no password supplied",
    "not permitted",
    "not currently accepting connections",
    "could not translate host name",
    "failed to resolve host",
)
"""What a server or resolver says of an address that will not become right by waiting; any other failure may pass."""


LEAST_WAIT = 1.0
"""Seconds that a server on a network needs at least."""


class Unanswered(psycopg.OperationalError):
    """The server has not answered within the budget; the connection is closed."""


class Budget(threading.local):
    """How long a thread waits for the server: until `end`, over every attempt, or anew for each answer of a turn."""

    def __init__(self, seconds: float) -> None:
        """Start."""
        self.seconds = max(LEAST_WAIT, seconds)
        self._renewed = False
        self.lost = False
        """Whether a write was lost: asking for it, and writing it again, have what is left and no more."""
        self.start()

    def start(self) -> None:
        """Have all of it again."""
        self._end = time.monotonic() + self.seconds

    @property
    def left(self) -> float:
        """Seconds that are left; none or fewer where it is spent."""
        return self._end - time.monotonic()

    @contextmanager
    def share(self) -> Iterator[None]:
        """Let everything in the block wait for no longer than this, all together."""
        with self._set_renewed(False):
            self.start()
            yield

    @contextmanager
    def renew(self) -> Iterator[None]:
        """Let every statement in the block have all of it."""
        with self._set_renewed(True):
            yield

    def start_statement(self) -> None:
        """Have all of it again where every statement does."""
        if self._renewed:
            self.start()

    @contextmanager
    def _set_renewed(self, renewed: bool) -> Iterator[None]:
        before, self._renewed = self._renewed, renewed
        try:
            yield
        finally:
            self._renewed = before


class Connector:
    """Makes connections to one server that wait no longer than a budget lasts."""

    def __init__(self, address: str, budget: Budget, *, read_only: bool) -> None:
        """Keep the address; nothing is opened yet. Where it is `read_only`, the server itself refuses every write."""
        milliseconds = math.ceil(1000 * budget.seconds)
        self._address = address
        self._budget = budget
        self._options: dict[str, Any] = {
            "application_name": "plaudit",
            "connect_timeout": math.ceil(budget.seconds),  # for each address of the host; the budget is for all
            "tcp_user_timeout": milliseconds,
            "keepalives_idle": math.ceil(budget.seconds),
        }
        # A client that vanishes in the middle of its turn would keep its lock for hours otherwise.
        self._settings = (
            f"SET synchronous_commit = on; SET lock_timeout = {milliseconds}; "
            f"SET tcp_keepalives_idle = {math.ceil(budget.seconds)}; "
            "SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"
            f"{'; SET default_transaction_read_only = on' if read_only else ''}"
        )

    def connect(self, *, hurried: bool) -> "psycopg.Connection[Any]":
        """Return a connection, waiting for a server that is starting.

        One that is `hurried` gives up when the budget is spent; another one only where the server answers nobody, for a
        long statement may have its reasons.
        """
        pause = 0.02
        while True:
            try:
                made = self._open(None if hurried else self._answers)
                made.autocommit = True
                made.execute(self._settings)
                made.autocommit = hurried
                return made
            except psycopg.OperationalError as error:
                if self._budget.left <= 0 or any(sign in str(error) for sign in _FINAL):
                    raise
            time.sleep(max(0.0, min(pause, self._budget.left)))
            pause = min(2 * pause, 0.5)

    def _open(self, answers: Callable[[], bool] | None) -> "psycopg.Connection[Any]":
        return _build_class(self._budget, answers).connect(self._address, **self._options)

    def _answers(self) -> bool:
        """Return whether the server answers somebody who connects; that it refuses them is an answer too."""
        try:
            self._open(None).close()
        except psycopg.OperationalError as error:
            return "FATAL" in str(error)
        return True


def _build_class(budget: Budget, answers: Callable[[], bool] | None) -> "type[psycopg.Connection[Any]]":
    class BoundedConnection(psycopg.Connection[Any]):
        @classmethod
        def _connect_gen(cls, *arguments: Any, **options: Any) -> Any:
            return _bound(super()._connect_gen(*arguments, **options), check)

        def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
            budget.start_statement()
            try:
                return super().wait(_bound(gen, check), *arguments, **options)
            except Unanswered:
                self.pgconn.finish()  # an answer that came now would be taken for that of the next statement
                raise

    def check() -> None:
        if answers is not None and budget.left < budget.seconds / 2 and answers():
            budget.start()
        if budget.left <= 0:
            raise Unanswered(f"no answer within {budget.seconds:g} s")

    return BoundedConnection


def _bound(work: Generator[Any, Any, Result], check: Callable[[], None]) -> Generator[Any, Any, Result]:
    """Do the work of a generator of psycopg's; call `check` each time nothing has come for a while."""
    ready = None
    while True:
        try:
            wanted = work.send(ready)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        ready = yield wanted
        if not ready:
            check()
