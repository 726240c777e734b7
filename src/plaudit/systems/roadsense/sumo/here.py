"""SUMO inside this process: the fastest way, and a process can hold only one."""

import os
import weakref
from collections.abc import Sequence

from plaudit.errors import SimulatorError
from plaudit.systems.roadsense.sumo.engine import Engine
from plaudit.systems.roadsense.sumo.installed import version
from plaudit.systems.roadsense.sumo.orders import Command
from plaudit.systems.roadsense.sumo.plan import plan
from plaudit.systems.roadsense.world import CarState, World

# libsumo keeps its one simulation in the process, and so must the note of who has it. A forked worker finds the note of
# its parent under another process id, and may start its own.
_owners: dict[int, "weakref.ref[Here]"] = {}

TAKEN = (
    "another simulation of this process is open, and libsumo can hold only one: a second would silently replace it."
    ' Close the first; or ask for binding="process" or binding="traci", of which a process can have many; or put each'
    " environment into a process of its own (gymnasium's AsyncVectorEnv, Stable-Baselines3's SubprocVecEnv)"
)


class Here:
    """A simulation by the libsumo of this process."""

    def __init__(self) -> None:
        """Start nothing yet; SUMO is taken with the first world."""
        self.version = version("libsumo")
        self._engine: Engine[CarState] | None = None
        self._pid = 0
        """The process in which SUMO was taken: a worker that was forked since has to take its own."""
        self._release: weakref.finalize[[Engine[CarState], int], Here] | None = None

    def begin(self, world: World) -> None:
        """Begin a world: SUMO starts with the first one and loads the others."""
        todo = plan(world)
        engine = self._engine if self._engine is not None and self._pid == os.getpid() else self._take()
        try:
            engine.begin(todo)
        except SimulatorError:
            self.close()
            raise

    def _take(self) -> Engine[CarState]:
        pid = os.getpid()
        if pid in _owners and _owners[pid]() not in (None, self):
            raise SimulatorError(TAKEN)
        engine = Engine(CarState)
        if engine.is_running and not _owners:
            raise SimulatorError("libsumo runs a simulation that plaudit did not start: close it with libsumo.close()")
        self._engine, self._pid, _owners[pid] = engine, pid, weakref.ref(self)
        self._release = weakref.finalize(self, _end, engine, pid)
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


def _end(engine: Engine[CarState], pid: int) -> None:
    if os.getpid() == pid:  # a forked worker has a copy that is not its to end
        _owners.pop(pid, None)
        engine.close()
