"""What is guessed where no record was found, and that no record is read for it."""

import pytest

from plaudit import Entry, Ledger, NotInLedger
from support.samples import EPISODES, following


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    signal = following.score(**EPISODES["following"][0])
    with Ledger(tmp_path_factory.mktemp("ledger") / "rewards.db") as found:
        found.record_many([Entry(signal, run=f"night-{run}", key=f"first of {run}") for run in range(1200)])
        found.record(signal, run="day", episode="last", actor="car")
        yield found


@pytest.mark.parametrize(
    ("query", "guess"),
    [
        ({"run": "nihgt-1111"}, "night-1111"),
        ({"run": "night-1199x"}, "night-1199"),
        ({"run": "daay"}, "day"),
        ({"actor": "carr", "run": "day"}, "car"),
        ({"key": "first of 11999"}, "first of 1199"),
        ({"reward": "folowing"}, "following"),
        ({"version": "11"}, "1"),
    ],
)
def test_the_nearest_value_is_found_without_a_look_at_records(ledger, monkeypatch, query, guess):
    monkeypatch.delattr("plaudit.ledger.suggest.BlockSearch")
    assert ledger.history(**query).suggest() == (next(iter(query)), guess)


@pytest.mark.parametrize("query", [{"run": "day"}, {"run": "x"}, {"step": 3}, {"run": "day", "actor": "car"}, {}])
def test_there_is_no_guess_where_the_values_are_there_or_nothing_is_near(ledger, query):
    assert ledger.history(**query).suggest() is None


def test_episodes_are_looked_for_in_a_few_blocks(ledger):
    assert ledger.history(episode="lost").suggest() == ("episode", "last")
    assert ledger.history(episode="lost", run="night-3").suggest() is None


def test_errors_of_the_library_guess_as_well(ledger):
    with pytest.raises(NotInLedger, match=r"with run='dya'\. Did you mean run='day'\?"):
        ledger.history(run="dya").first()
    with pytest.raises(NotInLedger, match=r"the key 'first off 3'\. Did you mean 'first of 3'\?"):
        ledger.why("first off 3")


def test_what_there_is_instead_is_listed_where_nothing_is_near(ledger, monkeypatch):
    monkeypatch.delattr("plaudit.ledger.suggest.BlockSearch")
    known = ledger.history(run="x").list_known_values()
    assert (known.name, known.are_all, len(known.values)) == ("run", False, 8)
    assert known.describe().startswith("'day', 'night-0', 'night-1', ")
    assert known.describe().endswith(", …")
    assert ledger.history(run="day", actor="x").list_known_values() == ("actor", ["car"], True)
    for query in ({"run": "day"}, {"phase": "x"}, {"step": 3}, {"key": "x"}, {}):
        assert ledger.history(**query).list_known_values() is None


def test_errors_of_the_library_list_what_there_is(ledger):
    with pytest.raises(NotInLedger, match=r"with reward='zzz'\. It has reward='following'\."):
        ledger.history(reward="zzz").first()
