"""What the tests of SUMO share: fresh Pythons, since libsumo allows one simulation in a process, and what is alive."""

import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from plaudit.systems.roadsense.sumo import Simulation, build_simulation
from support.forking import PythonProcess

PREAMBLE = """
from plaudit.errors import *
from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.sumo import build_simulation, find_road
from plaudit.systems.roadsense.world import CarModel, CarState, Departure, World

def convoy(*, seed=0, network="straight", cars=3, speed=15.0, spacing=30.0, **model):
    starts = tuple(Departure(f"V{i + 1:03}", spacing * i, speed) for i in range(cars))
    return World(network, starts, CarModel(**model), seed)
"""


FORKING = """
import gc, json, os, sys, tempfile

gc.freeze()  # or each fork would look through all that was imported when it ends
for line in sys.stdin:
    code, variables, printed, errors = json.loads(line)
    worker = os.fork()
    if worker == 0:
        for number, path in enumerate((os.devnull, printed, errors)):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
        os.environ.update(variables)
        tempfile.tempdir = None  # it is read from the environment anew
        exec(code)
        break  # and so the program ends as every program does
    print(os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]), flush=True)
"""


@pytest.fixture(scope="session")
def forking() -> Iterator["subprocess.Popen[str]"]:
    """A Python that has imported plaudit, and no SUMO, and runs each line of code in a fork of itself."""
    command = [sys.executable, "-W", "error", "-c", PREAMBLE + FORKING]
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield running
    running.communicate(timeout=300)


@pytest.fixture
def fresh(tmp_path: Path, forking: "subprocess.Popen[str]") -> Iterator[Callable[..., str]]:
    """Return what a Python of its own prints; its temporary files must be gone when it ends."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert forking.stdin is not None
    assert forking.stdout is not None
    to, back, numbers = forking.stdin, forking.stdout, count()

    def run(code: str, **variables: str) -> str:
        number = next(numbers)
        printed, errors = (tmp_path / f"{name} {number}" for name in ("printed", "errors"))
        environment = {"TMPDIR": str(temporary), **variables}
        to.write(json.dumps([textwrap.dedent(code), environment, str(printed), str(errors)]) + "\n")
        to.flush()
        assert (back.readline(), errors.read_text()) == ("0\n", "")
        return printed.read_text()

    yield run
    assert list(temporary.iterdir()) == []


@pytest.fixture
def launched() -> Iterator[Callable[[str], "subprocess.Popen[str]"]]:
    """Start a Python of its own, in its own session, for a test that ends it or looks on."""
    running: list[subprocess.Popen[str]] = []

    def launch(code: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", PREAMBLE + textwrap.dedent(code)]
        pipe = subprocess.PIPE
        running.append(PythonProcess(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True))
        return running[-1]

    yield launch
    for popen in running:
        popen.kill()
        popen.communicate()


@pytest.fixture(scope="module", params=["process", "traci"])
def elsewhere(request: pytest.FixtureRequest) -> Iterator[Simulation]:
    """A simulation outside this process, where another test may have loaded pyarrow."""
    sumo = build_simulation(request.param)
    yield sumo
    sumo.close()


@pytest.fixture
def is_gone() -> Callable[[int], bool]:
    """Return whether a process ends within a few seconds; one that only waits to be collected has ended."""

    def ended(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    def gone(pid: int) -> bool:
        for _ in range(500):
            if ended(pid):
                return True
            time.sleep(0.01)
        return False

    return gone
