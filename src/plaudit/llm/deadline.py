"""Ending functions that take too long: by an alarm in the main thread, by a watchdog's exception in others."""

import ctypes
import signal
import threading
import time
from abc import abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from plaudit.errors import FeatureTimeout

AGAIN = 1.0
"""Seconds until a function that went on is interrupted again."""


def describe_timeout(seconds: float, more: str = "") -> FeatureTimeout:
    """Return the error of a call that took longer."""
    return FeatureTimeout(f"no result within {seconds:g} s{more}")


class _Interrupted(BaseException):
    """Raised inside a function that takes too long; `except Exception` does not catch it."""


class Deadline:
    """Calls functions one after the other, each for so many seconds at most; None for any time.

    What waits inside C, as for a socket, notices when it returns to Python; in the main thread, at once. A function
    that catches the interruption and goes on is interrupted again, and what it returns too late does not count.
    """

    def __new__(cls, seconds: float | None) -> "Deadline":
        """Return the kind that works in this thread."""
        if seconds is None or cls is not Deadline:
            return super().__new__(cls)
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


class _Interrupting(Deadline):
    """Calls functions while a clock runs, which raises `_Interrupted` in them when their time is over."""

    def call(self, function: Callable[..., Any], row: tuple[Any, ...], named: dict[str, Any]) -> Any:
        self._fired, found = False, None
        try:
            found = self._run(function, row, named)
        except _Interrupted:  # also one that came while the clock was stopped
            self._stop()
        except Exception:
            if not self._fired:
                raise
        if self._fired:
            raise describe_timeout(self._seconds)
        return found

    @abstractmethod
    def _run(self, function: Callable[..., Any], row: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call a function with the clock running; then stop it, whatever happens."""

    @abstractmethod
    def _stop(self) -> None:
        """Stop the clock."""


class _Alarm(_Interrupting):
    def __enter__(self) -> Self:
        self._timer = signal.getitimer(signal.ITIMER_REAL)  # of whoever has set one
        self._handler = signal.signal(signal.SIGALRM, self._ring)
        return self

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL if self._handler is None else self._handler)
        signal.setitimer(signal.ITIMER_REAL, *self._timer)

    def _run(self, function: Callable[..., Any], row: tuple[Any, ...], named: dict[str, Any]) -> Any:
        self._is_running = True
        try:
            signal.setitimer(signal.ITIMER_REAL, self._seconds, AGAIN)
            return function(*row, **named)
        finally:
            self._is_running = False
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _stop(self) -> None:
        self._is_running = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _ring(self, *_: Any) -> None:
        if self._is_running:
            self._fired = True
            raise _Interrupted


class Interruptible(_Interrupting):
    """Calls a function in one thread, which others may interrupt."""

    def __init__(self, seconds: float | None) -> None:
        """Begin without a call."""
        super().__init__(seconds)
        self._lock = threading.Condition()
        self._caller = 0

    def interrupt(self) -> None:
        """End the call that runs, if any."""
        with self._lock:
            if self._is_running:
                self._fired = True
                _raise_in(self._caller, _Interrupted)

    def _run(self, function: Callable[..., Any], row: tuple[Any, ...], named: dict[str, Any]) -> Any:
        with self._lock:
            self._caller, self._is_running = threading.get_ident(), True
        try:
            return function(*row, **named)
        finally:
            self._stop()

    def _stop(self) -> None:
        with self._lock:
            self._is_running = False
        if self._fired:
            _raise_in(self._caller, None)  # one that has not been raised yet


class _Watchdog(Interruptible):
    def __enter__(self) -> Self:
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

    def _run(self, function: Callable[..., Any], row: tuple[Any, ...], named: dict[str, Any]) -> Any:
        with self._lock:
            self._due = time.monotonic() + self._seconds
        return super()._run(function, row, named)

    def _watch(self) -> None:
        with self._lock:
            while not self._over:
                if self._is_running and time.monotonic() >= self._due:
                    self._due = time.monotonic() + AGAIN
                    self.interrupt()
                self._lock.wait(min(self._seconds / 8, AGAIN / 4))


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error)
    )
