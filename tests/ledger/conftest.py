"""What tests of ledgers share: both engines."""

import pytest


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    """Where a new ledger is to be: a file that is not there, then a ledger on a server in which nothing is."""
    return tmp_path / "ledger.db" if request.param == "sqlite" else request.getfixturevalue("postgres_ledger")
