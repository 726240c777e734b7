"""A program that this process started for SUMO, and that never outlives it."""

import os
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from plaudit.systems.roadsense.errors import SimulatorError, extract_reasons
from plaudit.systems.roadsense.sumo.installation import build_environment


class ChildProcess:
    """A running program; what it complains of is kept off the terminal, for the error that it may become.

    It is ended by `close`, or when nothing refers to it any more, or at the end of this process.
    """

    def __init__(self, command: Sequence[str], *, streams: int = subprocess.DEVNULL) -> None:
        """Start `command`, in a session of its own: a Ctrl-C at the terminal is for this process to act on."""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the program, by _kill)
        try:
            self.popen = subprocess.Popen(
                command,
                stdin=streams,
                stdout=streams,
                stderr=self._stderr,
                env=build_environment(),
                start_new_session=True,
            )
        except OSError as error:
            self._stderr.close()
            raise SimulatorError(f"{command[0]} cannot be started: {error.strerror}. Install SUMO again") from error
        pipes = [pipe for pipe in (self.popen.stdin, self.popen.stdout) if pipe is not None]
        self.streams = tuple(pipe.fileno() for pipe in pipes)
        """Where to write to the program and where to read from it, if anywhere."""
        self._pid = os.getpid()
        self._closing = ExitStack()
        for file in (*pipes, self._stderr):
            self._closing.callback(file.close)
        self._finalizer = weakref.finalize(self, _kill, self.popen, self._closing, self._pid)

    @property
    def is_own(self) -> bool:
        """Whether this process started it: a forked worker has a copy, and must not talk to its parent's program."""
        return self._pid == os.getpid()

    @property
    def is_running(self) -> bool:
        """Whether the program has not ended, as far as this process can ask it anything."""
        return self.is_own and self.popen.poll() is None

    def call_at_end(self, close: Callable[[], object]) -> None:
        """Call `close` once the program has ended."""
        self._closing.callback(close)

    def close_with_error(self) -> SimulatorError:
        """Return the error of a program that does not answer any more, and clean up after it."""
        try:
            self.popen.wait(timeout=1.0)
            how = _describe_exit(self.popen.returncode)
        except subprocess.TimeoutExpired:
            how = "it does not answer"
        complaints = self.read_complaints()
        self.close()
        return SimulatorError(f"SUMO died: {how}{f' ({complaints})' if complaints else ''}. Begin the world again")

    def read_complaints(self) -> str:
        """Return what the program complained of, in one line."""
        self._stderr.seek(0)
        return extract_reasons(self._stderr.read().decode(errors="replace"))[-1000:]

    def close(self) -> None:
        """End the program and wait until it is gone; a second call does nothing."""
        self._finalizer()


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"it ended with {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"


def _kill(popen: "subprocess.Popen[bytes]", closing: ExitStack, pid: int) -> None:
    if os.getpid() == pid:
        popen.kill()  # it keeps nothing that it would have to save
        popen.wait()
    else:  # a forked worker has a copy that is not its to end, nor to wait for, which Popen would warn of
        popen.returncode = 0
    closing.close()
