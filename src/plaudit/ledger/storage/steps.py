"""One buffer a ledger for the steps of running environments: gathered for a moment, written together by a thread."""

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from plaudit.errors import PlauditError
from plaudit.ledger.context import Scope, validate_scope
from plaudit.ledger.storage.batch import StepRows, score_steps
from plaudit.ledger.storage.codec import Block, RecordLayout
from plaudit.ledger.storage.store import Store
from plaudit.reward.reward import Reward

MOST_WAITING = 65_536
"""How many steps may wait to be written."""

BUFFERS: "weakref.WeakSet[StepBuffer]" = weakref.WeakSet()
"""Every buffer of this process."""


class MaybeWritten(Exception):
    """Whether the steps are in the ledger is not known; the cause says why."""


class Stream(NamedTuple):
    """What many steps share: their reward, where they belong, and whether each entry has many of them."""

    layout: RecordLayout
    scope: Scope
    many: bool


Entry = tuple[Stream, int, Any, Any, Any]
"""A step, or one of many environments: when, the episode, the step and the inputs (numbers, or an array of them)."""


class StepBuffer:
    """Holds steps until a thread writes them, which is at work as long as steps come.

    `add` an entry, then `attend` where the buffer `needs_attention` or is full. A write that failed is told by the next
    `attend`, `flush` or `close`; its steps are kept and written with the next ones.
    """

    def __init__(self, open_store: Callable[[], Store], write: Callable[[Sequence[Block]], None]) -> None:
        """Begin with nothing; `open_store` raises where the ledger is closed, and `write` writes all or nothing."""
        self._open_store = open_store
        self._write_blocks = write
        self.now = open_store().writer.now
        """The ledger's clock, in microseconds."""
        self.waiting: deque[Entry] = deque()
        self.add = self.waiting.append
        self._kept: list[Block] = []
        self._closed = False
        self._wait = threading.TIMEOUT_MAX
        self.begin_process()
        BUFFERS.add(self)

    def begin_process(self) -> None:
        """Begin anew, without a thread: in a process that was forked, what waits is the parent's, which writes it."""
        self.waiting.clear()
        self._kept.clear()
        self._failure: BaseException | None = None
        self._lost = 0
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self.needs_attention = True
        """Whether there is no thread, or something went wrong, or the ledger is closed."""

    def open_stream(self, reward: Reward, *, run: str | None, actor: str | None, many: bool) -> Stream:
        """Return what the steps of a reward under a run and an actor are added as; InputError where a name cannot be."""
        return Stream(self._open_store().specs.get_layout(reward), validate_scope(run, None, None, actor), many)

    def flush_within(self, seconds: float) -> None:
        """Let no step wait longer than this; where several ask, the shortest time holds."""
        self._wait = min(self._wait, seconds / 2)  # the other half is for writing
        self._wake.set()

    def attend(self, most: int) -> None:
        """See that a thread is at work, raise what went wrong, and write where `most` entries wait."""
        if self._closed:
            with self._writing:
                self.waiting.clear()
            self._open_store()  # raises: it is closed
        self._start_thread()
        self._raise_failure()
        if len(self.waiting) >= most:
            self.flush()

    def flush(self, timeout: float | None = None) -> None:
        """Write what waits, for no longer than `timeout` seconds, and raise what went wrong since the last time."""
        self._write_aside(timeout)
        self._raise_failure()

    def close(self) -> None:
        """Write what waits for the last time; closing twice is no error."""
        if self._closed:
            return
        self._closed = self.needs_attention = True  # before the last write: a step that misses it is told
        self._write_aside(None)
        self._lost += _count(self._kept)
        self._kept = []
        self._wake.set()
        self._raise_failure()

    # -- threads ----------------------------------------------------------------------------------------------------

    def _start_thread(self) -> None:
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._write_regularly, name="plaudit-steps", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # there are too many threads, or Python is ending
                    self._write()
                    return
                self._thread = thread
            self.needs_attention = False

    def _write_regularly(self) -> None:
        """Write what came, until nothing does: a buffer that nobody uses keeps no ledger open."""
        while True:
            self._wake.wait(self._wait)
            self._wake.clear()
            if self.waiting:
                self._write()
                continue
            with self._starting:
                self.needs_attention = True  # first: a step that comes now starts another thread
                if not self.waiting:
                    self._thread = None
                    return

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
            blocks = self._kept
            try:
                taken = [self.waiting.popleft() for _ in range(len(self.waiting))]
                blocks = [*blocks, *self._encode(taken)]
                if blocks:
                    self._write_blocks(blocks)
                self._kept = []
            except MaybeWritten as error:  # to write them again might write them twice
                self._kept = []
                self._fail(error.__cause__ or error)
            except BaseException as error:
                self._kept = blocks
                if _count(blocks) > MOST_WAITING:  # whoever goes on in spite of errors does not fill the memory
                    self._lost += _count(blocks)
                    self._kept = []
                self._fail(error)

    def _encode(self, taken: list[Entry]) -> Iterator[Block]:
        streams: dict[Stream, list[Entry]] = {}
        for entry in taken:
            streams.setdefault(entry[0], []).append(entry)
        for stream, entries in streams.items():
            try:
                yield from score_steps(_gather(stream, entries))
            except Exception as error:  # one reward that cannot be scored does not keep the others from being written
                self._lost += sum(len(rows) for *_, rows in entries) if stream.many else len(entries)
                self._fail(error)

    # -- what went wrong --------------------------------------------------------------------------------------------

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        self.needs_attention = True

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        lost, self._lost = self._lost, 0
        if failure is None:
            return
        kept = _count(self._kept)
        told = [str(failure), *([f"{kept:,} steps wait to be recorded."] if kept else [])]
        told += [f"{lost:,} steps were not recorded."] if lost else []
        if isinstance(failure, PlauditError):
            raise type(failure)(" ".join(told)) from failure
        raise failure


def _count(blocks: Sequence[Block]) -> int:
    return sum(block.count for block in blocks)


def _gather(stream: Stream, entries: list[Entry]) -> StepRows:
    """Return the steps of one stream as columns."""
    _, ats, episodes, steps, rows = zip(*entries, strict=True)
    if stream.many:
        times = np.repeat(ats, [len(each) for each in rows]).tolist()
        columns = (np.concatenate(parts).tolist() for parts in (episodes, steps))
        return StepRows(stream.layout, stream.scope, np.concatenate(rows), times, *columns)
    numbers = np.fromiter(chain.from_iterable(rows), np.float64, len(rows) * stream.layout.width)
    return StepRows(stream.layout, stream.scope, numbers.reshape(len(rows), -1), list(ats), list(episodes), list(steps))
