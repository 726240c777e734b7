"""What the tests of roadsense share: one SUMO and workers, since starting them takes longer than most drives."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager

import pytest

from plaudit.systems.roadsense import env
from plaudit.systems.roadsense.experiment import driving
from plaudit.systems.roadsense.sumo import Binding, Command, Simulation, build_simulation
from plaudit.systems.roadsense.world import CarState, World


class LentSimulation:
    """A simulation that goes on when an environment that drives on it is closed."""

    def __init__(self, lender: Simulation) -> None:
        self.lender, self.version = lender, lender.version

    def begin(self, world: World) -> None:
        self.lender.begin(world)

    def step(self, commands: Sequence[Command] = ()) -> dict[str, CarState]:
        return self.lender.step(commands)

    def close(self) -> None:
        pass


@pytest.fixture(scope="session")
def sumo() -> Iterator[Simulation]:
    """One simulation for all tests that begin a world of their own and leave it running."""
    sumo = build_simulation("process")
    yield sumo
    sumo.close()


@pytest.fixture(scope="session")
def lent_sumo(sumo: Simulation) -> Callable[[], AbstractContextManager[None]]:
    """Return a context: environments made in it drive on one SUMO, one environment at a time."""

    def lend(binding: Binding, **options: bool) -> Simulation:
        return LentSimulation(sumo) if binding == "process" else build_simulation(binding, **options)

    @contextmanager
    def lending() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(env, "build_simulation", lend)
            yield

    return lending


@pytest.fixture(scope="session")
def lent_workers() -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Return a context: what an experiment does in it is done by worker processes that go on; the second starts when it is needed."""
    with driving._open_pool(2) as pool:

        @contextmanager
        def lend(workers: int) -> Iterator[ProcessPoolExecutor]:
            yield pool

        @contextmanager
        def lending() -> Iterator[None]:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(driving, "_open_pool", lend)
                yield

        yield lending
