"""Runs, totals by group, and the steps that earned least and most, as looking at every record finds them."""

from collections import defaultdict

import pytest

from plaudit import Ledger, LedgerError, NotInLedger
from plaudit.ledger import ranking
from plaudit.ledger.totals import Tally, Totals
from support.ledgers import REWARD, columns, signal
from support.samples import handover

OTHER = REWARD.with_version("2")


def fill(ledger):
    """Record three runs, one of them with two rewards, and steps of none."""
    for at in range(3):
        ledger.record(signal(at), run="a", episode=at // 2, actor="me", decision_class=f"c{at % 2}")
    ledger.record_batch(REWARD, columns(3, 60), run="b", episode=[at // 20 for at in range(57)])
    ledger.record_batch(OTHER, columns(60, 90), run="b")
    ledger.record_batch(REWARD, columns(90, 100))
    ledger.rescore(REWARD.with_weights(comfort=2.0).with_version("3"), run="a")


def tell_apart(records, name_keys):
    """Return the totals of records by what `name_keys` says of each."""
    tallies = defaultdict(Tally)
    for record in records:
        for key, value in name_keys(record):
            tallies[key].add_sum(1, value, value, value)
    return {key: tally.finish() for key, tally in tallies.items()}


def equal(found, wanted):
    assert found.keys() == wanted.keys()
    for key, totals in found.items():
        assert totals == Totals(totals.records, pytest.approx(wanted[key].mean, rel=1e-14), *list_ends(wanted[key]))


def list_ends(totals):
    return totals.low, totals.high


def test_runs_tell_how_much_there_is_and_what_episodes_earned(where):
    with Ledger(where) as ledger:
        assert ledger.runs() == []
        fill(ledger)
        found = {(each.run, each.version): each for each in ledger.runs()}
        assert list(found) == [("a", "1"), ("b", "1"), ("b", "2"), (None, "1")]
        returns = [each.total for each in ledger.episodes(run="b")]
        run = found["b", "1"]
        assert (run.records, run.episodes) == (57, 3)
        assert (run.returns.low, run.returns.high) == (min(returns), max(returns))
        assert found["b", "2"].episodes == 0
        assert found["b", "2"].to_dict()["returns"] is None
        assert [each.records for each in ledger.runs(run="a", job=1)] == [3]
        with pytest.raises(LedgerError, match="runs cannot be chosen by 'step'"):
            ledger.runs(step=1)


def test_totals_are_told_apart(where):
    with Ledger(where) as ledger:
        fill(ledger)
        records = list(ledger.history())
        by_run = tell_apart(records, lambda r: [((r.run, r.actor), r.total)])
        equal(ledger.totals("run", "actor"), by_run)
        by_term = tell_apart(records, lambda r: [((term, r.run), value) for term, value in r.signal.values.items()])
        equal(ledger.totals("term", "run"), by_term)
        only = [record for record in records if record.run == "b" and record.signal.version == "1"]
        by_reward = tell_apart(only, lambda r: [(("following@1",), r.total)])
        equal(ledger.totals("reward", run="b", version="1"), by_reward)
        with pytest.raises(LedgerError, match="Did you mean 'run'"):
            ledger.totals("runn")
        with pytest.raises(LedgerError, match="Use episodes"):
            ledger.totals("episode")
        with pytest.raises(LedgerError, match="at least one group"):
            ledger.totals()


@pytest.mark.parametrize("choice", [{}, {"run": "b"}, {"episode": 1}, {"job": 1}], ids=str)
@pytest.mark.parametrize("term", [None, "comfort"])
def test_the_worst_and_the_best_steps_are_found(tmp_path, choice, term):
    with Ledger(tmp_path / "ledger.db") as ledger:
        fill(ledger)

        def value(record):
            return record.total if term is None else record.signal.values[term]

        history = ledger.history(**choice)
        ranked = sorted(history, key=lambda record: (value(record), record.id))
        assert [record.id for record in history.worst(7, term=term)] == [record.id for record in ranked[:7]]
        ranked = sorted(history, key=lambda record: (-value(record), record.id))
        assert [record.id for record in history.best(7, term=term)] == [record.id for record in ranked[:7]]


def test_only_blocks_that_can_have_the_worst_steps_are_opened(tmp_path, monkeypatch):
    opened = []
    read = ranking._read_column
    monkeypatch.setattr(ranking, "_read_column", lambda *given: opened.append(given) or read(*given))
    with Ledger(tmp_path / "ledger.db") as ledger:
        for distance in range(6, 60):
            rows = {"distance": [float(distance)] * 3, "deceleration": [0.0] * 3, "action": [0] * 3}
            ledger.record_batch(REWARD, rows)
        ledger.record(REWARD.score(distance=1.0, deceleration=9.0, action=0))
        assert [record.id for record in ledger.history().worst(1)] == [163]
        assert len(opened) == 1
        rows = {"distance": [1.0, 1.0], "deceleration": [9.0, 9.0], "action": [0, 0]}
        for _ in range(20):
            ledger.record_batch(REWARD, rows)  # as bad as the worst, and later
        opened.clear()
        assert [record.id for record in ledger.history().worst(3)] == [163, 164, 165]
        assert len(opened) == 2


def test_a_term_that_no_reward_has_is_named(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.register(handover)
        fill(ledger)
        with pytest.raises(NotInLedger, match="Did you mean 'comfort'"):
            ledger.history().worst(term="comfrt")
        with pytest.raises(ValueError, match="must be at least 1"):
            ledger.history().best(0)
