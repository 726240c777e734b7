"""What the tests of verification share."""

import functools
from types import SimpleNamespace

import pytest

from plaudit.ledger.verify import verify


@pytest.fixture
def quick(monkeypatch):
    """Load a reward and compile it once, however often it is verified: thousands of times here."""
    load = verify.load_spec
    loaded = functools.cache(lambda place, row: load(place, SimpleNamespace(**dict(row))))
    monkeypatch.setattr(verify, "load_spec", lambda place, row: loaded(place, tuple(row._mapping.items())))
    monkeypatch.setattr(verify, "Recomputer", functools.cache(verify.Recomputer))
