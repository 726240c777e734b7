"""libsumo in this process: one simulation, and whose it is; each test has a Python of its own."""

from collections.abc import Callable

import pytest

from plaudit.systems.roadsense.sumo import BINDINGS


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
        assert 'binding="process" or binding="traci"' in said and "Close the first" in said, said
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


@pytest.mark.parametrize("binding", BINDINGS)
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
        assert libsumo.simulation.getTime() == 1.0
        libsumo.close()
        """
    )
    assert "libsumo.close()" in said


def test_with_pyarrow_loaded_sumo_gets_a_process_of_its_own(fresh: Callable[..., str]) -> None:
    """The two must not be loaded together, and the drive is the same to the bit."""
    code = """
        import sys
        {}
        sumo = build_simulation("libsumo")
        sumo.begin(convoy())
        print([sumo.step() for _ in range(20)])
        assert ("libsumo" in sys.modules) == ({!r} == "")
        sumo.close()
    """
    assert fresh(code.format("import pyarrow", "import pyarrow")) == fresh(code.format("", ""))


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
