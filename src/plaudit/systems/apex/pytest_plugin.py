"""The program that runs pytest for a probe: it signs what becomes of every test, as it happens.

Its text is copied to a folder of the probe and started there, since the Python that runs the tests need not have
plaudit. It imports pytest once and forks for every run: a run finds no module of the project loaded, and leaves none.
Nothing of the project is imported before the key was read and its file deleted. As a plugin it is loaded by the
processes that share the tests out, too; those sign nothing.
"""

import gc
import hashlib
import hmac
import json
import os
import sys
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import pytest
from _pytest.config import default_plugins

_MAX_TEXT = 20_000
"""How many characters of what a test or a file said are written, the last of them."""


def pytest_configure(config: pytest.Config) -> None:
    """Name the folder in a way that a `[` in its path, which begins a parameter, does not matter."""
    if config.args == [str(config.invocation_params.dir)]:
        config.args[:] = ["."]


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, None]:
    """Take a file that ends the process when it is imported for one that cannot be imported."""
    outcome = yield
    if outcome.excinfo is not None and issubclass(
        outcome.excinfo[0], (SystemExit, KeyboardInterrupt, pytest.exit.Exception)
    ):
        message = f"E {outcome.excinfo[0].__name__}: {outcome.excinfo[1]}"
        outcome.force_result(pytest.CollectReport(collector.nodeid, "failed", message, []))


class Recorder:
    """Writes a signed and numbered line for every test that is collected, every report, and the end."""

    def __init__(self, key: bytes, stream: IO[bytes]) -> None:
        """Sign with `key`; only the process that makes a recorder writes."""
        self._key, self._stream, self._process, self._lines = key, stream, os.getpid(), 0
        self._raised: dict[tuple[str, str | None], str] = {}

    def write(self, kind: str, *values: Any) -> None:
        """Write one line, unless a test forked and this is the other process."""
        if os.getpid() != self._process or not self._key:
            return
        body = json.dumps([self._lines, kind, *values]).encode()
        self._lines += 1
        self._stream.write(hmac.new(self._key, body, hashlib.sha256).hexdigest().encode() + b" " + body + b"\n")
        self._stream.flush()

    def finish(self, code: int) -> None:
        """Write the end, and forget the key: what runs when the process ends can sign nothing."""
        self.write("end", code)
        self._key = b""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which tests there are."""
        for item in session.items:
            self.write("collected", item.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Note which tests there are, where other processes run them."""
        for name in ids:
            self.write("collected", name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that could not be imported."""
        if report.failed:
            self.write("broken", report.nodeid, str(report.longrepr)[-_MAX_TEXT:])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: "pytest.CallInfo[None]") -> None:
        """Remember what a test raised, whatever others make of it later."""
        raised = "" if call.excinfo is None else call.excinfo.exconly().partition("\n")[0]
        self._raised[item.nodeid, call.when] = raised

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a report; one that passes although the test raised is failing."""
        outcome, raised = report.outcome, self._raised.pop((report.nodeid, report.when), "")
        message = _describe(report)
        if raised and outcome == "passed":
            outcome, message = "failed", raised
        self.write("report", report.nodeid, report.when, outcome, message)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note that a test has come to its end."""
        self.write("finished", nodeid)


def _describe(report: pytest.TestReport) -> str:
    """Return the first line of what a test that does not pass said."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(getattr(crash, "message", report.longrepr or "")).partition("\n")[0].strip()[-_MAX_TEXT:]


def serve() -> int:
    """Run tests whenever an order comes in, each time in a fork; return the code to end with, here or in the fork.

    An order is a line of JSON: the project, the folder of the run, the arguments of pytest. The fork answers with its
    number, and this process with the code that the fork ended with. Where there is no fork, it serves one order itself.
    """
    orders, answers = os.fdopen(os.dup(0), "rb"), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    for name in default_plugins:
        import_module(f"_pytest.{name}")
    gc.freeze()  # so that forks share these modules for as long as they can
    for order in iter(orders.readline, b""):
        fork = os.fork() if hasattr(os, "fork") else 0
        if fork == 0:
            if hasattr(os, "setsid"):
                os.setsid()
            os.write(answers, b"%d\n" % os.getpid())
            orders.close()
            os.close(answers)
            project, folder, *arguments = json.loads(order)
            return run(Path(project), Path(folder), arguments)
        os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]))
    return 0


def run(project: Path, folder: Path, arguments: list[str]) -> int:
    """Run the tests of a project, and return the code to end with."""
    printed = os.open(folder / "printed", os.O_WRONLY | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(printed, descriptor)
    os.close(printed)
    key = folder.joinpath("key").read_bytes()
    folder.joinpath("key").unlink()
    os.chdir(project)
    sys.path[:1] = [os.getcwd()]  # as `python -m pytest` has it, but only now: no file of the project is pytest
    sys.path.append(str(Path(__file__).parent))  # where processes that share the tests out find this module
    with folder.joinpath("results").open("ab") as stream:
        recorder = Recorder(key, stream)
        del key
        code = int(pytest.main(arguments, plugins=[sys.modules[__name__], recorder]))
        recorder.finish(code)
    return code


if __name__ == "__main__":  # imported under its name, by which processes that share the tests out know it too
    sys.exit(import_module(Path(__file__).stem).serve())
