"""SUMO inside this process: the fastest way, and a process can hold only one."""

import os
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from plaudit.systems.roadsense.errors import SimulatorError, join_lines
from plaudit.systems.roadsense.sumo.installation import find_version, import_libsumo
from plaudit.systems.roadsense.sumo.plan import Plan, place_cars, plan_world
from plaudit.systems.roadsense.sumo.protocol import Command, apply_commands, map_commands
from plaudit.systems.roadsense.world import CarState, World

State = TypeVar("State", bound=tuple[Any, ...])
TAKEN = (
    "another simulation of this process is open, and libsumo can hold only one: a second would silently replace it."
    " Close the first"
)
FOREIGN = "libsumo runs a simulation that plaudit did not start. Close it with libsumo.close()"
PYARROW = (
    "pyarrow is loaded in this process, and libsumo, built against another libarrow, may crash beside it."
    " Do not import pyarrow"
)
WAY_OUT = '; or use binding="auto", which then starts SUMO in a process of its own'
# libsumo keeps its one simulation in the process, and so must the note of who has it. A forked worker finds the note of
# its parent under another process id, and may start its own. No lock: `setdefault` is atomic, so that of two threads
# one gets libsumo, and a worker that is forked in between finds nothing locked.
_owners: dict[int, object] = {}


class LibsumoUnavailable(SimulatorError):
    """The libsumo of this process cannot be used at the moment; that of another process can."""

    def __init__(self, reason: str) -> None:
        """Say why, and what to do."""
        super().__init__(reason + WAY_OUT)


class LibsumoEngine(Generic[State]):
    """The one simulation that libsumo holds; what a car's state is made into is the caller's choice."""

    def __init__(self, state: type[State]) -> None:
        """Import libsumo and start nothing yet."""
        self.libsumo = import_libsumo()
        self._refusals = (self.libsumo.TraCIException, self.libsumo.FatalTraCIError)
        self._calls = map_commands(self.libsumo.vehicle)
        self._advance, self._cars = _find_fast_calls(self.libsumo, state)

    @property
    def is_running(self) -> bool:
        """Whether libsumo has a simulation, whoever started it."""
        return bool(self.libsumo.isLoaded())

    def begin(self, plan: Plan) -> None:
        """Start SUMO on a plan, or load it where SUMO runs already."""
        try:
            if self.is_running:
                self.libsumo.load(plan.options)
            else:
                self.libsumo.start(["sumo", *plan.options])
            place_cars(self.libsumo, plan)
        except self._refusals as error:
            raise SimulatorError(f"SUMO rejected the world on {plan.path}: {join_lines(error)}") from error

    def step(self, commands: Sequence[Command]) -> dict[str, State]:
        """Carry the commands out, advance by one step, and return the cars on the road."""
        try:
            apply_commands(self._calls, commands)
            self._advance()
            return self._cars()
        except self._refusals as error:
            raise SimulatorError(f"SUMO stopped the simulation: {join_lines(error)}") from error

    def close(self) -> None:
        """End the simulation, which leaves libsumo to others."""
        if self.is_running:
            self.libsumo.close()


def _find_fast_calls(libsumo: Any, state: type[State]) -> tuple[Callable[[], None], Callable[[], dict[str, State]]]:
    """Return how to advance by one step, and how to read all cars.

    The functions under libsumo's Python classes are called directly: a fifth of the time of a step with its reads.
    They are faster than subscriptions too. Only cars that SUMO lists are read, since it answers for a car that is not
    yet on the road with sentinels.
    """
    calls = libsumo.libsumo._libsumo
    listed, position, speed = calls.vehicle_getIDList, calls.vehicle_getPosition, calls.vehicle_getSpeed
    acceleration, heading = calls.vehicle_getAcceleration, calls.vehicle_getAngle
    new = tuple.__new__

    def cars() -> dict[str, State]:
        return {id: new(state, (*position(id), speed(id), acceleration(id), heading(id), 0.0, 0)) for id in listed()}

    return calls.simulation_step, cars


class InprocessSimulation:
    """A simulation by the libsumo of this process."""

    def __init__(self) -> None:
        """Start nothing yet; SUMO is taken with the first world."""
        self.version = find_version("libsumo")
        self._engine: LibsumoEngine[CarState] | None = None
        self._pid = 0
        """The process in which SUMO was taken: a worker that was forked since has to take its own."""
        self._release: weakref.finalize[[LibsumoEngine[CarState], int], InprocessSimulation] | None = None

    def begin(self, world: World) -> None:
        """Begin a world: SUMO starts with the first one and loads the others."""
        plan = plan_world(world)
        engine = self._engine if self._engine is not None and self._pid == os.getpid() else self._take()
        try:
            engine.begin(plan)
        except BaseException:
            self.close()
            raise

    def _take(self) -> LibsumoEngine[CarState]:
        if "pyarrow" in sys.modules:
            raise LibsumoUnavailable(PYARROW)
        pid, owner = os.getpid(), object()
        if _owners.setdefault(pid, owner) is not owner:
            raise LibsumoUnavailable(TAKEN)
        try:
            engine = LibsumoEngine(CarState)
            if engine.is_running and len(_owners) == 1:
                raise LibsumoUnavailable(FOREIGN)
        except BaseException:
            del _owners[pid]
            raise
        self._engine, self._pid = engine, pid
        self._release = weakref.finalize(self, _close_engine, engine, pid)
        return engine

    def step(self, commands: Sequence[Command] = ()) -> dict[str, CarState]:
        """Carry the commands out, advance 0.1 s, and return every car that is on the road."""
        if self._engine is None or self._pid != os.getpid():
            raise SimulatorError("the simulation is not running: begin a world first")
        return self._engine.step(commands)

    def close(self) -> None:
        """End the simulation and leave libsumo to others; a second call does nothing."""
        self._engine = None
        if self._release is not None:
            self._release()


def _close_engine(engine: LibsumoEngine[CarState], pid: int) -> None:
    if os.getpid() == pid:  # a forked worker has a copy that is not its to end
        try:
            engine.close()
        finally:
            del _owners[pid]  # not before: another thread would find a simulation without an owner
