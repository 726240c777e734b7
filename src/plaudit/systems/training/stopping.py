"""A run that is asked to end ends after the update that it is in."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """Whether somebody asked the run to end; it does so after the update that it is in."""

    def __init__(self) -> None:
        self.signal: int | None = None

    @property
    def asked(self) -> bool:
        """Whether it was asked to."""
        return self.signal is not None


@contextmanager
def stoppable(tell: Callable[[], None] = lambda: None) -> Iterator[Stop]:
    """Take the first Ctrl-C or SIGTERM as a wish that is told and kept; the second one ends at once."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def note(number: int, frame: object) -> None:
        if stop.asked:
            raise KeyboardInterrupt
        stop.signal = number
        tell()

    wanted = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else somebody wants it ignored
        wanted.append(signal.SIGINT)
    before = {number: signal.signal(number, note) for number in wanted}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
