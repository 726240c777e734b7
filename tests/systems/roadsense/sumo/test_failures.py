"""SUMO dies, or this process does: a clear error, and nobody left behind."""

import gc
import os
import signal
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.sumo import Binding, Simulation, build_simulation
from plaudit.systems.roadsense.sumo.subprocess_engine import SubprocessSimulation
from plaudit.systems.roadsense.sumo.traci_client import TraciSimulation
from plaudit.systems.roadsense.world import Departure, World

CONVOY = World("straight", tuple(Departure(f"V00{i + 1}", 30.0 * i, 15.0) for i in range(3)))
AWAY = ("process", "traci")

Launch = Callable[[str], "subprocess.Popen[str]"]


def pid_of(sumo: Simulation) -> int:
    """Return the process in which SUMO runs."""
    assert isinstance(sumo, SubprocessSimulation | TraciSimulation)
    child = sumo._child if isinstance(sumo, SubprocessSimulation) else sumo._sumo
    assert child is not None
    return child.popen.pid


def test_a_sumo_that_is_killed_is_an_error_and_the_next_world_begins(elsewhere: Simulation) -> None:
    """The dead process is collected, and the drive after it is what it would have been."""
    elsewhere.begin(CONVOY)
    first = elsewhere.step()
    pid = pid_of(elsewhere)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SimulatorError, match="SUMO died: it was ended by SIGKILL"):
        for _ in range(3):
            elsewhere.step()
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(SimulatorError, match="begin a world first"):
        elsewhere.step()
    elsewhere.begin(CONVOY)
    assert elsewhere.step() == first


def test_a_sumo_that_died_between_two_worlds_is_replaced(elsewhere: Simulation) -> None:
    """Nothing was lost, so there is nothing to say."""
    elsewhere.begin(CONVOY)
    os.kill(pid_of(elsewhere), signal.SIGKILL)
    os.waitid(os.P_PID, pid_of(elsewhere), os.WEXITED | os.WNOWAIT)
    elsewhere.begin(CONVOY)
    assert len(elsewhere.step()) == 3


@pytest.mark.parametrize("binding", AWAY)
def test_a_simulation_that_nobody_holds_ends_its_sumo(binding: Binding, young_heap: None) -> None:
    """Without a warning, and without a process that nobody collects."""
    sumo = build_simulation(binding)
    sumo.begin(CONVOY)
    pid = pid_of(sumo)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del sumo
        gc.collect()
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("binding", AWAY)
def test_closing_leaves_no_process_and_no_open_file(binding: Binding, young_heap: None) -> None:
    """However often."""
    build_simulation(binding).begin(CONVOY)  # what is opened once for all
    gc.collect()
    before = set(os.listdir("/proc/self/fd"))
    sumo = build_simulation(binding)
    sumo.begin(CONVOY)
    pid = pid_of(sumo)
    sumo.close()
    sumo.close()
    assert not Path(f"/proc/{pid}").exists()
    assert set(os.listdir("/proc/self/fd")) == before


RUNNING = """
sumo = build_simulation({!r})
sumo.begin(convoy())
print((getattr(sumo, "_child", None) or getattr(sumo, "_sumo", None)).popen.pid, flush=True)
while True:
    sumo.step()
    if sumo.step() == {{}}:
        sumo.begin(convoy())
"""


@pytest.mark.parametrize("binding", AWAY)
def test_sumo_ends_with_a_parent_that_is_killed(
    binding: Binding, launched: Launch, is_gone: Callable[[int], bool]
) -> None:
    """Nobody can clean up after a kill -9; SUMO must notice."""
    parent = launched(RUNNING.format(binding))
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    assert is_gone(pid)


@pytest.mark.parametrize("binding", AWAY)
def test_a_ctrl_c_is_for_the_program_and_ends_its_sumo(
    binding: Binding, launched: Launch, is_gone: Callable[[int], bool]
) -> None:
    """The terminal sends it to the whole group; SUMO must neither print about it nor stay."""
    parent = launched(RUNNING.format(binding))
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    os.killpg(parent.pid, signal.SIGINT)
    _, errors = parent.communicate(timeout=300)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert errors.count("Traceback") == 1
    assert is_gone(pid)


@pytest.mark.parametrize("binding", AWAY)
def test_a_program_that_ends_without_closing_ends_its_sumo(
    binding: Binding, fresh: Callable[..., str], is_gone: Callable[[int], bool]
) -> None:
    """And leaves no warning and no file."""
    code = RUNNING.format(binding).replace("while True:", "for _ in range(10):")
    assert is_gone(int(fresh(code)))
