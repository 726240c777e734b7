"""What the tests of deepthinker share: a store that nothing is in yet, and reports that are made quickly."""

import shutil

import pytest

from plaudit.systems.deepthinker import RewardStore, commands
from plaudit.systems.deepthinker.simulated import report


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory):
    """Return the folder of an empty store: copying it takes less time than creating another."""
    folder = tmp_path_factory.mktemp("empty")
    RewardStore(folder).close()
    return folder


@pytest.fixture
def store(empty_store, tmp_path):
    with RewardStore(shutil.copytree(empty_store, tmp_path / "kb" / "rewards")) as store:
        yield store


@pytest.fixture(scope="module")
def few_fresh_missions():
    """Put what was learnt to the test in six missions, not in sixty; each report would take three times as long."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (report, commands):
            patch.setattr(module, "FRESH", 6)
        yield
