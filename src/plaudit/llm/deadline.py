"""Ending functions that take too long: by an alarm in the main thread, by a watchdog's exception in others."""

import ctypes
import signal
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from plaudit.errors import FeatureTimeout

_AGAIN = 1.0
"""Seconds until a function that went on is interrupted again."""


def describe_timeout(seconds: float) -> FeatureTimeout:
    """Return the error of a call that took longer."""
    return FeatureTimeout(f"no result within {seconds:g} s")


class _Interrupted(BaseException):
    """Raised inside a function that takes too long; `except Exception` does not catch it."""


class Deadline:
    """Calls functions one after the other, each for so many seconds at most; None for any time.

    What waits inside C, as for a socket, notices when it returns to Python; in the main thread, at once. A function
    that catches the interruption and goes on is interrupted again, and what it returns too late does not count.
    """

    def __new__(cls, seconds: float | None) -> "Deadline":
        """Return the kind that works in this thread."""
        if seconds is None:
            return super().__new__(Deadline)
        in_main = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
        return super().__new__(_Alarm if in_main else _Watchdog)

    def __init__(self, seconds: float | None) -> None:
        """Keep the time."""
        self._seconds = seconds or 0.0
        self._is_running = self._fired = False

    def __enter__(self) -> Self:
        """Prepare for calls."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Leave nothing behind."""

    def call(self, function: Callable[..., Any], row: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return what a function returns; FeatureTimeout where it takes too long."""
        return function(*row, **named)

    def _call_within(self, function: Callable[..., Any], row: tuple[Any, ...], named: dict[str, Any]) -> Any:
        found = None
        try:
            self._start()
            try:
                found = function(*row, **named)
            finally:
                self._stop()
        except _Interrupted:  # also one that came while the clock was stopped
            self._stop()
        except Exception:
            if not self._fired:
                raise
        if self._fired:
            raise describe_timeout(self._seconds)
        return found

    def _start(self) -> None: ...

    def _stop(self) -> None: ...


class _Alarm(Deadline):
    call = Deadline._call_within

    def __enter__(self) -> Self:
        self._timer = signal.getitimer(signal.ITIMER_REAL)  # of whoever has set one
        self._handler = signal.signal(signal.SIGALRM, self._ring)
        return self

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL if self._handler is None else self._handler)
        signal.setitimer(signal.ITIMER_REAL, *self._timer)

    def _start(self) -> None:
        self._is_running, self._fired = True, False
        signal.setitimer(signal.ITIMER_REAL, self._seconds, _AGAIN)

    def _stop(self) -> None:
        self._is_running = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _ring(self, *_: Any) -> None:
        if self._is_running:
            self._fired = True
            raise _Interrupted


class _Watchdog(Deadline):
    call = Deadline._call_within

    def __enter__(self) -> Self:
        self._lock = threading.Condition()
        self._caller = threading.get_ident()
        self._due = 0.0
        self._over = False
        self._thread = threading.Thread(target=self._watch, name="plaudit-watchdog", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._over = True
            self._lock.notify()
        self._thread.join()

    def _start(self) -> None:
        with self._lock:
            self._due, self._is_running, self._fired = time.monotonic() + self._seconds, True, False

    def _stop(self) -> None:
        with self._lock:
            self._is_running = False
        if self._fired:
            _raise_in(self._caller, None)  # one that has not been raised yet

    def _watch(self) -> None:
        with self._lock:
            while not self._over:
                if self._is_running and time.monotonic() >= self._due:
                    self._due, self._fired = time.monotonic() + _AGAIN, True
                    _raise_in(self._caller, _Interrupted)
                self._lock.wait(min(self._seconds / 8, _AGAIN / 4))


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error)
    )
