"""Rewards of a ledger are read when they are needed, however many versions there are."""

import pytest

from plaudit import Ledger, Signal
from plaudit.errors import LedgerBroken
from plaudit.ledger.storage import specs
from support.ledgers import REWARD, signal

VERSIONS = 12


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.db") as written:
        for version in range(VERSIONS):
            written.record(REWARD.with_version(str(version)).score(**signal(version).inputs), run=f"r{version % 3}")
    with Ledger(tmp_path / "ledger.db") as opened:
        yield opened


@pytest.fixture
def loaded(monkeypatch):
    """Note the version of each reward that is read."""
    seen = []
    load = specs.load_spec
    monkeypatch.setattr(specs, "load_spec", lambda backend, row: seen.append(row.version) or load(backend, row))
    return seen


def test_one_record_takes_one_reward(ledger, loaded):
    assert ledger[5].signal.version == "4"
    assert ledger.why(5).record.id == 5
    assert loaded == ["4"]


def test_some_records_take_their_rewards(ledger, loaded):
    assert [record.signal.version for record in ledger.history(run="r1")] == ["1", "4", "7", "10"]
    assert ledger.history(version="3").count() == 1
    assert [layout.reward.version for layout, _ in ledger.history(version="3").counts()] == ["3"]
    assert loaded == ["1", "4", "7", "10", "3"]


def test_counts_and_sums_take_none(ledger, loaded):
    assert ledger.history().count() == ledger.history().totals().records == VERSIONS
    assert len(ledger.stats().rewards) == VERSIONS
    assert loaded == []


def test_a_signal_from_data_takes_the_rewards_of_its_label(ledger, loaded):
    again = Signal.from_dict(REWARD.with_version("6").score(**signal(3).inputs).to_dict())
    ledger.record(again)
    assert loaded == ["6"]


def test_all_of_them_are_listed(ledger):
    assert [stored.version for stored in ledger.rewards()] == [str(version) for version in range(VERSIONS)]


def test_a_reward_that_is_gone_is_missed(ledger):
    import sqlite3

    other = sqlite3.connect(ledger.name)
    other.execute("DELETE FROM specs WHERE version = '4'")
    other.commit()
    other.close()
    with pytest.raises(LedgerBroken, match="verify"):
        list(ledger.history())
