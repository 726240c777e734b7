"""SUMO in a Python of its own: libsumo's speed less a round trip a step, and as many as a process asks for."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import plaudit.errors
from plaudit.errors import SimulatorError
from plaudit.systems.roadsense.sumo.hosted import Hosted
from plaudit.systems.roadsense.sumo.installed import version
from plaudit.systems.roadsense.sumo.orders import Command, plain
from plaudit.systems.roadsense.sumo.plan import plan
from plaudit.systems.roadsense.sumo.wire import receive, send
from plaudit.systems.roadsense.world import CarState, World

# -P: what lies in the folder of the moment must not be imported in the name of a library.
CHILD = ("-P", "-m", "plaudit.systems.roadsense.sumo.child")
"""What the child is run as; it imports nothing of the program that runs here."""


class Elsewhere:
    """A simulation by the libsumo of a process of its own."""

    def __init__(self) -> None:
        """Start nothing yet; the process starts with the first world."""
        self.version = version("libsumo")
        self._child: Hosted | None = None

    def begin(self, world: World) -> None:
        """Begin a world: SUMO starts with the first one and loads the others."""
        todo = plan(world)
        if self._child is not None and not self._child.is_running:
            self.close()
        self._child = self._child or Hosted((sys.executable, *CHILD), streams=subprocess.PIPE)
        try:
            self._ask((*todo[:3], tuple(map(tuple, todo.starts)), todo.model))
        except SimulatorError:
            self.close()
            raise

    def step(self, commands: Sequence[Command] = ()) -> dict[str, CarState]:
        """Carry the commands out, advance 0.1 s, and return every car that is on the road."""
        new = tuple.__new__
        return {id: new(CarState, state) for id, state in self._ask(plain(commands)).items()}

    def _ask(self, request: Any) -> Any:
        child = self._child
        if child is None or not child.is_own:
            raise SimulatorError("the simulation is not running: begin a world first")
        try:
            to, back = child.streams
            send(to, request)
            error, value = receive(back)
        except (EOFError, OSError):
            self._child = None
            raise child.died() from None
        except BaseException:  # such as a Ctrl-C: the answer is still on its way, and nobody would wait for it
            self.close()
            raise
        if error is not None:
            raise getattr(plaudit.errors, error)(value)
        return value

    def close(self) -> None:
        """End the process; a second call does nothing."""
        child, self._child = self._child, None
        if child is not None:
            child.close()
