"""The line to a running `sumo`: TraCI's connection, without its waiting and its lines on the terminal."""

import socket
import time
from collections.abc import Sequence

from plaudit.errors import SimulatorError
from plaudit.systems.roadsense.sumo.hosted import Hosted
from plaudit.systems.roadsense.sumo.installed import missing

try:
    # libsumo, where it is imported too, puts its own error into traci.exceptions: these are the ones that are raised.
    from traci import constants
    from traci.connection import Connection
    from traci.connection import FatalTraCIError as Fatal
    from traci.connection import TraCIException as Refused
except ImportError as error:
    raise missing("traci") from error

__all__ = ["Fatal", "Line", "Refused", "connected", "constants"]

PORTS = 5
"""How many ports are tried: another program may take one between its choice and its use."""
PAUSE = 0.005
"""Seconds between two tries to connect. `traci.start` waits a whole second and prints a line about it."""
TRIES = 6000
"""Half a minute; SUMO listens after some 20 ms, its window after seconds."""


class Line(Connection):  # type: ignore[misc]  # traci has no types
    """A connection that can be dropped, whatever state it is in."""

    def hang_up(self) -> None:
        """Close the socket and say nothing to the other end."""
        if self._socket is not None:
            self._socket.close()
            self._socket: socket.socket | None = None


def connected(command: Sequence[str]) -> tuple[Hosted, Line]:
    """Return a SUMO that was started with `command`, and the line to it."""
    said = ""
    for _ in range(PORTS):
        port = _free_port()
        sumo = Hosted([*command, "--remote-port", str(port)])
        try:
            line = _line(sumo, port)
        except BaseException:
            sumo.close()
            raise
        if line is not None:
            sumo.at_end(line.hang_up)
            return sumo, line
        said = sumo.said()
        sumo.close()
        if "address already in use" not in said.lower():
            break
    raise SimulatorError(f"SUMO did not start: {said or 'it ended without a word'}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _line(sumo: Hosted, port: int) -> Line | None:
    """Return the line to a SUMO as soon as it listens, or None when it ends before it does."""
    for _ in range(TRIES):
        try:
            return Line("127.0.0.1", port, None, None, False)
        except OSError:
            if not sumo.is_running:
                return None
            time.sleep(PAUSE)
    raise SimulatorError(f"SUMO did not listen on port {port} within {TRIES * PAUSE:.0f} s")
