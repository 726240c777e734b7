"""Ending functions that take too long: by an alarm in the main thread, by a watchdog's exception in others."""

import ctypes
import signal
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from plaudit.errors import FeatureTimeout


def describe_timeout(seconds: float) -> FeatureTimeout:
    """Return the error of a call that took longer."""
    return FeatureTimeout(f"no result within {seconds:g} s")


class Deadline:
    """Calls functions one after the other, each for so many seconds at most; None for any time.

    What waits inside C, as for a socket, notices when it returns to Python; in the main thread, at once.
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

    def __enter__(self) -> Self:
        """Prepare for calls."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Leave nothing behind."""

    def call(self, function: Callable[..., Any], row: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return what a function returns; FeatureTimeout where it takes too long."""
        return function(*row, **named)


class _Alarm(Deadline):
    def __enter__(self) -> Self:
        self._left, _ = signal.getitimer(signal.ITIMER_REAL)  # of whoever has set one
        self._handler = signal.signal(signal.SIGALRM, self._ring)
        return self

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL if self._handler is None else self._handler)
        signal.setitimer(signal.ITIMER_REAL, self._left)

    def call(self, function: Callable[..., Any], row: tuple[Any, ...], named: dict[str, Any]) -> Any:
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        try:
            return function(*row, **named)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _ring(self, *_: Any) -> None:
        raise describe_timeout(self._seconds)


class _Watchdog(Deadline):
    def __enter__(self) -> Self:
        self._lock = threading.Condition()
        self._caller = threading.get_ident()
        self._due: float | None = None
        self._fired = self._over = False
        self._thread = threading.Thread(target=self._watch, name="plaudit-watchdog", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._over = True
            self._lock.notify()
        self._thread.join()

    def call(self, function: Callable[..., Any], row: tuple[Any, ...], named: dict[str, Any]) -> Any:
        with self._lock:
            self._due, self._fired = time.monotonic() + self._seconds, False
        try:
            return function(*row, **named)
        except FeatureTimeout:
            raise (describe_timeout(self._seconds) if self._fired else FeatureTimeout("no result in time")) from None
        finally:
            with self._lock:
                self._due = None
            if self._fired:
                _raise_in(self._caller, None)  # one that has not been raised yet

    def _watch(self) -> None:
        with self._lock:
            while not self._over:
                if self._due is not None and time.monotonic() >= self._due:
                    self._due, self._fired = None, True
                    _raise_in(self._caller, FeatureTimeout)
                self._lock.wait(self._seconds / 8)


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error)
    )
