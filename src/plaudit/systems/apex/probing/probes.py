"""What the reward reads of a project, measured: its tests are run by pytest in a process of their own."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, NamedTuple

from plaudit.errors import FileError, InputError, MissingExtra, OutOfRange, ProbeTimeout
from plaudit.systems.apex.logs.values import count
from plaudit.systems.apex.probing.junit import LONGEST, Failure, PytestRun, read_report

TAIL = 12
"""How many lines of what pytest printed an error shows."""
_LARGEST = 65_536
"""How many bytes of it are looked at."""

_NO_TESTS = 5
"""How pytest ends when it finds no tests."""
_CONFTEST = "while loading conftest"
"""What pytest says of a `conftest.py` that cannot be imported; there is no report then."""
_WATCHING = "plaudit_watching"
"""What the plugin is called that the tests run with."""


class PytestProbe:
    """Runs the tests of the project in `folder` and counts how many pass.

    The tests run with the project's own settings, by `python`, in a process group of their own that is ended when they
    are done, and after `timeout` seconds at the latest. Nothing is written to the project: no cache and no compiled
    files. A test that is skipped does not count; one that never came to its end, because a test stopped them all, is
    failing. A file that cannot be imported counts as one failing test and is named in `broken`. With `expected`, tests
    that are missing count as failing: a pass rate does not rise because a test was deleted.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        python: str | os.PathLike[str] = sys.executable,
        timeout: float = 60.0,
        expected: int | None = None,
        plugins: bool = True,
        arguments: Sequence[str] = (),
    ) -> None:
        """Choose a project; `arguments` are further ones for pytest.

        Without `plugins` those that happen to be installed are left out, and the tests may start much sooner.
        """
        if not timeout > 0:
            raise OutOfRange(f"timeout={timeout!r} must be a number of seconds above 0.")
        self.folder = Path(folder).absolute()
        self.python = _from_anywhere(os.fspath(python))
        self.timeout = timeout
        self.expected = None if expected is None else count("expected", expected)
        self.plugins = plugins
        self.arguments = tuple(arguments)

    def run(self) -> PytestRun:
        """Run the tests and return what became of them.

        ProbeTimeout where they do not end in time, MissingExtra where that Python has no pytest, FileError where the
        folder or the Python is not there, and InputError where there are no tests, or pytest itself failed.
        """
        with self._bench() as bench:
            with self._startable():
                process = subprocess.Popen(bench.command, **bench.options)
            try:
                code = process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                raise self._late(bench) from None
            finally:
                _end(process)
                process.wait()
            return self._read(code, bench)

    async def arun(self) -> PytestRun:
        """Do what `run` does while other tasks go on; where it is cancelled, the tests are ended."""
        with self._bench() as bench:
            with self._startable():
                process = await asyncio.create_subprocess_exec(*bench.command, **bench.options)
            try:
                code = await asyncio.wait_for(process.wait(), self.timeout)
            except TimeoutError:
                raise self._late(bench) from None
            finally:
                _end(process)
                await process.wait()
            return self._read(code, bench)

    @contextmanager
    def _bench(self) -> "Iterator[_Bench]":
        """Yield what a run needs; the report and what is printed go to a folder that is gone afterwards."""
        if not self.folder.is_dir():
            raise FileError(f"{self.folder} is no folder: name the project whose tests are to be run.")
        with tempfile.TemporaryDirectory(prefix="plaudit-") as scratch:
            report = Path(scratch, "report.xml")
            plugin = files("plaudit.systems.apex.probing").joinpath("watching.py").read_bytes()
            Path(scratch, f"{_WATCHING}.py").write_bytes(plugin)
            with Path(scratch, "printed.txt").open("w+b") as printed:
                yield _Bench(self._command(report), self._options(printed, scratch), report, printed)

    def _command(self, report: Path) -> list[str]:
        options = ("-q", "--color=no", "-p", _WATCHING, "--maxfail=0", "--continue-on-collection-errors")
        cache = f"cache_dir={report.with_name('cache')}"
        return [self.python, "-m", "pytest", *options, "-o", cache, f"--junitxml={report}", *self.arguments]

    def _options(self, printed: IO[bytes], scratch: str) -> dict[str, Any]:
        """Return how the process is started: nothing of a pytest that runs around us reaches it."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [scratch, environment.get("PYTHONPATH")]))
        if not self.plugins:
            environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        return {
            "cwd": self.folder,
            "env": environment,
            "stdin": subprocess.DEVNULL,
            "stdout": printed,  # a file and no pipe: what a test leaves running cannot hold us up
            "stderr": subprocess.STDOUT,
            "start_new_session": True,
        }

    @contextmanager
    def _startable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise FileError(f"{self.python} cannot be started: {error.strerror or error}") from None

    def _read(self, code: int, bench: "_Bench") -> PytestRun:
        """Return what the report says; where there is none, an error says why."""
        run = read_report(bench.report)
        printed = bench.text()
        if run is None and _CONFTEST in printed:
            return PytestRun(0, 1, broken=(Failure("conftest", _last_error(printed)),)).expecting(self.expected)
        if run is None and "No module named pytest" in printed:
            raise MissingExtra(f"{self.python} has no pytest to run tests with: {self.python} -m pip install pytest")
        if run is None or code not in (0, 1, 2, _NO_TESTS):
            raise InputError(f"{self.folder}: pytest ended with code {code} and no result.\n{_tail(printed)}")
        run = run.expecting(self.expected)
        if not run.total:
            skipped = f" but {run.skipped} that are skipped" if run.skipped else ""
            raise InputError(
                f"{self.folder}: pytest found no tests{skipped}, and without one there is no pass rate. "
                "It looks for functions called test_… in files called test_….py."
            )
        return run

    def _late(self, bench: "_Bench") -> ProbeTimeout:
        return ProbeTimeout(
            f"{self.folder}: the tests did not end within {self.timeout:g} seconds and were stopped. Give them a "
            f"longer timeout, or look for a loop without end.\n{_tail(bench.text())}"
        )


class _Bench(NamedTuple):
    """What one run of pytest needs."""

    command: list[str]
    options: dict[str, Any]
    report: Path
    printed: IO[bytes]

    def text(self) -> str:
        """Return what was printed, the last of it where that is much."""
        self.printed.seek(max(0, self.printed.seek(0, os.SEEK_END) - _LARGEST))
        return self.printed.read().decode(errors="replace")


def _end(process: "subprocess.Popen[bytes] | asyncio.subprocess.Process") -> None:
    """End a process and all that it started, but for what began a session of its own."""
    with suppress(ProcessLookupError, PermissionError):  # nothing is left, or only what has ended
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()


def _from_anywhere(python: str) -> str:
    """Return a command that means the same in another folder; a link stays one, or it would be another environment."""
    return str(Path(python).absolute()) if os.path.dirname(python) else python


def _tail(printed: str) -> str:
    return "\n".join(f"  {line}" for line in printed.splitlines()[-TAIL:]) or "  It printed nothing."


def _last_error(printed: str) -> str:
    """Return the last line that pytest marks as an error."""
    lines = [line.removeprefix("E").strip() for line in printed.splitlines() if line.startswith("E ")]
    return lines[-1][:LONGEST] if lines else "it cannot be imported"
