"""Group commit: records gathered for a moment and made durable together."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, NoReturn, Self

from plaudit.errors import KeyConflict, LedgerError, VersionConflict
from plaudit.ledger.storage.codec import PackedRecord
from plaudit.ledger.storage.store import Store
from plaudit.reward.signal import Signal


class Receipt:
    """What became of a record: buffered, until it is durable or has failed."""

    __slots__ = ("_at", "_group")

    def __init__(self, group: "_Group", at: int) -> None:
        self._group = group
        self._at = at

    @property
    def state(self) -> str:
        """`buffered`, `durable` or `failed`."""
        if not self._group.done.is_set():
            return "buffered"
        return "durable" if self._error is None else "failed"

    @property
    def _error(self) -> BaseException | None:
        return self._group.error or self._group.errors.get(self._at)

    @property
    def durable(self) -> bool:
        """Whether the record will survive a loss of power."""
        return self.state == "durable"

    @property
    def id(self) -> int | None:
        """The record's number; None until it is durable."""
        return self._group.numbers[self._at] if self.durable else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the record is durable and return its number; raise what went wrong if it could not be written."""
        if not self._group.done.wait(timeout):
            raise TimeoutError(f"the record is not durable after {timeout:g} s; it is still buffered.")
        if self._error is not None:
            raise self._error
        number = self._group.numbers[self._at]
        assert number is not None  # what has no error has a number
        return number

    def __repr__(self) -> str:
        return f"Receipt({self.state}{'' if self.id is None else f', id={self.id}'})"


class _Group:
    """Records that are committed together."""

    __slots__ = ("begun", "done", "error", "errors", "numbers", "records")

    def __init__(self) -> None:
        self.records: list[PackedRecord] = []
        self.numbers: list[int | None] = []
        self.error: BaseException | None = None
        self.errors: dict[int, BaseException] = {}
        """What went wrong with single records, where the others could be written without them."""
        self.done = threading.Event()
        self.begun = time.monotonic()


class BufferedWriter:
    """Gathers records and commits them together.

    Leaving its `with` block commits what is left; so does closing the ledger, and so does the end of the program. What
    went wrong is raised by the receipt, and by the next `record`, `flush` or `close` of the writer. A key or a label
    that is taken fails its own record; a disk or a server that refuses fails all that were to be written together.
    """

    def __init__(
        self,
        store: Store,
        write: Callable[[Sequence[PackedRecord]], list[int]],
        *,
        max_records: int,
        max_delay: float,
    ) -> None:
        """Start the thread that commits, by `write`."""
        try:
            wrong = max_records < 1 or not max_delay >= 0
        except TypeError:
            wrong = True
        if wrong:
            raise LedgerError("a writer needs max_records of at least 1 and max_delay of at least 0.")
        store.backend.check_writable()
        self._pack = store.pack
        self._write = write
        self._max_records = max_records
        self._max_delay = max_delay
        self._group = _Group()
        self._changed = threading.Condition()
        self._committing: _Group | None = None
        self._failure: BaseException | None = None
        self._closing = False
        self._flushing = False
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._commit_groups, name="plaudit-ledger", daemon=True)
        self._thread.start()

    def record(
        self,
        signal: Signal,
        *,
        key: str | None = None,
        run: str | None = None,
        episode: str | int | None = None,
        step: int | None = None,
        phase: str | None = None,
        decision_class: str | None = None,
        actor: str | None = None,
        context: Any = None,
        at: datetime | None = None,
    ) -> Receipt:
        """Buffer a record, as `Ledger.record` takes it, and return its receipt at once."""
        if self._process != os.getpid():
            self._refuse_process()
        scope = run, phase, decision_class, actor
        record = self._pack(signal, key, scope, episode, step, context, at)
        with self._changed:
            while len(self._group.records) >= self._max_records and not self._closing:
                self._changed.wait()  # the disk is slower than the caller: do not grow without bounds
            if self._closing:
                raise LedgerError("this writer is closed.")
            self._raise_failure()
            group = self._group
            group.records.append(record)
            count = len(group.records)
            if count == 1:
                group.begun = time.monotonic()
            if count == 1 or count >= self._max_records:
                self._changed.notify_all()
        return Receipt(group, count - 1)

    def flush(self) -> None:
        """Wait until everything recorded so far is durable; raise what went wrong since the last call."""
        if self._process != os.getpid():
            self._refuse_process()
        with self._changed:
            group, committing = self._group, self._committing
            if group.records:
                self._flushing = True
                self._changed.notify_all()
        if committing is not None:
            committing.done.wait()
        if group.records:
            group.done.wait()
        self._raise_failure()

    def close(self) -> None:
        """Make everything durable and stop; raise what went wrong since the last `flush`."""
        if self._process != os.getpid():  # what waits here is the parent's, which commits it
            return
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        self._raise_failure()

    def _refuse_process(self) -> NoReturn:
        raise LedgerError("this writer belongs to the process it was made in; call ledger.writer() here.")

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _commit_groups(self) -> None:
        while True:
            with self._changed:
                while not self._is_due():
                    if self._closing:
                        return
                    left = self._max_delay - (time.monotonic() - self._group.begun) if self._group.records else None
                    self._changed.wait(left)
                group = self._committing = self._group
                self._group = _Group()
                self._flushing = False
                self._changed.notify_all()
            try:
                self._commit(group)
            except BaseException as error:
                group.error = self._failure = error
            finally:
                group.done.set()
                self._committing = None
                group.records = []

    def _commit(self, group: _Group) -> None:
        try:
            group.numbers = [*self._write(group.records)]
        except (KeyConflict, VersionConflict):  # one of them is at fault: the others are written
            for at, record in enumerate(group.records):
                try:
                    group.numbers += self._write([record])
                except (KeyConflict, VersionConflict) as error:
                    group.numbers.append(None)
                    group.errors[at] = error
                    self._failure = self._failure or error

    def _is_due(self) -> bool:
        records = self._group.records
        if not records:
            return False
        waited = time.monotonic() - self._group.begun >= self._max_delay
        return waited or self._closing or self._flushing or len(records) >= self._max_records

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
