"""One buffer a ledger for the steps of running environments: gathered for a moment, written together by a thread."""

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from plaudit.errors import LedgerError, PlauditError
from plaudit.ledger.context import Scope, to_microseconds, validate_scope
from plaudit.ledger.storage.codec import Block, RecordLayout
from plaudit.ledger.storage.step_stream import StepStream
from plaudit.ledger.storage.store import Store
from plaudit.reward.reward import Reward

MOST_WAITING = 65_536
"""How many steps of one stream may wait to be written: beyond, a step waits for them."""

_EARLY, _LATE = 0.5, 0.75
"""When, as a part of the time that a step may wait, the thread begins to write, and when a step waits for it."""

_LOOK = 0.25
"""How often, in seconds, the thread looks whether a stream is half full."""


class MaybeWritten(Exception):
    """Whether the steps are in the ledger is not known; the cause says why."""


class StepBuffer:
    """Holds steps until a thread writes them, which is at work as long as steps come.

    Add a step to what waits in a stream, then `attend` if the moment `attend_at` has come. A write that failed is told
    by the next `attend`, `flush` or `close`; its steps are kept and written with the next ones.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        write: Callable[[Sequence[Block]], None],
        clock: Callable[[], datetime] | None,
    ) -> None:
        """Begin with nothing; `open_store` raises where the ledger is closed, and `write` writes all or nothing."""
        self.now: Callable[[], int] = time.time_ns if clock is None else lambda: 1000 * to_microseconds(clock())
        """The ledger's clock, in nanoseconds."""
        self._open_store = open_store
        self._write_blocks = write
        self._streams: dict[tuple[RecordLayout, Scope, int | None], StepStream] = {}
        self._longest = threading.TIMEOUT_MAX
        self._closed = False
        self.begin_process()
        BUFFERS.add(self)

    def begin_process(self) -> None:
        """Begin anew, without a thread: in a process that was forked, what waits is the parent's, which writes it."""
        self.process = object()
        """What tells the process from the one that it was forked from."""
        self._drop_waiting()
        self._kept: list[Block] = []
        self._failure: BaseException | None = None
        self._lost = 0
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._safe_until = time.monotonic()
        """The moment before which every step is durable."""
        self.attend_at = 0
        """The next moment, in nanoseconds, at which a step has to `attend`: 0 is the very next step.

        By the system's clock: where a ledger has another one, or this one is set, a step attends at another moment.
        """

    def open_stream(self, reward: Reward, *, run: str | None, actor: str | None, envs: int | None) -> StepStream:
        """Return where to add the steps of a reward, run and actor; InputError where a name cannot be stored."""
        scope = validate_scope.__wrapped__(run, None, None, actor)  # names that have no hash are told too
        kind = self._open_store().specs.get_layout(reward), scope, envs
        with self._starting:
            if kind not in self._streams:
                stream = StepStream(*kind, most=MOST_WAITING)
                self._streams = {**self._streams, kind: stream}  # a new one: threads may be reading the old
            return self._streams[kind]

    def flush_within(self, seconds: float) -> None:
        """Let no step wait longer than this; where several ask, the shortest time holds."""
        self._longest = min(self._longest, seconds)
        self.attend_at = 0
        self._wake.set()

    def attend(self, stream: StepStream) -> None:
        """See that a thread is at work, raise what went wrong, and wait where the thread is slower than the steps.

        Raises:
            LedgerError: The ledger is closed.
        """
        if self._closed:
            with self._writing:
                self._drop_waiting()
            raise LedgerError(f"{self._open_store().backend.name} is being closed; this step is not recorded.")
        self._start_thread()
        self._raise_failure()
        if len(stream.waiting) >= stream.most or time.monotonic() >= self._safe_until + _LATE * self._longest:
            self.flush()

    def flush(self, timeout: float | None = None) -> None:
        """Write what waits, for no longer than `timeout` seconds, and raise what went wrong since the last time."""
        self._write_aside(timeout)
        self._raise_failure()

    def close(self) -> None:
        """Write what waits for the last time; closing twice is no error."""
        if self._closed:
            return
        self._closed, self.attend_at = True, 0  # before the last write: a step that misses it is told
        self._wake.set()
        self._write_aside(None)
        if (thread := self._thread) is not None and thread is not threading.current_thread():
            thread.join(_LOOK)
        self._lost += _count_steps(self._kept)
        self._kept = []
        self._raise_failure()

    # -- writing ----------------------------------------------------------------------------------------------------

    def _start_thread(self) -> None:
        with self._starting:
            if self._thread is None:
                self._wake.clear()
                self._safe_until = time.monotonic()
                thread = threading.Thread(target=self._write_regularly, name="plaudit-steps", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # there are too many threads, or Python is ending
                    self._write()
                    return
                self._thread = thread
            if not (self._closed or self._writing.locked()):
                left = self._safe_until + _LATE * self._longest - time.monotonic()
                self.attend_at = time.time_ns() + int(1e9 * left)

    def _write_regularly(self) -> None:
        """Write what came, until nothing does: a buffer that nobody uses keeps no ledger open."""
        while True:
            self._wait_for_steps()
            if self._has_waiting():
                self._write()
                continue
            with self._starting:
                self.attend_at = 0  # before looking again: a step that comes now starts another thread
                if not self._has_waiting():
                    self._thread = None
                    return

    def _wait_for_steps(self) -> None:
        """Wait until it is time to write, or many wait, or somebody calls."""
        due = time.monotonic() + _EARLY * self._longest
        while not self._closed and (left := due - time.monotonic()) > 0 and not self._wake.wait(min(left, _LOOK)):
            if any(len(stream.waiting) >= stream.most // 2 for stream in self._streams.values()):
                break
        self._wake.clear()

    def _write_aside(self, timeout: float | None) -> None:
        """Write in a thread of its own: Ctrl-C, which strikes in the main one, never does in the middle of a write."""
        thread = threading.Thread(target=self._write, name="plaudit-steps-flush", daemon=False)
        try:
            thread.start()
        except RuntimeError:
            self._write()
        else:
            thread.join(timeout)

    def _write(self) -> None:
        with self._writing:
            self.attend_at = 0  # as long as this takes, every step looks how many wait, and for how long
            begun, blocks = time.monotonic(), self._kept
            try:
                blocks = [*blocks, *self._encode_waiting()]
                if blocks:
                    self._write_blocks(blocks)
                self._kept, self._safe_until = [], begun
            except MaybeWritten as error:  # to write them again might write them twice
                self._kept, self._safe_until = [], begun
                self._fail(error.__cause__ or error)
            except BaseException as error:
                self._kept = blocks
                if _count_steps(blocks) > MOST_WAITING:  # whoever goes on in spite of errors does not fill the memory
                    self._lost += _count_steps(blocks)
                    self._kept = []
                self._fail(error)

    def _encode_waiting(self) -> Iterator[Block]:
        for stream in self._streams.values():
            taken = stream.take()
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

    def _has_waiting(self) -> bool:
        return any(stream.waiting for stream in self._streams.values())

    def _drop_waiting(self) -> None:
        for stream in self._streams.values():
            stream.drop()

    # -- what went wrong --------------------------------------------------------------------------------------------

    def _fail(self, error: BaseException) -> None:
        self._failure, self.attend_at = error, 0

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        lost, self._lost = self._lost, 0
        if failure is None:
            return
        if not isinstance(failure, Exception):
            raise failure
        counts = {"Steps waiting to be recorded": _count_steps(self._kept), "Steps not recorded": lost}
        told = " ".join([str(failure), *(f"{what}: {count:,}." for what, count in counts.items() if count)])
        raise (type(failure) if isinstance(failure, PlauditError) else LedgerError)(told) from failure


BUFFERS: weakref.WeakSet[StepBuffer] = weakref.WeakSet()
"""Every buffer of this process."""


def _count_steps(blocks: Sequence[Block]) -> int:
    return sum(block.count for block in blocks)
