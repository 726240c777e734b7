"""What the tests of the example share: what became of a project's tests, which take a process each time."""

import subprocess
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.config import default_plugins

from plaudit.systems.apex import PytestProbe, PytestRun, pytest_server
from support.forking import PythonProcess


class PytestProcess(PythonProcess):
    """A process that need not import pytest, which takes longer than the tests of a small project."""

    imported = ("pytest", *(f"_pytest.{name}" for name in default_plugins))


FORKED = SimpleNamespace(**{**vars(subprocess), "Popen": PytestProcess})


@pytest.fixture
def forked_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let probes run the tests of a project in a `PytestProcess`."""
    monkeypatch.setattr(pytest_server, "subprocess", FORKED)


@pytest.fixture(scope="session")
def known_runs() -> dict[Any, PytestRun]:
    """What became of the tests of every project that was run, by the files of the project."""
    return {}


@pytest.fixture(scope="module")
def remembered_runs(known_runs: dict[Any, PytestRun]) -> Iterator[None]:
    """Run the tests of a project once, and remember what became of them for every project with the same files."""

    async def recall(probe: PytestProbe) -> PytestRun:
        files = ((path.name, path.read_bytes()) for path in sorted(probe.folder.iterdir()))
        known = (probe.python, probe.expected, *files)
        if known not in known_runs:
            known_runs[known] = probe.run()
        return known_runs[known]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PytestProbe, "arun", recall)
        patch.setattr(pytest_server, "subprocess", FORKED)
        yield
