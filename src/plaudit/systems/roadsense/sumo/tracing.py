"""SUMO as a program, asked over TraCI: the slowest way, the one with a window, and the one that others can watch."""

import os
import sys
import time
from collections.abc import Sequence

from plaudit.errors import SimulatorError
from plaudit.systems.roadsense.sumo.hosted import Hosted
from plaudit.systems.roadsense.sumo.installed import program, version
from plaudit.systems.roadsense.sumo.line import Fatal, Line, Refused, connected, constants
from plaudit.systems.roadsense.sumo.network import in_one_line
from plaudit.systems.roadsense.sumo.orders import Command, carry_out, orders
from plaudit.systems.roadsense.sumo.plan import Plan, plan
from plaudit.systems.roadsense.sumo.vehicles import place
from plaudit.systems.roadsense.world import EGO, STEP, CarState, World

DEPARTED = constants.VAR_DEPARTED_VEHICLES_IDS
POSITION, SPEED, ACCELERATION, HEADING = READ = (
    constants.VAR_POSITION,
    constants.VAR_SPEED,
    constants.VAR_ACCELERATION,
    constants.VAR_ANGLE,
)
"""What is read of every car in the answer to a step."""
WINDOW = ("--start", "--quit-on-end", "--window-size", "1200,480")
"""How `sumo-gui` opens its window: it waits for nobody to press a button."""
VIEW, ZOOM = "View #0", 3000.0
"""The part of the window with the road, and how near it is seen: some 100 m."""


class Traced:
    """A simulation by the program `sumo`, or `sumo-gui`."""

    def __init__(self, *, gui: bool = False) -> None:
        """Start nothing yet; SUMO starts with the first world."""
        if gui and not _has_display():
            raise SimulatorError("sumo-gui needs a display, and there is none: leave gui=False, or set DISPLAY")
        self.version = version("eclipse-sumo")
        self._program = program("sumo-gui" if gui else "sumo")
        self._window = WINDOW if gui else ()
        self._followed = False
        self._sumo: Hosted | None = None
        self._line: Line | None = None

    def begin(self, world: World) -> None:
        """Begin a world: SUMO starts with the first one and loads the others."""
        todo = plan(world)
        if self._sumo is not None and not self._sumo.is_running:
            self.close()
        try:
            line = self._started_or_loaded(todo)
            place(line, todo)
            line.simulation.subscribe([DEPARTED])
            self._followed = False
        except Refused as error:
            self.close()
            raise SimulatorError(f"SUMO refuses the world on {todo.path}: {in_one_line(error)}") from error
        except (Fatal, OSError) as error:
            raise self._died(error) from None
        except BaseException:
            self.close()
            raise

    def _started_or_loaded(self, todo: Plan) -> Line:
        if self._line is not None:
            self._line.load([*self._window, *todo.options])  # or the window would wait for a button again
            return self._line
        self._sumo, self._line = connected([self._program, *self._window, *todo.options])
        self._orders = orders(self._line.vehicle)
        return self._line

    def step(self, commands: Sequence[Command] = ()) -> dict[str, CarState]:
        """Carry the commands out, advance 0.1 s, and return every car that is on the road."""
        line, sumo = self._line, self._sumo
        if line is None or sumo is None or not sumo.is_own:
            raise SimulatorError("the simulation is not running: begin a world first")
        try:
            carry_out(self._orders, commands)
            line.simulationStep()
            cars = _cars(line)
            if self._window:
                self._show(line, cars)
            return cars
        except Refused as error:
            raise SimulatorError(f"SUMO refuses to go on: {in_one_line(error)}") from error
        except (Fatal, OSError) as error:
            raise self._died(error) from None
        except (KeyboardInterrupt, SystemExit):  # the answer is still on its way, and nobody would wait for it
            self.close()
            raise

    def _show(self, line: Line, cars: dict[str, CarState]) -> None:
        """Let the window follow the driven car, since all of the road would show none, and as fast as on a road."""
        if EGO in cars and not self._followed:
            line.gui.trackVehicle(VIEW, EGO)
            line.gui.setZoom(VIEW, ZOOM)
            self._followed = True
        time.sleep(STEP)

    def _died(self, error: Exception) -> SimulatorError:
        sumo, self._sumo, self._line = self._sumo, None, None
        return sumo.died() if sumo is not None else SimulatorError(f"SUMO died: {error}")

    def close(self) -> None:
        """End SUMO; a second call does nothing."""
        sumo, self._sumo, self._line = self._sumo, None, None
        if sumo is not None:
            sumo.close()


def _cars(line: Line) -> dict[str, CarState]:
    vehicle, new = line.vehicle, tuple.__new__
    for car in line.simulation.getSubscriptionResults()[DEPARTED]:  # not before: SUMO would answer with sentinels
        vehicle.subscribe(car, READ)
    return {
        car: new(CarState, (*read[POSITION], read[SPEED], read[ACCELERATION], read[HEADING], 0.0, 0))
        for car, read in sorted(vehicle.getAllSubscriptionResults().items())
    }


def _has_display() -> bool:
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
