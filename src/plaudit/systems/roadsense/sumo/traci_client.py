"""SUMO as a program, driven over TraCI: the slowest way, the one with a window, and the one that others can watch."""

import socket
import time
from collections.abc import Sequence

from plaudit.systems.roadsense.errors import SimulatorError, join_lines
from plaudit.systems.roadsense.sumo.child_process import ChildProcess
from plaudit.systems.roadsense.sumo.installation import find_program, find_version, has_display, missing_part_error
from plaudit.systems.roadsense.sumo.plan import Plan, place_cars, plan_world
from plaudit.systems.roadsense.sumo.protocol import Command, apply_commands, map_commands
from plaudit.systems.roadsense.world import EGO, STEP, CarState, World

try:
    # libsumo, where it is imported too, puts its own error into traci.exceptions: these are the ones that are raised.
    from traci import constants
    from traci.connection import Connection
    from traci.connection import FatalTraCIError as Fatal
    from traci.connection import TraCIException as Refused
except ImportError as error:
    raise missing_part_error("traci") from error


DEPARTED = constants.VAR_DEPARTED_VEHICLES_IDS
POSITION, SPEED, ACCELERATION, HEADING = READ = (
    constants.VAR_POSITION,
    constants.VAR_SPEED,
    constants.VAR_ACCELERATION,
    constants.VAR_ANGLE,
)
"""What is read of every car in the answer to a step."""
WINDOW = ("--start", "--quit-on-end", "--window-size", "1200,480")
"""How `sumo-gui` opens its window: it does not wait for a button press."""
VIEW, ZOOM = "View #0", 3000.0
"""The part of the window with the road, and how near it is seen: some 100 m."""
PORTS = 5
"""How many ports are tried: another program may take one between its choice and its use."""
PAUSE = 0.005
"""Seconds between two tries to connect. `traci.start` waits a whole second and prints a line about it."""
TRIES = 6000
"""Half a minute; SUMO listens after some 20 ms, its window after seconds."""


class TraciConnection(Connection):  # type: ignore[misc]  # traci has no types
    """A connection that can be dropped, whatever state it is in."""

    def drop(self) -> None:
        """Close the socket and say nothing to the other end."""
        if self._socket is not None:
            self._socket.close()
            self._socket: socket.socket | None = None


def start_sumo(command: Sequence[str]) -> tuple[ChildProcess, TraciConnection]:
    """Return a SUMO that was started with `command`, and the connection to it."""
    complaints = ""
    for _ in range(PORTS):
        port = _find_free_port()
        sumo = ChildProcess([*command, "--remote-port", str(port)])
        try:
            connection = _connect(sumo, port)
        except BaseException:
            sumo.close()
            raise
        if connection is not None:
            sumo.call_at_end(connection.drop)
            return sumo, connection
        complaints = sumo.read_complaints()
        sumo.close()
        if "address already in use" not in complaints.lower():
            break
    raise SimulatorError(f"SUMO did not start: {complaints or 'it ended without a message'}")


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _connect(sumo: ChildProcess, port: int) -> TraciConnection | None:
    """Return the connection to a SUMO as soon as it listens, or None when it ends before it does."""
    for _ in range(TRIES):
        try:
            return TraciConnection("127.0.0.1", port, None, None, False)
        except OSError:
            if not sumo.is_running:
                return None
            time.sleep(PAUSE)
    raise SimulatorError(f"SUMO did not listen on port {port} within {TRIES * PAUSE:.0f} s")


class TraciSimulation:
    """A simulation by the program `sumo`, or `sumo-gui`."""

    def __init__(self, *, gui: bool = False) -> None:
        """Start nothing yet; SUMO starts with the first world."""
        if gui and not has_display():
            raise SimulatorError("there is no display for SUMO's window: set DISPLAY, or use render_mode='rgb_array'")
        self.version = find_version("eclipse-sumo")
        self._program = find_program("sumo-gui" if gui else "sumo")
        self._window = WINDOW if gui else ()
        self._followed = False
        self._sumo: ChildProcess | None = None
        self._connection: TraciConnection | None = None

    def begin(self, world: World) -> None:
        """Begin a world: SUMO starts with the first one and loads the others."""
        plan = plan_world(world)
        if self._sumo is not None and not self._sumo.is_running:
            self.close()
        try:
            connection = self._start_or_load(plan)
            place_cars(connection, plan)
            connection.simulation.subscribe([DEPARTED])
            self._followed = False
        except Refused as error:
            self.close()
            raise SimulatorError(f"SUMO rejected the world on {plan.path}: {join_lines(error)}") from error
        except (Fatal, OSError) as error:
            raise self._close_with_error(error) from None
        except BaseException:
            self.close()
            raise

    def _start_or_load(self, plan: Plan) -> TraciConnection:
        if self._connection is not None:
            self._connection.load([*self._window, *plan.options])  # or the window would wait for a button again
            return self._connection
        self._sumo, self._connection = start_sumo([self._program, *self._window, *plan.options])
        self._calls = map_commands(self._connection.vehicle)
        return self._connection

    def step(self, commands: Sequence[Command] = ()) -> dict[str, CarState]:
        """Carry the commands out, advance 0.1 s, and return every car that is on the road."""
        connection, sumo = self._connection, self._sumo
        if connection is None or sumo is None or not sumo.is_own:
            raise SimulatorError("the simulation is not running: begin a world first")
        try:
            apply_commands(self._calls, commands)
            connection.simulationStep()
            cars = _read_cars(connection)
            if self._window:
                self._show(connection, cars)
            return cars
        except Refused as error:
            raise SimulatorError(f"SUMO stopped the simulation: {join_lines(error)}") from error
        except (Fatal, OSError) as error:
            raise self._close_with_error(error) from None
        except (KeyboardInterrupt, SystemExit):  # the answer is still on its way, and nothing would wait for it
            self.close()
            raise

    def _show(self, connection: TraciConnection, cars: dict[str, CarState]) -> None:
        """Let the window follow the driven car, since all of the road would show none, and as fast as on a road."""
        if EGO in cars and not self._followed:
            connection.gui.trackVehicle(VIEW, EGO)
            connection.gui.setZoom(VIEW, ZOOM)
            self._followed = True
        time.sleep(STEP)

    def _close_with_error(self, error: Exception) -> SimulatorError:
        sumo, self._sumo, self._connection = self._sumo, None, None
        return sumo.close_with_error() if sumo is not None else SimulatorError(f"SUMO died: {error}")

    def close(self) -> None:
        """End SUMO; a second call does nothing."""
        sumo, self._sumo, self._connection = self._sumo, None, None
        if sumo is not None:
            sumo.close()


def _read_cars(connection: TraciConnection) -> dict[str, CarState]:
    vehicle, new = connection.vehicle, tuple.__new__
    for car in connection.simulation.getSubscriptionResults()[DEPARTED]:  # not before: SUMO would answer with sentinels
        vehicle.subscribe(car, READ)
    return {
        car: new(CarState, (*read[POSITION], read[SPEED], read[ACCELERATION], read[HEADING], 0.0, 0))
        for car, read in sorted(vehicle.getAllSubscriptionResults().items())
    }
