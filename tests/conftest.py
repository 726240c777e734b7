"""What every test shares: Hypothesis profiles, and skipped tests that nobody can overlook."""

import builtins
import gc
import logging
import os
import sys
from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import settings

from support.command_line import objects, plaudit, process, terminal, write
from support.hasty_compiler import compile_hastily
from support.interrupted import heed_ctrl_c
from support.local_spark import spark
from support.memory import find_memory
from support.mounts import NOT_ALLOWED
from support.object_storage import storage, storage_server
from support.postgres import postgres, postgres_ledger, postgres_url

# fixtures for every test
__all__ = [
    "heed_ctrl_c",
    "objects",
    "plaudit",
    "postgres",
    "postgres_ledger",
    "postgres_url",
    "process",
    "spark",
    "storage",
    "storage_server",
    "terminal",
    "write",
]

_PRINT = builtins.print

# `make test` draws the same examples every time; `make soak` draws many new ones.
settings.register_profile("default", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("soak", deadline=None, max_examples=2_000, print_blob=True)
settings.load_profile("default")

gc.disable()  # until everything has been imported: none of that is garbage

NO_SKIPS = "PLAUDIT_NO_SKIPS"

TOGETHER = {
    "tests/systems/hackmatrix/": "compiled programs",
    "tests/test_docs.py::test_the_page_runs_and_shows_what_it_prints[docs/systems/hackmatrix": "compiled programs",
    "src/plaudit/systems/hackmatrix/": "compiled programs",
    "tests/page/browser/": "a browser",
    "tests/adapters/test_spark.py": "a Spark",
    "tests/targets/sql/test_spark.py": "a Spark",
    "tests/ledger/dataset/test_delta.py::test_spark": "a Spark",
    "tests/ledger/dataset/test_delta.py": "an object storage",
    "tests/ledger/dataset/test_addresses.py": "an object storage",
    "tests/ledger/dataset/test_cluster_addresses.py": "an object storage",
    "tests/cli/test_addresses.py": "an object storage",
    "tests/systems/roadsense/experiment/": "drives of an experiment",
    "tests/systems/roadsense/training/": "an optimizer of PyTorch",
    "tests/systems/roadsense/test_commands_train.py": "an optimizer of PyTorch",
    "tests/adapters/test_sb3.py": "an optimizer of PyTorch",
}
"""What tests share that takes long to make, to import or to start: one worker runs all of them."""
LONG = ("tests/systems/hackmatrix/", "tests/test_docs.py", "tests/test_bench.py", "tests/systems/roadsense/")
"""What takes longest: it comes first, so that no worker waits for it in the end."""
LAST = "tests/test_typing.py"
"""What mypy has checked by then takes it seconds."""


@pytest.fixture
def counted(record_property):
    """Report how often something was tried and how it ended; the numbers are added up and printed at the end."""

    def count(what, **numbers):
        told = {name: int(number) for name, number in numbers.items()}
        record_property("counted", (what, told))

    return count


@pytest.fixture(autouse=True)
def untouched_logging(monkeypatch):
    """Let warnings be printed as in a program of its own: libraries that an earlier test used redirect the log."""
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(logging.root.manager, "disable", 0)
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("plaudit") and isinstance(logger, logging.Logger):
            monkeypatch.setattr(logger, "disabled", False)


@pytest.fixture
def young_heap():
    """Let the garbage collector look at what a test makes and nothing else: all that others keep takes it seconds."""
    gc.freeze()


def _skip_reasons(config: pytest.Config) -> Counter[str]:
    """Return how many tests were skipped, by reason."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return Counter()
    reports = reporter.stats.get("skipped", [])
    return Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)


def _avoidable(reasons: Counter[str]) -> bool:
    """Return whether a test was skipped for want of something that could have been installed."""
    return any(not reason.startswith(NOT_ALLOWED) for reason in reasons)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest first, and last what needs what `make lint` finds out meanwhile."""
    items.sort(key=lambda item: (not item.nodeid.startswith(LONG), item.nodeid.startswith(LAST)))


def pytest_runtest_teardown() -> None:
    builtins.print = _PRINT  # Ray Data puts another one there, for good


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let the garbage collector leave alone what has been imported: going through it took a seventh of all time."""
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()
    if "jax" in sys.modules:
        _share_jax_context()
        if session.config.getoption("--hypothesis-profile") != "soak":
            compile_hastily()


def _share_jax_context() -> None:
    """Let JAX keep what it makes anew for each of the thousands of programs that it translates here."""
    from jax._src.interpreters import mlir

    mlir.make_ir_context = cache(mlir.make_ir_context)


def pytest_configure(config: pytest.Config) -> None:
    """Keep files of tests in memory, but for a soak: on a disk, a ledger of a few records takes half as long again."""
    memory = None if config.getoption("--hypothesis-profile") == "soak" else find_memory()
    if memory is not None:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let one worker of pytest-xdist run all tests of a group, and begin with the longest groups."""
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = find_group  # type: ignore[method-assign]
    return scheduler


def find_group(nodeid: str) -> str:
    """Return what names all tests that one worker should run: those of a file, and those that share what takes long."""
    for start, what in TOGETHER.items():
        if nodeid.startswith(start):
            return what
    if nodeid.startswith(("tests/test_docs.py", "tests/test_bench.py")):
        return nodeid  # they share nothing
    return nodeid.split("::", 1)[0]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let the run fail where a skip is not allowed."""
    passed = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if passed and os.environ.get(NO_SKIPS) and _avoidable(_skip_reasons(session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _corpus_line(reporter: pytest.TerminalReporter) -> str:
    """Return how the checks did on rewards that are known to be bad or good; each test of one records its result."""
    reports = [report for outcome in ("passed", "failed") for report in reporter.stats.get(outcome, [])]
    seen = Counter(value for report in reports for key, value in report.user_properties if key == "corpus")
    bad, good = seen["caught"] + seen["missed"], seen["quiet"] + seen["alarm"]
    return f"caught {seen['caught']} of {bad} bad, {seen['alarm']} false alarms on {good} good" if seen else ""


def _world_lines(reporter: pytest.TerminalReporter) -> list[str]:
    """Return of how many worlds a check warned, a line for each kind of task it had; each test of one records its result."""
    reports = [report for outcome in ("passed", "failed") for report in reporter.stats.get(outcome, [])]
    seen = Counter(value for report in reports for key, value in report.user_properties if key == "worlds")

    def count(how: str, which: str) -> str:
        warned = seen[f"{how} {which} warned"]
        return f"{warned} of {warned + seen[f'{how} {which} quiet']} {which}"

    told = dict.fromkeys(value.split()[0] for value in seen)
    return [f"worlds: {how}: {count(how, 'flawed')} warned of, {count(how, 'sound')}" for how in told]


def _counts(reporter: pytest.TerminalReporter) -> list[str]:
    """Return what tests counted (kills, losses of power, edits found …), added up over all tests of one kind."""
    totals: dict[str, Counter[str]] = {}
    for report in reporter.stats.get("passed", []):
        for key, value in report.user_properties:
            if key == "counted":
                what, numbers = value
                totals.setdefault(what, Counter()).update(numbers)
    return [f"{what}: {', '.join(f'{n:,} {name}' for name, n in found.items())}" for what, found in totals.items()]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how the checks did on known rewards, how many tests were skipped, and why."""
    if line := _corpus_line(terminalreporter):
        terminalreporter.line(f"Corpus of known rewards: {line}")
    for line in (*_world_lines(terminalreporter), *_counts(terminalreporter)):
        terminalreporter.line(line)
    reasons = _skip_reasons(config)
    if not reasons:
        return
    fails = os.environ.get(NO_SKIPS) and _avoidable(reasons)
    forbidden = f", a failure because {NO_SKIPS} is set" if fails else ""
    terminalreporter.section(f"{reasons.total()} SKIPPED{forbidden}", red=bool(forbidden), yellow=True)
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:5d} × {reason}")
