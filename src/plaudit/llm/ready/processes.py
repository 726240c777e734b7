"""A Python process that is asked and answers in lines of JSON, and ends with all that it has started."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_ENDED = None
_WAIT = 0.1
"""Seconds."""
_LONGEST_ANSWER = 1_000_000
"""Bytes that are read of one process that runs once; it has to end when it writes more."""


class NoAnswer(Exception):  # not a TimeoutError: that may come from outside, and end all of this
    """A process has not answered in time."""


class Child:
    """A process in a session of its own, which runs a file of this package."""

    def __init__(
        self, file: str, *, folder: str | None = None, environment: Mapping[str, str] | None = None, once: bool = False
    ) -> None:
        """Start the process.

        Args:
            file: Name of the file, next to this one.
            folder: Its working directory.
            environment: All of its environment; that of this process if omitted.
            once: Whether it is asked once, so that what it answers can be bounded.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", str(Path(__file__).parent / file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=None if environment is None else dict(environment),
            start_new_session=True,
        )
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._left = _LONGEST_ANSWER if once else None
        self._reader = threading.Thread(target=self._read, name="plaudit-ready", daemon=True)
        self._reader.start()

    def send(self, question: Any) -> None:
        """Write a line; one that has ended already does not answer, which is noticed then."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()

    def receive(self, until: float) -> Any:
        """Return the next answer, or None if the process has ended; NoAnswer if there is none in time."""
        while True:  # in short waits: an exception that a watchdog raises in this thread arrives between them
            left = until - time.monotonic()
            with suppress(queue.Empty):
                line = self._lines.get(timeout=max(0.0, min(left, _WAIT)))
                return line if line is _ENDED else json.loads(line)
            if left <= 0:
                raise NoAnswer

    def kill(self) -> None:
        """Kill the process and its group."""
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def end(self) -> None:
        """Kill the process and its group, and wait for it, also if an exception from outside arrives meanwhile."""
        try:
            self._end()
        except BaseException:
            self._end()
            raise

    def _end(self) -> None:
        self.kill()
        self._process.wait()
        self._reader.join(timeout=1)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not self._reader.is_alive():
                with suppress(OSError):
                    pipe.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):
            while self._left is None or self._left > 0:
                line = self._process.stdout.readline(-1 if self._left is None else self._left)
                if not line.endswith(b"\n"):
                    break
                self._left = None if self._left is None else self._left - len(line)
                self._lines.put(line)
        self._lines.put(_ENDED)
