"""SIGTERM and SIGHUP: buffered steps are written before these signals end the program.

Only the default action of a signal, to end the program at once, is replaced. An existing handler stays: it ends the
program by `sys.exit` or an exception, after which ledgers are closed, or lets it continue.
"""

import _thread
import os
import signal
import sys
import threading
import time
from types import FrameType

from plaudit.ledger.storage.buffer import BUFFERS, WriteBuffer

_SIGNALS = ("SIGTERM", "SIGHUP")
_LONGEST = 5.0
"""Maximum seconds until the program ends; process managers kill it after ten or more."""
_HELD = 1.0
"""Maximum seconds that the main thread waits."""
_ends_by: dict[tuple[int, int], float] = {}
"""Deadlines by process and signal, at which the program ends even if not everything is written."""


def flush_at_termination() -> None:
    """Write every buffer when a signal ends the program; only the main thread can install this."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_kill"):
        return
    for number in (getattr(signal, name) for name in _SIGNALS):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _flush_and_end)


def _flush_and_end(number: int, frame: FrameType | None) -> None:
    """Flush in a thread, and end the program afterwards.

    The main thread waits here, so that no step follows. Since a signal can arrive anywhere, it may hold a lock that the
    thread needs: then it continues, and the thread sends the signal again when it is done.
    """
    now = time.monotonic()
    end = _ends_by.setdefault((os.getpid(), number), now + _LONGEST)
    flushed, gone = threading.Event(), threading.Event()
    arguments = list(BUFFERS), end, number, flushed, gone
    _thread.start_new_thread(_flush_buffers, arguments)  # unlike `Thread`, it needs no lock that may be held here
    flushed.wait(min(_HELD, max(0.0, end - now)))
    gone.set()
    if flushed.is_set() or time.monotonic() >= end:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)


def _flush_buffers(
    buffers: list[WriteBuffer], end: float, number: int, flushed: threading.Event, gone: threading.Event
) -> None:
    for buffer in buffers:
        try:
            buffer.flush(timeout=max(0.0, end - time.monotonic()))
        except Exception as error:  # nothing is left to catch it
            print(f"plaudit: ended by {signal.Signals(number).name}: {error}", file=sys.stderr, flush=True)
    flushed.set()
    if gone.is_set():
        signal.pthread_kill(threading.main_thread().ident or 0, number)
