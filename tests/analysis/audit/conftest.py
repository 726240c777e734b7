"""What the tests of audits share."""

import shutil

import pytest

from plaudit import Ledger


@pytest.fixture(scope="session")
def empty_ledger(tmp_path_factory):
    """A ledger without records: to copy one is sooner done than to make one."""
    path = tmp_path_factory.mktemp("empty") / "rewards.db"
    Ledger(path).close()
    return path


@pytest.fixture(autouse=True)
def _copy_empty_ledger(empty_ledger, tmp_path):
    """Let every test find an empty `rewards.db`."""
    shutil.copy(empty_ledger, tmp_path / "rewards.db")
