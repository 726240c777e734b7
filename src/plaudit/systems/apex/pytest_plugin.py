"""A plugin for the pytest that a probe runs: what was never tested is in the report too, as failing.

Its text is copied beside the report, since the Python that runs the tests need not have plaudit.
"""

from collections.abc import Generator
from typing import Any

import pytest

_items: dict[str, tuple[str, int | None, str]] = {}
_finished: set[str] = set()


def pytest_configure(config: pytest.Config) -> None:
    """Name the folder in a way that a `[` in its path, which begins a parameter, does not matter."""
    if config.args == [str(config.invocation_params.dir)]:
        config.args[:] = ["."]


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, None]:
    """Take a file that ends the process when it is imported for one that cannot be imported."""
    outcome = yield
    if outcome.excinfo is not None and issubclass(
        outcome.excinfo[0], SystemExit | KeyboardInterrupt | pytest.exit.Exception
    ):
        message = f"E {outcome.excinfo[0].__name__}: {outcome.excinfo[1]}"
        outcome.force_result(pytest.CollectReport(collector.nodeid, "failed", message, []))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which tests there are."""
    _items.update((item.nodeid, item.location) for item in session.items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(ids: list[str]) -> None:
    """Note which tests there are, where other processes run them."""
    _items.update((name, (name, None, name)) for name in ids)


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Note that a test has come to its end."""
    _finished.add(nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Report every test that did not come to its end, whatever stopped it."""
    if hasattr(session.config, "workerinput"):  # the process that started this one does
        return
    for name, location in _items.items():
        if name not in _finished:
            report = pytest.TestReport(name, location, {}, "failed", "it never came to its end", "call")
            session.config.hook.pytest_runtest_logreport(report=report)
