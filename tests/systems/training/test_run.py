"""The first signal is a wish, the second one an order."""

import os
import signal
import threading

import pytest

from plaudit.systems.training.command import LineWatch
from plaudit.systems.training.run import catch_signals
from plaudit.terminal import Terminated

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


@pytest.mark.usefixtures("heed_ctrl_c")
@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)])
def test_the_first_signal_is_a_wish_and_the_second_an_order(number, error):
    told = []
    with catch_signals(lambda: told.append(True)) as stop:
        os.kill(os.getpid(), number)
        assert (stop.asked, stop.signal, told) == (True, number, [True])
        with pytest.raises(error):
            os.kill(os.getpid(), number)
            signal.pause()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_thread_takes_no_signals():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def inside():
        with catch_signals() as stop:
            seen.append((stop.asked, signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [(False, before)]


def test_that_a_run_ends_soon_is_said_where_nothing_may_be_printed(capfd):
    LineWatch(4, str).show_stopping()
    assert capfd.readouterr().err == "\nStopping after this update; press Ctrl-C again to stop now.\n"
