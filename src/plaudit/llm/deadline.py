"""Ending a function that takes too long: by an alarm in the main thread, by an exception from a watchdog in others."""

import ctypes
import signal
import threading
from collections.abc import Callable
from typing import Any

from plaudit.errors import FeatureTimeout


def call_within(
    seconds: float | None, function: Callable[..., Any], row: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Return what a function returns, or raise FeatureTimeout after so many seconds.

    What waits inside C, as for a socket, notices when it returns to Python; in the main thread, at once.
    """
    if seconds is None:
        return function(*row, **named)
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        return _call_with_alarm(seconds, function, row, named)
    return _call_with_watchdog(seconds, function, row, named)


def describe_timeout(seconds: float) -> FeatureTimeout:
    """Return the error of a call that took longer."""
    return FeatureTimeout(f"no result within {seconds:g} s")


def _call_with_alarm(seconds: float, function: Callable[..., Any], row: Any, named: dict[str, Any]) -> Any:
    def ring(*_: Any) -> None:
        raise describe_timeout(seconds)

    before = signal.signal(signal.SIGALRM, ring)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return function(*row, **named)
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)  # of whoever had set one
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)


def _call_with_watchdog(seconds: float, function: Callable[..., Any], row: Any, named: dict[str, Any]) -> Any:
    lock, thread = threading.Lock(), threading.get_ident()
    done = fired = False

    def interrupt() -> None:
        nonlocal fired
        with lock:
            if not done:
                fired = True
                _raise_in(thread, FeatureTimeout)

    watchdog = threading.Timer(seconds, interrupt)
    watchdog.daemon = True
    watchdog.start()
    try:
        return function(*row, **named)
    except FeatureTimeout:
        raise (describe_timeout(seconds) if fired else FeatureTimeout("timeout")) from None
    finally:
        with lock:
            done = True
        watchdog.cancel()
        if fired:
            _raise_in(thread, None)  # one that has not been raised yet


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error)
    )
