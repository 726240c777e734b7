"""Work that waits for a thread: bounded, in order, with errors that the next call raises."""

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

_IDLE = 1.0
"""Seconds without work after which the thread ends: what nobody uses any more is let go of."""

Work = TypeVar("Work")


class Pending(Generic[Work]):
    """At most `most` pieces of work, each handled by one thread after the one before."""

    def __init__(self, handle: Callable[[Work], None], most: int, is_ready: Callable[[Work], bool]) -> None:
        """Begin with nothing; `is_ready` says of work whether it could be handled at once."""
        self._handle, self._most, self._is_ready = handle, most, is_ready
        self.waits = 0
        """How often `put` had to wait because handling is slow, and not because work was not ready."""
        self._begin_process()

    def _begin_process(self) -> None:
        """Begin with nothing in a process that was forked: its parent handles what waits."""
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._work: deque[Work] = deque()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def put(self, work: Work) -> None:
        """Add work; wait while there is too much of it."""
        if self._process != os.getpid():
            self._begin_process()
        with self._changed:
            self._work.append(work)  # before the wait: Ctrl-C there loses nothing
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="plaudit-device", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            if len(self._work) > self._most:
                self.waits += self._is_ready(self._work[0])
                self._changed.wait_for(lambda: len(self._work) <= self._most)

    def drain(self, timeout: float | None = None) -> None:
        """Wait until all work is handled; not in the thread that handles it."""
        if self._process == os.getpid() and threading.current_thread() is not self._thread:
            with self._changed:
                self._changed.wait_for(lambda: not self._work, timeout)

    def raise_failure(self) -> None:
        """Raise what went wrong since the last time."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._changed.wait_for(lambda: bool(self._work), _IDLE):
                    self._thread = None
                    return
                work = self._work[0]
            try:
                self._handle(work)
            except BaseException as error:
                self._failure = self._failure or error
            with self._changed:
                self._work.popleft()
                self._changed.notify_all()
