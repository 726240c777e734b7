"""The tests of a project, run by pytest in a process of its own, and counted from its report."""

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
from xml.etree import ElementTree

from plaudit.errors import FileError, InputError, MissingExtra, OutOfRange
from plaudit.systems.apex.errors import ProbeTimeout
from plaudit.systems.apex.values import parse_positive_integer

TAIL_LINES = 12
"""How many lines of what pytest printed an error shows."""

MAX_MESSAGE = 2000
"""How many characters of what a test printed are kept."""

_MAX_PRINTED = 65_536
"""How many bytes of what pytest printed are read."""

_NO_TESTS = 5
"""How pytest ends when it finds no tests."""

_CONFTEST = "while loading conftest"
"""What pytest says of a `conftest.py` that cannot be imported; there is no report then."""

_PLUGIN = "plaudit_pytest_plugin"
"""What the plugin is called that the tests run with."""

_OUTCOMES = ("uncollected", "error", "failure", "skipped", "passed")
"""What may become of a test, the worst first; where a test is there twice, the worst counts."""

_UNCOLLECTED = "collection failure"
"""What the report says of a file that could not be imported."""


class Failure(NamedTuple):
    """A test that does not pass, and what it said."""

    test: str
    message: str


class PytestRun(NamedTuple):
    """What became of the tests of a project.

    >>> run = PytestRun(passed=3, total=4)
    >>> run.rate, run.success
    (0.75, False)
    """

    passed: int
    total: int
    """The tests that passed or failed, the files that could not be imported, and the tests that are missing."""
    skipped: int = 0
    """Tests that were skipped, or are expected to fail and do; they are not in `total`."""
    failures: tuple[Failure, ...] = ()
    broken: tuple[Failure, ...] = ()
    """Files that could not be imported; each counts as one failing test, whatever number of tests it holds."""
    missing: int = 0
    """Tests fewer than were expected; they count as failing."""

    @property
    def rate(self) -> float:
        """The share of tests that pass: what a state keeps as `test_pass_rate`."""
        return self.passed / self.total if self.total else 0.0

    @property
    def success(self) -> bool:
        """Whether every test passes, and there is one."""
        return self.passed == self.total > 0

    def with_expected(self, tests: int | None) -> "PytestRun":
        """Return the same run where so many tests were to be there: those that are missing count as failing."""
        missing = max(0, (tests or 0) - self.total)
        return self._replace(total=self.total + missing, missing=missing)


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
        self.python = _make_absolute(os.fspath(python))
        self.timeout = timeout
        self.expected = None if expected is None else parse_positive_integer("expected", expected)
        self.plugins = plugins
        self.arguments = tuple(arguments)

    def run(self) -> PytestRun:
        """Run the tests and return what became of them.

        ProbeTimeout where they do not end in time, MissingExtra where that Python has no pytest, FileError where the
        folder or the Python is not there, and InputError where there are no tests, or pytest itself failed.
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
        """Yield what a run needs; the report and what is printed go to a folder that is gone afterwards."""
        if not self.folder.is_dir():
            raise FileError(f"{self.folder} is not a folder: name the project whose tests are to be run.")
        with tempfile.TemporaryDirectory(prefix="plaudit-") as scratch:
            report = Path(scratch, "report.xml")
            plugin = files("plaudit.systems.apex").joinpath("pytest_plugin.py").read_bytes()
            Path(scratch, f"{_PLUGIN}.py").write_bytes(plugin)
            with Path(scratch, "printed.txt").open("w+b") as printed:
                yield _Invocation(self._build_command(report), self._build_options(printed, scratch), report, printed)

    def _build_command(self, report: Path) -> list[str]:
        options = ("-q", "--color=no", "-p", _PLUGIN, "--maxfail=0", "--continue-on-collection-errors")
        cache = f"cache_dir={report.with_name('cache')}"
        return [self.python, "-m", "pytest", *options, "-o", cache, f"--junitxml={report}", *self.arguments]

    def _build_options(self, printed: IO[bytes], scratch: str) -> dict[str, Any]:
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
    def _translate_start_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise FileError(f"{self.python} cannot be started: {error.strerror or error}") from None

    def _read_result(self, code: int, invocation: "_Invocation") -> PytestRun:
        """Return what the report says; where there is none, an error says why."""
        run = read_report(invocation.report)
        printed = invocation.read_printed()
        if run is None and _CONFTEST in printed:
            broken = Failure("conftest", _find_last_error(printed))
            return PytestRun(0, 1, broken=(broken,)).with_expected(self.expected)
        if run is None and "No module named pytest" in printed:
            raise MissingExtra(f"{self.python} has no pytest to run tests with: {self.python} -m pip install pytest")
        if run is None or code not in (0, 1, 2, _NO_TESTS):
            raise InputError(f"{self.folder}: pytest ended with code {code} and no result.\n{_format_tail(printed)}")
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
    report: Path
    printed: IO[bytes]

    def read_printed(self) -> str:
        """Return what was printed, the last of it where that is much."""
        self.printed.seek(max(0, self.printed.seek(0, os.SEEK_END) - _MAX_PRINTED))
        return self.printed.read().decode(errors="replace")


def read_report(path: Path) -> PytestRun | None:
    """Return what the JUnit report at `path` says, or None where there is none or it is not complete."""
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return None
    results: dict[tuple[str, str], tuple[str, str]] = {}
    for case in cases:  # one that fails and whose clearing up fails too is there twice
        key = (case.get("classname") or "", case.get("name") or "")
        outcome, message = _read_outcome(case)
        if key not in results or _OUTCOMES.index(outcome) < _OUTCOMES.index(results[key][0]):
            results[key] = outcome, message
    failures, broken = [], []
    for (group, name), (outcome, message) in results.items():
        test = ".".join(part for part in (group, name) if part)
        if outcome == "uncollected":
            broken.append(Failure(test, message))
        elif outcome in ("error", "failure"):
            failures.append(Failure(test, message))
    outcomes = [outcome for outcome, _ in results.values()]
    passed, skipped = outcomes.count("passed"), outcomes.count("skipped")
    return PytestRun(passed, len(outcomes) - skipped, skipped, tuple(failures), tuple(broken))


def _read_outcome(case: ElementTree.Element) -> tuple[str, str]:
    """Return what became of a test, and the first line of what it said."""
    for outcome in ("error", "failure", "skipped"):
        part = case.find(outcome)
        if part is None:
            continue
        message = part.get("message") or ""
        if message == _UNCOLLECTED:
            return "uncollected", _find_last_error(part.text or "", otherwise=message)
        return outcome, message.partition("\n")[0].strip()[:MAX_MESSAGE]
    return "passed", ""


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


def _find_last_error(printed: str, *, otherwise: str = "it cannot be imported") -> str:
    """Return the last line that pytest marks as an error."""
    lines = [line.removeprefix("E").strip() for line in printed.splitlines() if line.startswith("E ")]
    return (lines[-1] if lines else otherwise)[:MAX_MESSAGE]
