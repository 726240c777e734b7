"""SUMO under a convoy: one way to begin a world and to step it, whether SUMO runs in this process or in another."""

import sys
from collections.abc import Sequence
from typing import Literal, Protocol, get_args

from plaudit.errors import InputError, did_you_mean
from plaudit.systems.roadsense.sumo.network import find_road
from plaudit.systems.roadsense.sumo.protocol import Command
from plaudit.systems.roadsense.sumo.route import Road
from plaudit.systems.roadsense.world import CarState, World

__all__ = ["BINDINGS", "Binding", "Command", "Road", "Simulation", "build_simulation", "find_road"]

Binding = Literal["libsumo", "process", "traci"]
"""How SUMO is run: in this process, in a process of its own, or as the program `sumo`."""
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


def build_simulation(binding: Binding = "libsumo", *, gui: bool = False) -> Simulation:
    """Return a simulation that is not started yet.

    With a pyarrow loaded beside it, libsumo may crash: SUMO then gets a process of its own, as with `process`.
    """
    if binding not in BINDINGS:
        raise InputError(f"no binding {binding!r}: {', '.join(BINDINGS)}.{did_you_mean(str(binding), BINDINGS)}")
    if gui and binding != "traci":
        raise InputError(f'sumo-gui is a program of its own: it needs binding="traci", not {binding!r}')
    if binding == "traci":
        from plaudit.systems.roadsense.sumo.traci_client import TraciSimulation

        return TraciSimulation(gui=gui)
    if binding == "process" or "pyarrow" in sys.modules:
        from plaudit.systems.roadsense.sumo.subprocess_engine import SubprocessSimulation

        return SubprocessSimulation()
    from plaudit.systems.roadsense.sumo.inprocess_engine import InprocessSimulation

    return InprocessSimulation()
