"""What the tests of deepthinker share: a store that nothing is in yet."""

import shutil

import pytest

from plaudit.systems.deepthinker import RewardStore


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
