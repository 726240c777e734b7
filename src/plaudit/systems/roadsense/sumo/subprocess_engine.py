"""SUMO in a Python of its own: libsumo's speed less a round trip a step, and as many as a process asks for.

The child runs `main` of this very module: it holds libsumo, answers over its standard streams, and ends with the
process that started it. A message is its length and then the value as marshal writes it, floats to the bit.
"""

import marshal
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from plaudit.errors import InputError, MissingExtra, OutOfRange, PlauditError
from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.sumo.child_process import ChildProcess
from plaudit.systems.roadsense.sumo.inprocess_engine import LibsumoEngine
from plaudit.systems.roadsense.sumo.installation import find_version
from plaudit.systems.roadsense.sumo.plan import Plan, Start, plan_world
from plaudit.systems.roadsense.sumo.protocol import Command, normalise_commands
from plaudit.systems.roadsense.world import CarState, World

CHILD_PROGRAM = """
import sys
from importlib.util import find_spec, module_from_spec

for package in ("plaudit", "plaudit.systems", "plaudit.systems.roadsense", "plaudit.systems.roadsense.sumo"):
    sys.modules[package] = module_from_spec(find_spec(package))
sys.modules["numpy"] = None
from plaudit.systems.roadsense.sumo.subprocess_engine import main

main()
"""
"""What the child runs. The packages around `main` are found and not run: they would read every reward, which took a
third of the time in which a child starts. Nor is there NumPy for libsumo, which does without and would wait for it a
quarter of that time."""
# -P: what lies in the folder of the moment must not be imported in the name of a library.
CHILD_ARGUMENTS = ("-P", "-c", CHILD_PROGRAM)
"""How Python is started for the child; it imports nothing of the program that runs here."""
HEADER_BYTES = 4
"""Bytes of a message's length."""
READ_BYTES = 1 << 16
"""Bytes asked for at once; the message of a step has a few hundred."""
ERRORS = {error.__name__: error for error in (InputError, MissingExtra, OutOfRange, SimulatorError)}
"""What a child may answer with."""
Answer = tuple[str | None, Any]
"""The name of an error and its message, or None and the value."""


class SubprocessSimulation:
    """A simulation by the libsumo of a process of its own."""

    def __init__(self) -> None:
        """Start nothing yet; the process starts with the first world."""
        self.version = find_version("libsumo")
        self._child: ChildProcess | None = None

    def begin(self, world: World) -> None:
        """Begin a world: SUMO starts with the first one and loads the others."""
        plan = plan_world(world)
        if self._child is not None and not self._child.is_running:
            self.close()
        self._child = self._child or ChildProcess((sys.executable, *CHILD_ARGUMENTS), streams=subprocess.PIPE)
        try:
            self._request((*plan[:3], tuple(map(tuple, plan.starts)), plan.model))
        except SimulatorError:
            self.close()
            raise

    def step(self, commands: Sequence[Command] = ()) -> dict[str, CarState]:
        """Carry the commands out, advance 0.1 s, and return every car that is on the road."""
        new = tuple.__new__
        return {id: new(CarState, state) for id, state in self._request(normalise_commands(commands)).items()}

    def _request(self, request: Any) -> Any:
        """Send a request to the child and return its answer; an error of the child is raised here."""
        child = self._child
        if child is None or not child.is_own:
            raise SimulatorError("the simulation is not running: begin a world first")
        try:
            to, back = child.streams
            send(to, request)
            error, value = receive(back)
        except (EOFError, OSError):
            self._child = None
            raise child.close_with_error() from None
        except BaseException:  # such as a Ctrl-C: the answer is still on its way, and nothing would wait for it
            self.close()
            raise
        if error is not None:
            raise ERRORS.get(error, SimulatorError)(value)
        return value

    def close(self) -> None:
        """End the process; a second call does nothing."""
        child, self._child = self._child, None
        if child is not None:
            child.close()


def main() -> None:
    """Answer, in the child, until the other end closes the pipe or is gone."""
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever SUMO prints must not get between the answers
    try:
        engine = LibsumoEngine(tuple)
    except PlauditError as error:
        receive(0)
        return send(answers, _describe_error(error))
    while True:
        try:
            request = receive(0)
        except EOFError:
            return engine.close()
        try:
            send(answers, answer_request(engine, request))
        except BrokenPipeError:
            return engine.close()


def answer_request(engine: LibsumoEngine[tuple[Any, ...]], request: Any) -> Answer:
    """Return the answer to a list of commands, or to a plan."""
    try:
        if isinstance(request, list):
            return None, engine.step(request)
        path, seed, edges, starts, model = request
        engine.begin(Plan(path, seed, edges, tuple(Start(*start) for start in starts), model))
        return None, None
    except PlauditError as error:
        return _describe_error(error)


def _describe_error(error: PlauditError) -> Answer:
    return type(error).__name__, str(error)


def send(fd: int, value: Any) -> None:
    """Write a message; it raises `BrokenPipeError` when nothing reads any more."""
    payload = marshal.dumps(value)
    data = memoryview(len(payload).to_bytes(HEADER_BYTES, "big") + payload)
    while data:
        data = data[os.write(fd, data) :]


def receive(fd: int) -> Any:
    """Return the next message; it raises `EOFError` when the other end is gone.

    The two ends take turns, so that nothing follows a message before it is answered.
    """
    data = _read(fd)
    while len(data) < HEADER_BYTES or len(data) < HEADER_BYTES + int.from_bytes(data[:HEADER_BYTES], "big"):
        data += _read(fd)
    return marshal.loads(data[HEADER_BYTES:])


def _read(fd: int) -> bytes:
    data = os.read(fd, READ_BYTES)
    if not data:
        raise EOFError("the other end of the pipe is closed")
    return data
