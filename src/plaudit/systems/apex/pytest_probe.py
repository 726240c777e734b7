"""The tests of a project, run by pytest in a process of its own, and counted from what that process signed."""

import asyncio
import os
import secrets
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Self

from plaudit.errors import FileError, InputError, MissingExtra, OutOfRange
from plaudit.systems.apex.errors import ProbeTimeout
from plaudit.systems.apex.pytest_results import Failure, PytestRun, find_last_error, read_results
from plaudit.systems.apex.pytest_server import PLUGIN, PytestServer
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


class PytestProbe:
    """Runs the tests of the project in `folder` and counts how many pass.

    The tests run with the project's own settings, with `python`, in their own process group, which is stopped when
    they end or after `timeout` seconds. Nothing is written to the project: no cache and no compiled files. The tests
    see `KEPT_VARIABLES` of our environment and the variables in `environment`. Skipped tests do not count; a test that
    never finished fails. A file that cannot be imported counts as one failing test and is named in `broken`. With
    `expected`, missing tests count as failing, so deleting a test does not raise the pass rate.

    In a `with` block one process imports pytest and forks for every run, so only the first run waits for the import.
    Otherwise every run starts a process. Either way a run sees the current project and no modules of another run.

    Each result is signed as it happens, with a key that the project's code is not given, and must match pytest's exit
    code. The probe does not protect against code that attacks the process it runs in: see the documentation page.

    Example:
        with PytestProbe("shop", timeout=60) as probe:
            run = probe.run()
            print(run.passed, "of", run.total, run.rate)
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
        self._kept = False
        self._idle: list[PytestServer] = []  # at most one, which the next run takes
        self._mutex = threading.Lock()

    def __enter__(self) -> Self:
        """Keep the process that runs the tests until the block ends."""
        self._kept = True
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process that runs the tests; the next run starts one again."""
        self._kept = False
        with self._mutex:
            idle, self._idle = self._idle, []
        for server in idle:
            server.close()

    def run(self) -> PytestRun:
        """Run the tests and count them.

        Returns:
            The result.

        Raises:
            ProbeTimeout: The tests did not end in time.
            MissingExtra: The Python has no pytest.
            FileError: The folder or the Python does not exist.
            InputError: There are no tests, pytest itself failed, or the results contradict each other or were changed.
        """
        return self._run(_Run())

    async def arun(self) -> PytestRun:
        """Run the tests without blocking the event loop; cancelling stops them.

        Returns:
            The result, as `run` returns it.
        """
        this = _Run()
        running = asyncio.get_running_loop().run_in_executor(None, self._run, this)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            this.stop()
            with suppress(Exception):
                await running
            raise

    def _run(self, this: "_Run") -> PytestRun:
        with self._prepare() as (folder, key, results, printed):
            clock = threading.Timer(self.timeout, this.stop)
            clock.start()
            try:
                code, errors = self._serve(this, folder)
            finally:
                clock.cancel()
            text = errors + _read_tail(printed)
            if code is None and this.stopped:
                raise self._build_timeout(text)
            results.seek(0)
            return self._read_result(code, results.read(), key, text)

    def _serve(self, this: "_Run", folder: Path) -> tuple[int | None, str]:
        """Return the code that pytest ended with, or None and what its process said."""
        while True:
            server = this.server = self._take_server()
            before = server.runs
            try:
                if this.stopped:
                    server.stop()
                code = server.run(self.folder, folder, self._build_arguments(folder))
            except BaseException:  # a Ctrl-C
                server.stop()
                raise
            finally:
                self._give_back(server)
            if not 0 < before == server.runs or this.stopped:  # else it died while it waited for this run
                return code, server.errors if code is None else ""

    def _take_server(self) -> PytestServer:
        """Return the process that waits for a run, or a new one where it has ended or has another environment."""
        environment = self._build_environment()
        with self._mutex:
            server = self._idle.pop() if self._idle else None
        if server is not None and server.alive and server.environment == environment:
            return server
        if server is not None:
            server.close()
        return PytestServer(self.python, environment)

    def _give_back(self, server: PytestServer) -> None:
        """Keep a process for the next run, if one is to be kept."""
        with self._mutex:
            if self._kept and not self._idle and server.alive:
                self._idle.append(server)
                return
        server.close()

    @contextmanager
    def _prepare(self) -> "Iterator[tuple[Path, bytes, IO[bytes], IO[bytes]]]":
        """Yield what a run needs; the results and what is printed go to a folder that is gone afterwards."""
        if not self.folder.is_dir():
            raise FileError(f"{self.folder} is not a folder: name the project whose tests to run.")
        with tempfile.TemporaryDirectory(prefix="plaudit-") as scratch:
            folder, key = Path(scratch), secrets.token_bytes(32)
            folder.joinpath("key").write_bytes(key)
            with (
                folder.joinpath("results").open("w+b") as results,  # held here: whoever deletes it deletes a name
                folder.joinpath("printed").open("w+b") as printed,  # a file: what a test leaves cannot hold us up
            ):
                yield folder, key, results, printed

    def _build_arguments(self, folder: Path) -> list[str]:
        options = ("-q", "--color=no", "-p", PLUGIN, "--maxfail=0", "--continue-on-collection-errors")
        return [*options, "-o", f"cache_dir={folder / 'cache'}", *self.arguments]

    def _build_environment(self) -> dict[str, str]:
        """Return what the process sees: no setting, and nothing of a pytest that runs around us, reaches it."""
        environment = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", **self.environment}
        return environment if self.plugins else environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def _read_result(self, code: int | None, written: bytes, key: bytes, printed: str) -> PytestRun:
        """Return what the results say; where there are none, or they contradict each other, an error says why."""
        try:
            results = read_results(written, key)
        except InputError as error:
            raise InputError(f"{self.folder}: {error}") from None
        if _CONFTEST in printed and (results is None or results.code not in _ENDS):
            broken = Failure("conftest", find_last_error(printed))
            return PytestRun(0, 1, broken=(broken,)).with_expected(self.expected)
        if results is None and _NO_PYTEST in printed:
            raise MissingExtra(f"{self.python} has no pytest to run tests with: {self.python} -m pip install pytest")
        if code is None:
            raise InputError(
                f"{self.folder}: the process that runs pytest ended before the tests did, so there is no result. The "
                f"next run starts a new process.\n{_format_tail(printed)}"
            )
        if results is None or results.code not in _ENDS:
            raise InputError(f"{self.folder}: pytest ended with code {code} and no result.\n{_format_tail(printed)}")
        run = results.summarize()
        if code != results.code or (run.success and code not in _PASSING_ENDS):
            says = f"pytest ended with code {results.code}, its process with {code}, and {run.passed} of {run.total}"
            raise InputError(
                f"{self.folder}: {says} tests pass. These contradict each other, so there is no pass rate. Something "
                "in the project changed the exit code, or a plugin that can fail a run whose tests pass.\n"
                f"{_format_tail(printed)}"
            )
        run = run.with_expected(self.expected)
        if not run.total:
            skipped = f" but {run.skipped} that are skipped" if run.skipped else ""
            raise InputError(
                f"{self.folder}: pytest found no tests{skipped}, so there is no pass rate. "
                "It looks for functions named test_… in files named test_….py."
            )
        return run

    def _build_timeout(self, printed: str) -> ProbeTimeout:
        return ProbeTimeout(
            f"{self.folder}: the tests did not end within {self.timeout:g} seconds and were stopped. Raise "
            f"the timeout, or look for an infinite loop.\n{_format_tail(printed)}"
        )


class _Run:
    """One run of the tests, to be stopped from another thread."""

    def __init__(self) -> None:
        self.server: PytestServer | None = None
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True
        if self.server is not None:
            self.server.stop()


def _read_tail(printed: IO[bytes]) -> str:
    printed.seek(max(0, printed.seek(0, os.SEEK_END) - _MAX_PRINTED))
    return printed.read().decode(errors="replace")


def _make_absolute(python: str) -> str:
    """Return a command that means the same in another folder; a link stays one, or it would be another environment."""
    return str(Path(python).absolute()) if os.path.dirname(python) else python


def _format_tail(printed: str) -> str:
    return "\n".join(f"  {line}" for line in printed.splitlines()[-TAIL_LINES:]) or "  It printed nothing."
