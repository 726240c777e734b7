"""The newest records of a history."""

import pytest

from plaudit import Entry, Ledger
from support.samples import EPISODES, following

SIGNAL = following.score(**EPISODES["following"][0])


@pytest.mark.parametrize("many", [0, 1, 15, 16, 17, 48, 49, 500, 1200])
def test_the_last_records_are_found_from_the_end(tmp_path, many):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for start in range(0, many, 3):
            ledger.record_many([SIGNAL] * min(3, many - start))
        everything = ledger.history()
        for count in (1, 2, 64, 200, 501):
            found = everything.last(count)
            assert [record.id for record in found] == list(range(1, many + 1))[-count:]
            assert (found is everything) == (count > many)


@pytest.fixture(scope="module", params=[1, 7, 400])
def recorded(request, tmp_path_factory):
    """A ledger of 400 records, of which so many were recorded together."""
    together = request.param
    entries = [Entry(signal=SIGNAL, episode=at % 5, phase="ab"[at % 20 // 10], step=at) for at in range(400)]
    with Ledger(tmp_path_factory.mktemp("recorded") / "rewards.db") as ledger:
        for start in range(0, len(entries), together):
            ledger.record_many(entries[start : start + together])
        yield ledger


@pytest.mark.parametrize("choice", [{"episode": 3}, {"phase": "b"}, {"after": 40}, {"after": 40, "episode": 3}, {}])
def test_they_are_the_last_of_those_that_were_chosen(recorded, choice):
    numbers = [record.id for record in recorded.history(**choice)]
    for count in (1, 5, 100, 1000):
        assert [record.id for record in recorded.history(**choice).last(count)] == numbers[-count:]


def test_large_contexts_are_read_a_few_at_a_time(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for step in range(40):
            ledger.record(SIGNAL, step=step, context="x" * 100_000)
        assert [record.step for record in ledger.history().last(39)] == list(range(1, 40))


def test_a_history_keeps_its_ledger_open(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_many([SIGNAL] * 40)
    assert [record.id for record in Ledger(tmp_path / "rewards.db").history()] == list(range(1, 41))
    assert len(list(Ledger(tmp_path / "rewards.db").history().last(5))) == 5
    assert sum(batch.num_rows for batch in Ledger(tmp_path / "rewards.db").history().arrow()) == 40
    found = Ledger(tmp_path / "rewards.db").history(step=None)
    assert (found.count(), found.first().id) == (40, 1)
