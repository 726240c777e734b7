"""A forked program ends as one that Python has started, although it does not take its modules to pieces."""

import subprocess
import sys

import pytest

from support.forking import run_python

PROGRAMS = {
    "goes to its end": "print('x', end='')",
    "says how it ends": "import sys; print('x', end=''); sys.exit(300)",
    "says why it ends": "import sys; sys.exit('no')",
    "fails": "print('x', end=''); 1 / 0",
    "is interrupted": "raise KeyboardInterrupt",
    "has something to do at its end": "import atexit; atexit.register(print, 'bye')",
    "has a thread at work": (
        "import threading, time; threading.Thread(target=lambda: (time.sleep(0.01), print('late'))).start()"
    ),
    "leaves something open": "class Open:\n  def __del__(self): print('closed')\na, b = Open(), Open(); b.own = b",
    "has closed what it prints to": "import sys; sys.stdout.close()",
    "prints to a full disk": "import sys; sys.stdout = open('/dev/full', 'w'); print('x')",
}


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /dev/full here")
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_it_ends_as_ever_where_it(program):
    command = [sys.executable, "-c", program]
    forked, started = (run(command, capture_output=True, text=True) for run in (run_python, subprocess.run))
    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    assert forked.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]
