"""SUMO under a convoy: one way to begin a world and to step it, whether SUMO runs in this process or in another."""

from collections.abc import Sequence
from typing import Literal, Protocol, get_args

from plaudit.errors import InputError, did_you_mean
from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.sumo.inprocess_engine import InprocessSimulation, LibsumoUnavailable
from plaudit.systems.roadsense.sumo.installation import find_version
from plaudit.systems.roadsense.sumo.network import find_road
from plaudit.systems.roadsense.sumo.protocol import Command
from plaudit.systems.roadsense.sumo.route import Road
from plaudit.systems.roadsense.world import CarState, World

__all__ = ["BINDINGS", "Binding", "Command", "Road", "Simulation", "build_simulation", "find_road"]

Binding = Literal["auto", "libsumo", "process", "traci"]
"""How SUMO is run: in this process where it can be and else in one of its own, which is `auto`; in this process or not
at all; in a process of its own; or as the program `sumo`."""
BINDINGS: tuple[Binding, ...] = get_args(Binding)


class Simulation(Protocol):
    """A SUMO that can begin one world after another."""

    version: str
    """Of SUMO, such as `1.28.0`."""

    def begin(self, world: World) -> None:
        """Begin a world; SUMO starts with the first one and loads the others."""

    def step(self, commands: Sequence[Command] = ()) -> dict[str, CarState]:
        """Carry the commands out, advance 0.1 s, and return every car that is on the road."""

    def close(self) -> None:
        """End the simulation and every process it started; a second call does nothing."""


class AutoSimulation:
    """A simulation in this process if libsumo can be used when the first world begins, else in a process of its own.

    Both give the same episodes to the bit. It stays where it began until it is closed.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self.version = find_version("libsumo")
        self._chosen: Simulation | None = None

    def begin(self, world: World) -> None:
        """Begin a world: SUMO starts with the first one and loads the others."""
        self._chosen = self._chosen or build_simulation("libsumo")
        try:
            self._chosen.begin(world)
        except LibsumoUnavailable:
            self._chosen = build_simulation("process")
            self._chosen.begin(world)

    def step(self, commands: Sequence[Command] = ()) -> dict[str, CarState]:
        """Carry the commands out, advance 0.1 s, and return every car that is on the road."""
        if self._chosen is None:
            raise SimulatorError("the simulation is not running: begin a world first")
        return self._chosen.step(commands)

    def close(self) -> None:
        """End the simulation; a second call does nothing."""
        chosen, self._chosen = self._chosen, None
        if chosen is not None:
            chosen.close()


def build_simulation(binding: Binding = "auto", *, gui: bool = False) -> Simulation:
    """Return a simulation that is not started yet."""
    if binding not in BINDINGS:
        near = did_you_mean(str(binding), BINDINGS)
        raise InputError(f"there is no binding {binding!r}; choose from {', '.join(BINDINGS)}.{near}")
    if gui and binding != "traci":
        raise InputError(f'sumo-gui runs as a separate program: it needs binding="traci", not {binding!r}')
    if binding == "auto":
        return AutoSimulation()
    if binding == "traci":
        from plaudit.systems.roadsense.sumo.traci_client import TraciSimulation

        return TraciSimulation(gui=gui)
    if binding == "process":
        from plaudit.systems.roadsense.sumo.subprocess_engine import SubprocessSimulation

        return SubprocessSimulation()
    return InprocessSimulation()
