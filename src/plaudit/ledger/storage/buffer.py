"""The write buffer: what is recorded bit by bit, gathered for a moment and written together by a thread.

It means the same for records, which get a receipt each, and for the steps of running environments, which get none:

- `flush` returns when everything that was taken before is durable.
- A write that fails is raised by the next call, and what it held is kept and written with the next write.
- Callers wait where the buffer is full, because the disk is slower than they are.
- Ctrl-C never interrupts a write, because it strikes in the main thread, and other threads write.
- `kill -9` takes what waits with it. A forked process begins with nothing: its parent writes what waits.
"""

import math
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol, Self

from plaudit.errors import CommitUnknown, KeyConflict, LedgerError, PlauditError, VersionConflict
from plaudit.ledger.context import Scope, to_microseconds, validate_scope
from plaudit.ledger.storage.codec import Block, PackedRecord, RecordLayout
from plaudit.ledger.storage.steps import StepStream
from plaudit.ledger.storage.store import Store
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal

MOST_WAITING = 65_536
"""How many steps of one stream may wait, and how many records a write that fails may keep."""

_EARLY, _LATE = 0.5, 0.75
"""When, as a part of the time that a step may wait, the thread begins to write, and when a step waits for it."""

_LOOK = 0.25
"""How often, in seconds, the thread looks whether a stream is half full."""


class Receipt:
    """The state of a record in a buffered writer: buffered, then durable or failed.

    Example:
        ```python
        with ledger.writer() as writer:
            receipt = writer.record(signal, run="night-3", step=41)
            number = receipt.wait()  # durable from here on
        ```
    """

    __slots__ = ("_error", "_number", "_record", "_settled")
    count = 1

    def __init__(self, record: PackedRecord, settled: threading.Condition) -> None:
        self._settled = settled
        self._record: PackedRecord | None = record
        self._number: int | None = None
        self._error: BaseException | None = None

    @property
    def state(self) -> str:
        """`buffered`, `durable` or `failed`."""
        return "durable" if self.durable else "failed" if self._record is None else "buffered"

    @property
    def durable(self) -> bool:
        """Whether the record will survive a loss of power."""
        return self._number is not None

    @property
    def id(self) -> int | None:
        """The record's number; None until it is durable."""
        return self._number

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the record is durable.

        A record that is still `buffered` after an error is written with the next ones: do not record it again.

        Args:
            timeout: Seconds to wait; without limit if omitted.

        Returns:
            The number of the record.

        Raises:
            TimeoutError: The record is not durable yet. Any other error is the reason why it could not be written.
        """
        if self._number is None and self._error is None:
            with self._settled:
                if not self._settled.wait_for(lambda: self.durable or self._error is not None, timeout):
                    raise TimeoutError(f"the record is not durable after {timeout:g} s; it is still buffered.")
        if self._number is None:
            assert self._error is not None
            raise self._error
        return self._number

    def _settle(self, number: int) -> None:
        self._number, self._record = number, None

    def _refuse(self, error: BaseException, *, for_good: bool) -> None:
        self._error = error
        if for_good:
            self._record = None

    def __repr__(self) -> str:
        return f"Receipt({self.state}{'' if self.id is None else f', id={self.id}'})"


class Source(Protocol):
    """Where steps come from that are taken later than they happened."""

    def drain(self, timeout: float | None) -> None:
        """Wait until all of them are taken; at once in the thread that takes them."""
        ...


class WriteBuffer:
    """Gathers records and steps until a thread writes them.

    Leaving its `with` block writes what is left; so does closing the ledger, and so does the end of the program. A key
    or a label that is taken fails its own record alone.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        pack: Callable[..., PackedRecord],
        write: Callable[[Sequence[PackedRecord]], list[int]],
        write_blocks: Callable[[Sequence[Block]], object],
        *,
        max_records: int = MOST_WAITING,
        max_delay: float = threading.TIMEOUT_MAX,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """Begin with nothing; `open_store` raises where the ledger is closed, and both writers write all or nothing."""
        try:
            wrong = max_records < 1 or not max_delay >= 0
        except TypeError:
            wrong = True
        if wrong:
            raise LedgerError("a writer needs max_records of at least 1 and max_delay of at least 0.")
        open_store().backend.check_writable()
        self.now: Callable[[], int] = time.time_ns if clock is None else lambda: 1000 * to_microseconds(clock())
        """The ledger's clock, in nanoseconds."""
        self._open_store, self._pack, self._write_records, self._write_blocks = open_store, pack, write, write_blocks
        self._max_records, self._delay, self._deadline = max_records, max_delay, math.inf
        self._receipts: deque[Receipt] = deque()
        self._streams: dict[tuple[RecordLayout, Scope, int | None], StepStream] = {}
        self._kept: list[Block | Receipt] = []
        self.sources: weakref.WeakSet[Source] = weakref.WeakSet()
        """What steps are still on their way from: a flush waits for these."""
        self._closed = False
        self.begin_process()
        BUFFERS.add(self)

    def begin_process(self) -> None:
        """Begin with nothing and without a thread: in a process that was forked, the parent writes what waits."""
        self.process = object()
        """What tells the process from the one that it was forked from."""
        self._settled = threading.Condition()
        """Notified when receipts have changed."""
        self._attend_always()
        self._failure: BaseException | None = None
        self._lost = 0
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closing = threading.RLock()
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._safe_until = time.monotonic()
        """The moment before which everything is durable."""
        parent = LedgerError("it was recorded before this process forked; the parent process writes it.")
        self._refuse([*self._kept, *_drain(self._receipts)], parent, for_good=True)
        self._kept = []
        for stream in self._streams.values():
            stream.drop()

    # -- what is recorded -------------------------------------------------------------------------------------------

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
        scope = run, phase, decision_class, actor
        receipt = Receipt(self._pack(signal, key, scope, episode, step, context, at), self._settled)
        waiting = self._receipts
        if self._closed or self._failure is not None or len(waiting) >= 2 * self._max_records:
            self.attend(full=True)
        with self._starting:
            if self._closed:
                raise self._build_closed()
            waiting.append(receipt)
        if time.time_ns() >= self.attend_at:
            self._start_thread()
        if len(waiting) >= self._max_records:
            self._wake.set()
        return receipt

    def open_stream(
        self,
        reward: Reward,
        *,
        run: str | None,
        actor: str | None,
        envs: int | None,
        sample_rate: float | None = None,
    ) -> StepStream:
        """Return where to add the steps of a reward, run and actor; InputError where a name cannot be stored.

        Add a step to what waits there, then `attend` if the moment `attend_at` has come.
        """
        scope = validate_scope.__wrapped__(run, None, None, actor, sample_rate)  # names that have no hash are told too
        store = self._open_store()
        kind = store.specs.get_layout(reward), scope, envs
        with self._starting:
            if kind not in self._streams:
                most = int(MOST_WAITING / (sample_rate or 1))
                stream = StepStream(*kind, most=most, segments=store.writer.segments)
                self._streams = {**self._streams, kind: stream}  # a new one: threads may be reading the old
            return self._streams[kind]

    def flush_within(self, seconds: float) -> None:
        """Let no step wait longer than this; where several ask, the shortest time holds."""
        self._delay = min(self._delay, _EARLY * seconds)
        self._deadline = min(self._deadline, _LATE * seconds)
        self._attend_always()
        self._wake.set()

    def attend(self, *, full: bool = False) -> None:
        """See that a thread is at work, raise what went wrong, and wait where it is too slow or the buffer is full.

        Raises:
            LedgerError: The buffer is closed.
        """
        if self._closed:
            raise self._build_closed()
        self._start_thread()
        self._raise_failure()
        if full or time.monotonic() >= self._safe_until + self._deadline:
            self.flush()

    def flush(self, timeout: float | None = None) -> None:
        """Write what waits, for no longer than `timeout` seconds, and raise what went wrong since the last time."""
        self._drain_sources(timeout)
        self._write_aside(timeout)
        self._raise_failure()

    def close(self) -> None:
        """Write what waits for the last time; closing twice is no error."""
        self._drain_sources(None)
        with self._closing:  # whoever closes it too waits for the last write: the ledger is closed next
            with self._starting:
                if self._closed:
                    return
                self._closed = True  # before the last write: what misses it is told
                self._attend_always()
            try:
                self._wake.set()
                self._write_aside(None)
            except BaseException:  # Ctrl-C: nothing is written later, and only a second one does not wait
                self._write()
                raise
            finally:
                if (thread := self._thread) is not None and thread is not threading.current_thread():
                    thread.join(_LOOK)
                self._give_up()
            self._raise_failure()

    # -- writing ----------------------------------------------------------------------------------------------------

    def _drain_sources(self, timeout: float | None) -> None:
        for source in list(self.sources):
            source.drain(timeout)

    def _attend_always(self) -> None:
        self.attend_at: float = 0
        """The next moment, in nanoseconds, at which whoever adds something has to `attend`: 0 is the very next one.

        By the system's clock: where a ledger has another one, or this one is set, a step attends at another moment.
        """

    def _start_thread(self) -> None:
        with self._starting:
            if self._thread is None:
                self._wake.clear()
                self._safe_until = time.monotonic()
                thread = threading.Thread(target=self._write_regularly, name="plaudit-writer", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # there are too many threads, or Python is ending
                    self._write()
                    return
                self._thread = thread
            if not (self._closed or self._writing.locked()):
                left = self._safe_until + self._deadline - time.monotonic()
                self.attend_at = time.time_ns() + 1e9 * left

    def _write_regularly(self) -> None:
        """Write what came, until nothing does: a buffer that nothing uses keeps no ledger open."""
        while True:
            self._wait_until_due()
            if self._has_waiting():
                self._write()
                continue
            with self._starting:
                self._attend_always()  # before looking again: whoever comes now starts another thread
                if not self._has_waiting():
                    self._thread = None
                    return

    def _wait_until_due(self) -> None:
        """Wait until it is time to write, or the buffer is half full, or it is woken."""
        due = time.monotonic() + self._delay
        while not self._closed and (left := due - time.monotonic()) > 0 and not self._wake.wait(min(left, _LOOK)):
            if any(len(stream.waiting) >= stream.most // 2 for stream in self._streams.values()):
                break
        self._wake.clear()

    def _write_aside(self, timeout: float | None) -> None:
        """Write in a thread of its own, which Ctrl-C does not interrupt."""
        thread = threading.Thread(target=self._write, name="plaudit-flush", daemon=False)
        try:
            thread.start()
        except RuntimeError:
            self._write()
        else:
            thread.join(timeout)

    def _write(self) -> None:
        with self._writing:
            self._attend_always()  # as long as this takes, every step looks how many wait, and for how long
            begun = time.monotonic()
            try:
                self._kept.extend(self._take_waiting())
                self._commit(self._kept)
                self._kept, self._safe_until = [], begun
            except BaseException as error:
                unknown = isinstance(error, CommitUnknown) or not isinstance(error, Exception)
                left = [item for item in self._kept if isinstance(item, Block) or item.state == "buffered"]
                self._refuse(left, error, for_good=unknown)
                self._kept = [] if unknown else left  # to write it again might write it twice
                self._fail(error)
                if _count(self._kept) > MOST_WAITING:  # whoever goes on in spite of errors does not fill the memory
                    self._give_up()
            with self._settled:
                self._settled.notify_all()

    def _take_waiting(self) -> Iterator["Block | Receipt"]:
        yield from _drain(self._receipts)
        for stream in self._streams.values():
            taken = _drain(stream.waiting)
            if not taken:
                continue
            encoded = 0
            try:
                for block in stream.encode(taken):
                    encoded += block.count
                    yield block
            except Exception as error:  # one reward that cannot be scored does not keep the others from being written
                self._lost += stream.count(taken) - encoded
                self._fail(error)

    def _commit(self, items: Sequence["Block | Receipt"]) -> None:
        """Write records and blocks; what is settled already, should this be interrupted, is not written again."""
        receipts = [item for item in items if isinstance(item, Receipt)]
        blocks = [item for item in items if isinstance(item, Block)]
        try:
            records = [receipt._record for receipt in receipts if receipt._record is not None]
            for receipt, number in zip(receipts, self._write_records(records) if records else [], strict=True):
                receipt._settle(number)
        except (KeyConflict, VersionConflict):  # one of them is at fault: the others are written
            for receipt in receipts:
                self._commit_alone(receipt)
        if blocks:
            self._write_blocks(blocks)

    def _commit_alone(self, receipt: Receipt) -> None:
        assert receipt._record is not None
        try:
            receipt._settle(self._write_records([receipt._record])[0])
        except (KeyConflict, VersionConflict) as error:
            receipt._refuse(error, for_good=True)
            self._fail(error)

    def _has_waiting(self) -> bool:
        return bool(self._receipts) or any(stream.waiting for stream in self._streams.values())

    # -- what went wrong --------------------------------------------------------------------------------------------

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._attend_always()

    def _refuse(self, items: Sequence["Block | Receipt"], error: BaseException, *, for_good: bool) -> None:
        for item in items:
            if isinstance(item, Receipt) and item.state == "buffered":
                item._refuse(error, for_good=for_good)

    def _give_up(self) -> None:
        if self._kept:
            failure = self._failure or LedgerError("records that could not be written were dropped.")
            self._lost += _count(self._kept)
            self._refuse(self._kept, failure, for_good=True)
            self._kept = []
            self._fail(failure)

    def _raise_failure(self) -> None:
        failure = self._failure
        if failure is None:
            return
        lost, self._lost, self._failure = self._lost, 0, None
        if not isinstance(failure, Exception):
            raise failure
        counts = {"Records waiting to be recorded": _count(self._kept), "Records not recorded": lost}
        told = " ".join(f"{what}: {count:,}." for what, count in counts.items() if count)
        if isinstance(failure, PlauditError):
            raise type(failure)(f"{failure} {told}".rstrip()) from failure
        raise LedgerError(f"{type(failure).__name__}: {failure}. {told}".rstrip()) from failure

    def _build_closed(self) -> LedgerError:
        return LedgerError(f"{self._open_store().backend.name}: this writer is closed; it records nothing more.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


BUFFERS: weakref.WeakSet[WriteBuffer] = weakref.WeakSet()
"""Every buffer of this process."""


def _count(items: Sequence[Block | Receipt]) -> int:
    return sum(item.count for item in items)


def _drain(waiting: deque[Any]) -> list[Any]:
    """Return what waits, which then waits no longer; others may add to it meanwhile."""
    return [waiting.popleft() for _ in range(len(waiting))]
