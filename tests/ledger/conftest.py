"""What tests of ledgers share: both engines, and counts that are printed at the end of the run."""

import pytest


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    """Where a new ledger is to be: a file, then a fresh database on a server."""
    return tmp_path / "ledger.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def counted(record_property):
    """Report how often something was tried and how it ended; tests/conftest.py adds the numbers up and prints them."""

    def count(what, **numbers):
        told = {name: int(number) for name, number in numbers.items()}
        record_property("counted", (what, told))

    return count
