"""libsumo in this process: one simulation, and whose it is; each test has a Python of its own."""

from collections.abc import Callable

import pytest

from plaudit.systems.roadsense.sumo import BINDINGS

FORKED = pytest.mark.parametrize(
    "binding", [pytest.param(each, marks=pytest.mark.slow if each == "auto" else ()) for each in BINDINGS]
)
"""What `auto` picks is one of the others."""


def test_a_second_simulation_is_refused_with_the_way_out(fresh: Callable[..., str]) -> None:
    """And the first drives on; libsumo itself would silently replace it."""
    fresh(
        """
        first, second = build_simulation("libsumo"), build_simulation("libsumo")
        first.begin(convoy())
        before = first.step()
        try:
            second.begin(convoy())
        except SimulatorError as error:
            said = str(error)
        assert 'binding="auto"' in said and "Close the first" in said, said
        assert first.step()["V001"].x > before["V001"].x
        first.close()
        second.begin(convoy())
        assert second.step() == before
        """
    )


def test_a_simulation_that_nobody_holds_leaves_libsumo_to_the_next(fresh: Callable[..., str]) -> None:
    """Forgetting to close is not punished."""
    fresh(
        """
        build_simulation("libsumo").begin(convoy())
        build_simulation("libsumo").begin(convoy())
        sumo = build_simulation("libsumo")
        sumo.begin(convoy())
        assert len(sumo.step()) == 3
        """
    )


def test_a_forked_worker_may_have_its_own(fresh: Callable[..., str]) -> None:
    """Whether its parent has one or not; what the worker does leaves the parent's as it is."""
    fresh(
        """
        import os
        sumo = build_simulation("libsumo")
        sumo.begin(convoy())
        first = sumo.step()
        worker = os.fork()
        if worker == 0:
            own = build_simulation("libsumo")
            own.begin(convoy(cars=2))
            os._exit(0 if len(own.step()) == 2 else 1)
        assert os.waitpid(worker, 0)[1] == 0
        second = sumo.step()
        sumo.begin(convoy())
        assert (first, second) == (sumo.step(), sumo.step())
        """
    )


@FORKED
def test_a_forked_copy_leaves_the_drive_to_its_parent(fresh: Callable[..., str], binding: str) -> None:
    """It would brake its parent's car: it has to begin a world of its own, and may."""
    fresh(
        f"""
        import os
        sumo = build_simulation({binding!r})
        sumo.begin(convoy())
        first = sumo.step()
        worker = os.fork()
        if worker == 0:
            try:
                sumo.step([("speed", "V001", 0.0)])
            except SimulatorError:
                sumo.begin(convoy(cars=2))
                own = len(sumo.step([("speed", "V001", 0.0)]))
                sumo.close()
                os._exit(0 if own == 2 else 1)
            os._exit(2)
        assert os.waitpid(worker, 0)[1] == 0
        second = sumo.step()
        sumo.begin(convoy())
        assert (first, second) == (sumo.step(), sumo.step())
        sumo.close()
        """
    )


@FORKED
def test_a_forked_copy_that_is_dropped_leaves_no_word_and_the_drive_to_its_parent(
    fresh: Callable[..., str], binding: str
) -> None:
    """It closes its ends of the pipes: SUMO must notice when the parent, which has the others, is gone."""
    fresh(
        f"""
        import gc, os
        first = build_simulation("libsumo")
        first.begin(convoy())
        sumo = build_simulation({binding!r}) if {binding!r} != "libsumo" else first
        sumo.begin(convoy())
        worker = os.fork()
        if worker == 0:
            before = len(os.listdir("/proc/self/fd"))
            del sumo, first
            gc.collect()
            os._exit(0 if len(os.listdir("/proc/self/fd")) < before or {binding!r} == "libsumo" else 1)
        assert os.waitpid(worker, 0)[1] == 0
        assert len(sumo.step()) == 3
        sumo.close()
        """
    )


def test_a_libsumo_that_is_in_use_by_others_is_left_alone(fresh: Callable[..., str]) -> None:
    """A program that drives SUMO itself keeps its simulation."""
    said = fresh(
        """
        from plaudit.systems.roadsense.sumo.installation import import_libsumo
        libsumo = import_libsumo()
        libsumo.start(["sumo", "-n", find_road("straight").path, "--no-step-log", "true", "--duration-log.disable", "true"])
        libsumo.simulationStep()
        try:
            build_simulation("libsumo").begin(convoy())
        except SimulatorError as error:
            print(error)
        build_simulation().begin(convoy())  # in a process of its own
        assert libsumo.simulation.getTime() == 1.0
        libsumo.close()
        """
    )
    assert "libsumo.close()" in said


CHILDREN = """
import os

def children():  # each thread has its own
    found = 0
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/children") as file:
                found += len(file.read().split())
        except (FileNotFoundError, ProcessLookupError):
            pass  # a thread that has just ended
    return found
"""


def test_a_second_simulation_gets_a_process_of_its_own_by_itself(fresh: Callable[..., str]) -> None:
    """To the bit the same drive; once the first is closed, the next one is in this process again."""
    fresh(
        CHILDREN
        + """
first, second = build_simulation(), build_simulation()
drives = []
for sumo, processes in ((first, 0), (second, 1)):
    sumo.begin(convoy())
    assert children() == processes
    drives.append([sumo.step([("speed", "V001", 15.0 - 0.1 * step)]) for step in range(50)])
assert drives[0] == drives[1]
first.close()
third = build_simulation()
third.begin(convoy())
assert children() == 1  # that of the second, which stays where it is
second.begin(convoy())
assert (children(), second.step()) == (1, third.step())
second.close()
assert children() == 0
third.close()
second.begin(convoy())
assert children() == 0
"""
    )


def test_of_many_threads_one_has_libsumo_and_each_a_drive_of_its_own(fresh: Callable[..., str]) -> None:
    """Whoever comes first; simulations that are closed while others begin take nothing with them."""
    fresh(
        CHILDREN
        + """
import sys, threading

sys.setswitchinterval(1e-5)
drives, most = {}, []
gate = threading.Barrier(4)

def drive(number):
    gate.wait()
    for round in range(3):
        sumo = build_simulation()
        sumo.begin(convoy())
        drives[number, round] = [sumo.step() for _ in range(20)]
        most.append(children())
        sumo.close()

threads = [threading.Thread(target=drive, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(drives) == 12 and all(each == drives[0, 0] for each in drives.values())
assert max(most) <= 3 and children() == 0, most
build_simulation("libsumo").begin(convoy())
"""
    )


def test_a_libsumo_that_others_close_is_an_error_and_the_next_world_begins(fresh: Callable[..., str]) -> None:
    """It has an error of its own for what cannot be gone on with."""
    said = fresh(
        """
        from plaudit.systems.roadsense.sumo.installation import import_libsumo
        sumo = build_simulation("libsumo")
        sumo.begin(convoy())
        first = sumo.step()
        import_libsumo().close()
        try:
            sumo.step()
        except SimulatorError as error:
            print(error)
        sumo.begin(convoy())
        assert sumo.step() == first
        """
    )
    assert "SUMO stopped the simulation: A network was not yet constructed." in said


def test_simulations_in_a_cycle_that_is_collected_leave_libsumo_and_no_process(fresh: Callable[..., str]) -> None:
    """Nobody closed them, and no reference count ends them."""
    fresh(
        CHILDREN
        + """
import gc

gc.disable()
for _ in range(2):
    held = [build_simulation()]
    held.append(held)
    held[0].begin(convoy())
assert children() == 1
del held
gc.collect()
assert children() == 0
sumo = build_simulation()
sumo.begin(convoy())
assert children() == 0 and len(sumo.step()) == 3
"""
    )


def test_a_world_that_is_refused_leaves_libsumo_to_the_next(fresh: Callable[..., str]) -> None:
    """Whether it is refused here or by SUMO."""
    fresh(
        CHILDREN
        + """
for wrong in (convoy(network="nowhere.net.xml"), convoy(speed=-1.0)):
    sumo = build_simulation()
    try:
        sumo.begin(wrong)
    except PlauditError:
        pass
    other = build_simulation("libsumo")
    other.begin(convoy())
    sumo.begin(convoy())
    assert children() == 1 and other.step() == sumo.step()
    other.close(), sumo.close()
"""
    )


def test_beside_pyarrow_sumo_gets_a_process_of_its_own(fresh: Callable[..., str]) -> None:
    """The two must not be loaded together, and the drive is the same to the bit; who insists is told."""
    code = """
        import sys
        {}
        sumo = build_simulation()
        sumo.begin(convoy())
        print([sumo.step() for _ in range(20)])
        assert ("libsumo" in sys.modules) == ({!r} == "")
        sumo.close()
    """
    assert fresh(code.format("import pyarrow", "import pyarrow")) == fresh(code.format("", ""))
    said = fresh(
        """
        import pyarrow
        try:
            build_simulation("libsumo").begin(convoy())
        except SimulatorError as error:
            print(error)
        """
    )
    assert "pyarrow is loaded" in said
    assert 'binding="auto"' in said


def test_importing_plaudit_imports_no_sumo(fresh: Callable[..., str]) -> None:
    """Not even asking for a simulation does; the first world does."""
    fresh(
        """
        import sys
        build_simulation("libsumo")
        assert not {"libsumo", "traci", "sumo", "sumolib", "pyarrow"} & set(sys.modules)
        """
    )


def test_the_notice_about_pyarrow_is_hidden_and_nothing_else(fresh: Callable[..., str]) -> None:
    """Libsumo prints it on standard output while it is imported."""
    assert fresh("build_simulation('libsumo').begin(convoy())") == ""
