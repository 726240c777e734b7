"""What the tests of the logs share: a ledger that nothing is in yet."""

import shutil

import pytest

from plaudit.ledger.ledger import Ledger


@pytest.fixture(scope="session")
def empty_ledger(tmp_path_factory):
    """Return the file of an empty ledger: copying it takes less time than creating another."""
    path = tmp_path_factory.mktemp("empty") / "rewards.db"
    Ledger(path).close()
    return path


@pytest.fixture
def ledger(empty_ledger, tmp_path):
    with Ledger(shutil.copy(empty_ledger, tmp_path / "rewards.db")) as ledger:
        yield ledger
