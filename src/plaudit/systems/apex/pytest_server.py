"""A process that has imported pytest and forks once for each run of tests: what a run does is gone with its fork."""

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from plaudit.errors import FileError

PLUGIN = "plaudit_pytest_plugin"
"""What the plugin is called that the tests run with; as a program it is this process."""


class PytestServer:
    """Runs tests one after another, each run in a process group of its own that is ended when it is done.

    `run` blocks, and `stop` may come from any thread: it ends the process and the run, which then has no code.
    """

    def __init__(self, python: str, environment: Mapping[str, str]) -> None:
        """Start the process; FileError where there is no such Python."""
        self.environment = dict(environment)
        self.stopped = False
        self.runs = 0
        """How many runs it has begun."""
        self.errors = ""
        """What it said when it could not go on, once it is closed."""
        self._child: int | None = None
        self._mutex = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="plaudit-")
        program = Path(self._folder.name, f"{PLUGIN}.py")
        program.write_bytes(files("plaudit.systems.apex").joinpath("pytest_plugin.py").read_bytes())
        self._said = program.with_name("errors")
        try:
            with self._said.open("wb") as errors:
                self._process: subprocess.Popen[bytes] = subprocess.Popen(
                    [python, str(program)],
                    cwd=self._folder.name,
                    env=self.environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,  # a Ctrl-C at the terminal is for us, and we end it
                )
        except OSError as error:
            self._folder.cleanup()
            raise FileError(f"{python} cannot be started: {error.strerror or error}") from None

    @property
    def alive(self) -> bool:
        """Whether it can run tests."""
        return not self.stopped and self._process.poll() is None

    def run(self, project: Path, folder: Path, arguments: Sequence[str]) -> int | None:
        """Run the tests of `project` and return the code that pytest's process ended with; None where it is not known.

        `folder` holds the key, and takes the results and what is printed.
        """
        order = json.dumps([str(project), str(folder), *arguments]).encode() + b"\n"
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):  # it has ended: then it answers nothing
            self._process.stdin.write(order)
            self._process.stdin.flush()
        started = self._process.stdout.readline()
        if not started:
            return None
        self.runs += 1
        try:
            with self._mutex:
                self._child = int(started)
                if self.stopped:
                    _kill_group(self._child)
            code = self._process.stdout.readline()
            if not code and self._child == self._process.pid:  # it cannot fork, and was this run itself
                return None if self.stopped else self._process.wait()
            return int(code) if code else None
        finally:
            with self._mutex:
                _kill_group(self._child)
                self._child = None

    def stop(self) -> None:
        """End the process, the run that is under way, and all that this one started."""
        with self._mutex:
            self.stopped = True
            _kill_group(self._process.pid)
            _kill_group(self._child)

    def close(self) -> None:
        """Stop, and leave nothing behind."""
        self.stop()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self.errors = self._said.read_text(encoding="utf-8", errors="replace")
        self._folder.cleanup()


def _kill_group(process: int | None) -> None:
    """End a process and all that it started, but for what began a session of its own."""
    if process is None:
        return
    with suppress(ProcessLookupError, PermissionError):  # nothing is left, or only what has ended
        if hasattr(os, "killpg"):
            os.killpg(process, signal.SIGKILL)
        else:
            os.kill(process, signal.SIGTERM)
