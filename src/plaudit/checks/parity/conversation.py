"""A conversation with a program: one line to it, one line back, within a time limit.

Threads do the reading and writing, so that no pipe can block the caller; they work the same on every system. At the end
the program and all processes that it started are killed.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from time import monotonic, sleep
from typing import IO

from plaudit.checks.parity.answers import NoAnswer, shorten_answer
from plaudit.errors import FileError

LONGEST_ANSWER = 1 << 20
"""In bytes. A longer line is an error."""
LAST_WORDS = 4_096
"""Bytes of standard error that are kept, and lines of it that are shown."""
LINES_TOLD = 5
GLANCE = 0.2
"""Seconds between two checks of a silent program."""
GRACE = 0.5
"""Seconds for a program to end once its input or output is closed."""


class Conversation:
    """A running program."""

    def __init__(self, command: str | Sequence[str], *, shell: bool = False) -> None:
        """Start it."""
        self._process = _start_process(command, shell=shell)
        self._changed = threading.Condition()
        self._heard = bytearray()
        """Output that has not been read yet."""
        self._silent = False
        """It has closed its standard output."""
        self._deaf = False
        """It has closed its standard input."""
        self._words = bytearray()
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        work = (self._listen, self._overhear, self._speak)
        self._threads = [threading.Thread(target=each, daemon=True) for each in work]
        for thread in self._threads:
            thread.start()

    def ask(self, line: bytes, timeout: float) -> bytes:
        """Return its answer to `line`; NoAnswer if it does anything else."""
        self.check_silence(row_before=True)
        self._lines.put(line)
        until = monotonic() + timeout
        with self._changed:
            while not self._has_spoken() and (left := until - monotonic()) > 0:
                self._changed.wait_for(lambda: self._has_spoken() or self._deaf, min(left, GLANCE))
                if self._deaf or _has_exited(self._process):  # its last output may still be in the pipe
                    self._changed.wait_for(self._has_spoken, GRACE)
                    break
            answer, newline, rest = self._heard.partition(b"\n")
            if newline:
                self._heard = rest
        if not newline:
            raise self._describe_failure(bytes(answer), timeout, slow=monotonic() >= until)
        if rest:
            text = f"printed more than one line for a row: {shorten_answer(bytes(answer))} and {_first_line(rest)}"
            raise NoAnswer("extra output", text, slow=True)
        return bytes(answer)

    def check_silence(self, *, wait: float = 0.0, row_before: bool = False) -> None:
        """Raise NoAnswer for unexpected output, which may come within `wait` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._heard), wait)
            stray = _first_line(self._heard)
        if self._heard:
            text = f"printed more than one line for a row: after its answer came {stray}"
            raise NoAnswer("extra output", text, row_before=row_before, slow=True)

    def finish(self) -> None:
        """Close its input; raise NoAnswer if it still prints something."""
        self._lines.put(None)
        with self._changed:
            self._changed.wait_for(lambda: self._silent or bool(self._heard), GRACE)
        self.check_silence(row_before=True)

    def end(self) -> None:
        """Kill it and all processes that it started."""
        self._lines.put(None)
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        for thread in self._threads:  # one may stay blocked if another process keeps a pipe open
            thread.join(GRACE)

    # -- the threads ------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        _read_pieces(self._process.stdout, self._hear)
        with self._changed:
            self._silent = True
            self._changed.notify_all()

    def _hear(self, piece: bytes) -> bool:
        with self._changed:
            self._heard += piece
            self._changed.notify_all()
            return len(self._heard) <= LONGEST_ANSWER

    def _overhear(self) -> None:
        def keep(piece: bytes) -> bool:
            self._words = (self._words + piece)[-LAST_WORDS:]
            return True

        _read_pieces(self._process.stderr, keep)

    def _speak(self) -> None:
        try:
            with _require_stream(self._process.stdin) as stream:
                while (line := self._lines.get()) is not None:
                    rest = memoryview(line)
                    while rest:
                        rest = rest[stream.write(rest) :]
        except OSError:
            with self._changed:
                self._deaf = True
                self._changed.notify_all()

    # -- what went wrong --------------------------------------------------------------------------------------------

    def _has_spoken(self) -> bool:
        return b"\n" in self._heard or self._silent or len(self._heard) > LONGEST_ANSWER

    def _describe_failure(self, partial: bytes, timeout: float, *, slow: bool) -> NoAnswer:
        if len(partial) > LONGEST_ANSWER:
            return NoAnswer(
                "too long", f"answered with a line of more than {LONGEST_ANSWER:,} bytes: {shorten_answer(partial)}"
            )
        began = f" in the middle of a line, {shorten_answer(partial)}" if partial else " instead of answering"
        kind = "partial line" if partial else "ended"
        if self._has_ended(GRACE if self._silent else 0.0):
            return NoAnswer(kind, f"{self._describe_end()}{began}.{self._format_stderr()}", slow=slow)
        if self._silent:
            return NoAnswer(kind, f"closed its standard output{began}.{self._format_stderr()}", slow=slow)
        if self._deaf:
            return NoAnswer(kind, f"closed its standard input{began}.{self._format_stderr()}", slow=slow)
        if partial:
            newline = " The newline at its end is missing." if _is_json(partial) else ""
            text = (
                f"answered with part of a line, {shorten_answer(partial)}, and no more within {timeout:g} s.{newline}"
            )
        else:
            kind = "timeout"
            text = f"gave no answer within {timeout:g} s. Does it flush its output after every line?"
        return NoAnswer(kind, text + self._format_stderr(), slow=True)

    def _has_ended(self, within: float) -> bool:
        """Return whether it has ended. It is not reaped yet, so its process id is not reused."""
        until = monotonic() + within
        while not _has_exited(self._process):
            if monotonic() >= until:
                return False
            sleep(0.002)
        return True

    def _describe_end(self) -> str:
        self.end()
        code = self._process.returncode
        if code >= 0:
            return f"ended with exit code {code}"
        with contextlib.suppress(ValueError):
            return f"was killed by signal {-code} ({signal.Signals(-code).name})"
        return f"was killed by signal {-code}"

    def _format_stderr(self) -> str:
        lines = self._words.decode(errors="backslashreplace").strip().splitlines()[-LINES_TOLD:]
        return "\nThe end of its standard error:" + "".join(f"\n    {line}" for line in lines) if lines else ""


def _start_process(command: str | Sequence[str], *, shell: bool) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            command, shell=shell, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
        )
    except (OSError, ValueError) as error:
        first = command if isinstance(command, str) else command[0]
        if isinstance(error, FileNotFoundError) and not shutil.which(first):
            here = f" The file in this folder is ./{first}." if os.path.isfile(first) and os.sep not in first else ""
            raise FileError(f"there is no program {first!r}.{here}") from None
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"the program {first!r} cannot be started: {reason}.") from None


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def _read_pieces(stream: IO[bytes] | None, take: Callable[[bytes], bool]) -> None:
    """Pass on the output of a pipe until it ends or `take` returns false."""
    with contextlib.suppress(OSError), _require_stream(stream) as open_stream:
        while piece := open_stream.read(1 << 16):
            if not take(piece):
                return


def _require_stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "every stream is a pipe"
    return stream


def _first_line(text: bytearray) -> str:
    return shorten_answer(bytes(text[:LAST_WORDS]).partition(b"\n")[0])


def _is_json(text: bytes) -> bool:
    with contextlib.suppress(ValueError, RecursionError):
        json.loads(text)
        return True
    return False
