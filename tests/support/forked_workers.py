"""Tests on several cores, by processes that are forked once all tests have been collected: `pytest --workers 3`.

Workers of pytest-xdist import and collect everything each for itself; these have it when they begin. They take whole
groups of tests from one pipe, so that what the tests of a group share is made once, and tell the process that forked
them how each test ended.
"""

import atexit
import mmap
import os
import signal
import struct
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, NamedTuple, NoReturn

import pytest
from _pytest.runner import runtestprotocol

NUMBER = struct.Struct("=i")
PLACE = struct.Struct("=ii")
"""The test that a worker is at, and the one that it has taken to go on with: -1 where there is none."""


class Worker(NamedTuple):
    """A process that runs tests."""

    process: int
    place: int


class ForkedWorkers:
    """A plugin of pytest that runs tests in forked processes."""

    def __init__(self, count: int, find_group: Callable[[str], str]) -> None:
        """Fork `count` processes; tests for which `find_group` returns the same are run by one of them."""
        self.count = count
        self.find_group = find_group

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run all tests of a session."""
        if session.testsfailed or session.config.option.collectonly or not session.items:
            return None  # pytest says what there is to say
        _refuse_threads_of_jax()
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        reporter.showfspath = False  # tests of several files run at once
        groups: dict[str, list[int]] = {}
        for number, item in enumerate(session.items):
            groups.setdefault(self.find_group(item.nodeid), []).append(number)
        run = Run(session, list(groups.values()), self.count)
        try:
            run.report()
        finally:
            run.stop()
            run.wait()
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        return True


class Run:
    """The workers of a session, and the groups of tests that none of them has taken yet."""

    def __init__(self, session: pytest.Session, groups: list[list[int]], count: int) -> None:
        """Fork the workers."""
        self.session = session
        self.groups = groups
        self.places = mmap.mmap(-1, PLACE.size * count)  # in memory that all share
        self.queue, filled = os.pipe()
        with open(filled, "wb") as file:
            for number in range(len(groups)):
                file.write(NUMBER.pack(number))
        session.config._tmp_path_factory.getbasetemp()  # made once for all  # type: ignore[attr-defined]
        self.workers: dict[Any, Worker] = {}
        for place in range(count):
            self.fork(place, [])

    def fork(self, place: int, first: list[int]) -> None:
        """Start a worker that begins with the tests `first`."""
        reports, told = Pipe(duplex=False)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"os.fork\(\)", RuntimeWarning)  # JAX cannot know that it has no threads
            process = os.fork()
        if not process:
            self.work(place, first, told)
        told.close()
        self.workers[reports] = Worker(process, place)

    def report(self) -> None:
        """Tell pytest what workers tell, until all have ended."""
        config = self.session.config
        while self.workers:
            for reports in wait(list(self.workers)):
                name, told = _receive(reports)
                if not name:
                    self.replace_dead(reports)
                elif name == "pytest_warning_recorded":
                    config.hook.pytest_warning_recorded.call_historic(kwargs=told)
                else:
                    self.log(config.hook.pytest_report_from_serializable(config=config, data=told))

    def log(self, report: Any) -> None:
        """Tell pytest how a test ended, and interrupt the others where that is reason to stop."""
        hook = self.session.config.hook
        hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)
        if self.session.shouldfail or self.session.shouldstop:
            self.stop()

    def replace_dead(self, reports: Any) -> None:
        """Report the test at which a worker has died, and let another one go on with its group."""
        worker = self.workers.pop(reports)
        reports.close()
        code = os.waitstatus_to_exitcode(os.waitpid(worker.process, 0)[1])
        if not code or self.session.shouldfail or self.session.shouldstop:
            return
        number, following = PLACE.unpack_from(self.places, PLACE.size * worker.place)
        item = self.session.items[number]
        ending = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        why = f"The process that ran this test {ending}."
        self.log(pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call"))
        group = next(group for group in self.groups if number in group)
        left = group[group.index(number) + 1 :]
        self.fork(worker.place, left or next((taken for taken in self.groups if following in taken), []))

    def stop(self) -> None:
        """Interrupt the workers, which ends them when what they have started is taken down."""
        for worker in self.workers.values():
            os.kill(worker.process, signal.SIGINT)

    def wait(self) -> None:
        """Wait for the workers that have not ended."""
        for worker in self.workers.values():
            os.waitpid(worker.process, 0)

    def work(self, place: int, first: list[int], told: Connection) -> NoReturn:
        """Run tests as long as there are any, and leave: the rest of the program is not for a worker."""
        code = 1
        signal.signal(signal.SIGINT, signal.default_int_handler)  # by which `stop` ends it, whatever pytest ignores
        try:
            self.run_tests(place, first, told)
            code = 0
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # once is enough
            code = 128 + signal.SIGINT
        except BaseException:
            traceback.print_exc()
        finally:
            try:
                self.session._setupstate.teardown_exact(None)
                threading._shutdown()  # type: ignore[attr-defined]
                atexit._run_exitfuncs()
            finally:
                os._exit(code)

    def run_tests(self, place: int, first: list[int], told: Connection) -> None:
        """Run tests in a worker."""
        config = self.session.config
        if capture := config.pluginmanager.getplugin("capturemanager"):
            capture.stop_global_capturing()  # into files of the process that forked
            capture.start_global_capturing()
            capture.suspend_global_capture()
        factory = config._tmp_path_factory  # type: ignore[attr-defined]
        factory._basetemp = factory.getbasetemp() / f"worker{place}-{os.getpid()}"
        factory._basetemp.mkdir(mode=0o700)
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(WorkerReporter(config, told))
        numbers = self.take(first)
        number = next(numbers, None)
        while number is not None:
            following = next(numbers, None)
            PLACE.pack_into(self.places, PLACE.size * place, number, -1 if following is None else following)
            nextitem = None if following is None else self.session.items[following]
            config.hook.pytest_runtest_protocol(item=self.session.items[number], nextitem=nextitem)
            number = following

    def take(self, first: list[int]) -> Iterator[int]:
        """Yield the tests to run: `first`, and then those of groups that nobody has taken."""
        yield from first
        while taken := os.read(self.queue, NUMBER.size):
            yield from self.groups[NUMBER.unpack(taken)[0]]


class WorkerReporter:
    """A plugin that tells, from a worker, how tests end."""

    def __init__(self, config: pytest.Config, told: Connection) -> None:
        """Tell through a pipe."""
        self.config = config
        self.told = told

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test, and tell of it once, not three times, where nothing is wrong before and after it.

        So `--durations` knows of fixtures only without workers.
        """
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.when == "call" or not report.passed:
                data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
                self.told.send(("pytest_runtest_logreport", data))
        return True

    def pytest_warning_recorded(self, warning_message: Any, when: str, nodeid: str, location: Any) -> None:
        """Tell of a warning; what it was made of stays here."""
        text: Any = str(warning_message.message)
        place = warning_message.filename, warning_message.lineno
        shown = warnings.WarningMessage(text, warning_message.category, *place)
        told = {"warning_message": shown, "when": when, "nodeid": nodeid, "location": location}
        self.told.send(("pytest_warning_recorded", told))


def _receive(reports: Any) -> tuple[str, Any]:
    """Return what a worker tells, and nothing where it has ended."""
    try:
        return reports.recv()  # type: ignore[no-any-return]
    except (EOFError, OSError):
        return "", None


def _refuse_threads_of_jax() -> None:
    """Refuse to fork once JAX has computed: a worker would wait forever for its threads."""
    if "jax" in sys.modules:
        from jax._src import xla_bridge

        if xla_bridge.backends_are_initialized():
            raise pytest.UsageError(
                "A test module computes with JAX while it is imported, and processes cannot be forked after that: "
                "compute in a fixture or in the test. (Or run without --workers.)"
            )
