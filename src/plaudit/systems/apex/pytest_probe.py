"""The tests of a project, run by pytest in a process of its own, and counted from what that process signed."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, NamedTuple

from plaudit.errors import FileError, InputError, MissingExtra, OutOfRange
from plaudit.systems.apex.errors import ProbeTimeout
from plaudit.systems.apex.pytest_results import Failure, PytestRun, find_last_error, read_results
from plaudit.systems.apex.values import parse_positive_integer

TAIL_LINES = 12
"""How many lines of what pytest printed an error shows."""

KEPT_VARIABLES = (
    *("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "TZ"),
    *("LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
)
"""What the tests see of our environment: what a Python needs to start, and no setting or secret of ours."""

_MAX_PRINTED = 65_536
"""How many bytes of what pytest printed are read."""

_ENDS = (0, 1, 2, 5)
"""How pytest ends when there is a result: all pass, some fail, it was stopped, there are no tests."""

_PASSING_ENDS = (0, 2)
"""How pytest ends when every test passes: one may have stopped it after the last."""

_CONFTEST = "while loading conftest"
"""What pytest says of a `conftest.py` that cannot be imported; it runs nothing then."""

_NO_PYTEST = "No module named 'pytest'"

_PLUGIN = "plaudit_pytest_plugin"
"""What the plugin is called that the tests run with."""


class PytestProbe:
    """Runs the tests of the project in `folder` and counts how many pass.

    The tests run with the project's own settings, by `python`, in a process group of their own that is ended when they
    are done, and after `timeout` seconds at the latest. Nothing is written to the project: no cache and no compiled
    files. They see `KEPT_VARIABLES` of our environment and what `environment` adds. A test that is skipped does not
    count; one that never came to its end, because a test stopped them all, is failing. A file that cannot be imported
    counts as one failing test and is named in `broken`. With `expected`, tests that are missing count as failing: a
    pass rate does not rise because a test was deleted.

    What becomes of a test is signed as it happens, with a key that the project's code is not given, and must fit the
    code that pytest ends with. Code that attacks the process it runs in is not kept from anything: see the page.
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
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Choose a project; `arguments` are further ones for pytest, `environment` variables that the tests need.

        Without `plugins` those that happen to be installed are left out, and the tests may start much sooner.
        """
        if not timeout > 0:
            raise OutOfRange(f"timeout={timeout!r} must be a number of seconds above 0.")
        self.folder = Path(folder).absolute()
        self.python = _make_absolute(os.fspath(python))
        self.timeout = timeout
        self.expected = None if expected is None else parse_positive_integer("expected", expected)
        self.plugins = plugins
        self.arguments = tuple(arguments)
        self.environment = dict(environment or {})

    def run(self) -> PytestRun:
        """Run the tests and return what became of them.

        ProbeTimeout where they do not end in time, MissingExtra where that Python has no pytest, FileError where the
        folder or the Python is not there, and InputError where there are no tests, pytest itself failed, or the
        results contradict each other or were changed.
        """
        with self._prepare() as invocation:
            with self._translate_start_errors():
                process = subprocess.Popen(invocation.command, **invocation.options)
            try:
                code = process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                raise self._build_timeout(invocation) from None
            finally:
                _kill(process)
                process.wait()
            return self._read_result(code, invocation)

    async def arun(self) -> PytestRun:
        """Do what `run` does while other tasks go on; where it is cancelled, the tests are ended."""
        with self._prepare() as invocation:
            with self._translate_start_errors():
                process = await asyncio.create_subprocess_exec(*invocation.command, **invocation.options)
            try:
                code = await asyncio.wait_for(process.wait(), self.timeout)
            except TimeoutError:
                raise self._build_timeout(invocation) from None
            finally:
                _kill(process)
                await process.wait()
            return self._read_result(code, invocation)

    @contextmanager
    def _prepare(self) -> "Iterator[_Invocation]":
        """Yield what a run needs; the results and what is printed go to a folder that is gone afterwards."""
        if not self.folder.is_dir():
            raise FileError(f"{self.folder} is not a folder: name the project whose tests are to be run.")
        with tempfile.TemporaryDirectory(prefix="plaudit-") as scratch:
            program, key = Path(scratch, f"{_PLUGIN}.py"), secrets.token_bytes(32)
            program.write_bytes(files("plaudit.systems.apex").joinpath("pytest_plugin.py").read_bytes())
            program.with_name("key").write_bytes(key)
            with (
                program.with_name("results").open("w+b") as results,  # held here: whoever deletes it deletes a name
                program.with_name("printed").open("w+b") as printed,
            ):
                yield _Invocation(self._build_command(program), self._build_options(printed), key, results, printed)

    def _build_command(self, program: Path) -> list[str]:
        options = ("-q", "--color=no", "-p", _PLUGIN, "--maxfail=0", "--continue-on-collection-errors")
        return [self.python, str(program), *options, "-o", f"cache_dir={program.with_name('cache')}", *self.arguments]

    def _build_options(self, printed: IO[bytes]) -> dict[str, Any]:
        """Return how the process is started: no setting, and nothing of a pytest that runs around us, reaches it."""
        environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", **self.environment}
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
    def _translate_start_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise FileError(f"{self.python} cannot be started: {error.strerror or error}") from None

    def _read_result(self, code: int, invocation: "_Invocation") -> PytestRun:
        """Return what the results say; where there are none, or they contradict each other, an error says why."""
        try:
            results = read_results(invocation.read_results(), invocation.key)
        except InputError as error:
            raise InputError(f"{self.folder}: {error}") from None
        printed = invocation.read_printed()
        if _CONFTEST in printed and (results is None or results.code not in _ENDS):
            broken = Failure("conftest", find_last_error(printed))
            return PytestRun(0, 1, broken=(broken,)).with_expected(self.expected)
        if results is None and _NO_PYTEST in printed:
            raise MissingExtra(f"{self.python} has no pytest to run tests with: {self.python} -m pip install pytest")
        if results is None or results.code not in _ENDS:
            raise InputError(f"{self.folder}: pytest ended with code {code} and no result.\n{_format_tail(printed)}")
        run = results.summarize()
        if code != results.code or (run.success and code not in _PASSING_ENDS):
            says = f"pytest ended with code {results.code}, its process with {code}, and {run.passed} of {run.total}"
            raise InputError(
                f"{self.folder}: {says} tests pass. These contradict each other, so there is no pass rate: something "
                "in the project, or a plugin that asks for more than that tests pass, changed how it ends.\n"
                f"{_format_tail(printed)}"
            )
        run = run.with_expected(self.expected)
        if not run.total:
            skipped = f" but {run.skipped} that are skipped" if run.skipped else ""
            raise InputError(
                f"{self.folder}: pytest found no tests{skipped}, and without one there is no pass rate. "
                "It looks for functions called test_… in files called test_….py."
            )
        return run

    def _build_timeout(self, invocation: "_Invocation") -> ProbeTimeout:
        return ProbeTimeout(
            f"{self.folder}: the tests did not end within {self.timeout:g} seconds and were stopped. Give them a "
            f"longer timeout, or look for a loop without end.\n{_format_tail(invocation.read_printed())}"
        )


class _Invocation(NamedTuple):
    """What one run of pytest needs."""

    command: list[str]
    options: dict[str, Any]
    key: bytes
    results: IO[bytes]
    printed: IO[bytes]

    def read_results(self) -> bytes:
        """Return the signed lines."""
        self.results.seek(0)
        return self.results.read()

    def read_printed(self) -> str:
        """Return what was printed, the last of it where that is much."""
        self.printed.seek(max(0, self.printed.seek(0, os.SEEK_END) - _MAX_PRINTED))
        return self.printed.read().decode(errors="replace")


def _kill(process: "subprocess.Popen[bytes] | asyncio.subprocess.Process") -> None:
    """End a process and all that it started, but for what began a session of its own."""
    with suppress(ProcessLookupError, PermissionError):  # nothing is left, or only what has ended
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()


def _make_absolute(python: str) -> str:
    """Return a command that means the same in another folder; a link stays one, or it would be another environment."""
    return str(Path(python).absolute()) if os.path.dirname(python) else python


def _format_tail(printed: str) -> str:
    return "\n".join(f"  {line}" for line in printed.splitlines()[-TAIL_LINES:]) or "  It printed nothing."
