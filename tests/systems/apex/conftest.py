"""What the tests of the example share: what became of a project's tests, which take a process each time."""

from collections.abc import Iterator
from typing import Any

import pytest

from plaudit.systems.apex import PytestProbe, PytestRun


@pytest.fixture(scope="session")
def known_runs() -> dict[Any, PytestRun]:
    """What became of the tests of every project that was run, by the files of the project."""
    return {}


@pytest.fixture(scope="module")
def remembered_runs(known_runs: dict[Any, PytestRun]) -> Iterator[None]:
    """Run the tests of a project once, and remember what became of them for every project with the same files."""
    run = PytestProbe.arun

    async def recall(probe: PytestProbe) -> PytestRun:
        files = ((path.name, path.read_bytes()) for path in sorted(probe.folder.iterdir()))
        known = (probe.python, probe.expected, *files)
        if known not in known_runs:
            known_runs[known] = await run(probe)
        return known_runs[known]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PytestProbe, "arun", recall)
        yield
