"""Choosing records, and what people give that is nearly right."""

import threading
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from plaudit import Entry, InputError, Ledger, LedgerError, NotInLedger
from plaudit.errors import VersionConflict, WrongType
from support.ledgers import REWARD, columns, signal

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.fixture
def ledger(where):
    with Ledger(where) as made:
        made.record_batch(
            REWARD, columns(0, 6), run="n", step=range(6), at=[NOON + timedelta(days=d) for d in range(6)]
        )
        made.record(signal(7), step=3)
        yield made


def test_by_step(ledger):
    assert [record.id for record in ledger.history(step=3)] == [4, 7]
    assert [record.total for record in ledger.history(step=3, run="n")] == [signal(3).total]


def test_by_a_reward_itself(ledger):
    assert ledger.history(reward=REWARD).count() == 7
    assert ledger.history(reward=REWARD.with_version("other")).count() == 0


def test_by_dates_and_texts(ledger):
    assert [r.step for r in ledger.history(run="n", since="2026-11-04T12:00Z")] == [3, 4, 5]
    assert [r.step for r in ledger.history(run="n", until=date(2026, 11, 3))] == [0, 1]
    for wrong, match in ((5, "since=5"), ("soon", "since='soon'")):
        with pytest.raises(InputError, match=match):
            ledger.history(since=wrong)
    with pytest.raises(NotInLedger, match="since='2030-01-01"):
        ledger.history(since=datetime(2030, 1, 1, tzinfo=UTC)).first()


def test_what_cannot_be_chosen_by_is_told(ledger):
    with pytest.raises(LedgerError, match="Did you mean 'decision_class'"):
        ledger.history(decison_class="x")


def test_a_reader_that_comes_back_for_what_is_new_misses_nothing(where):
    """Two writers at once: numbers rise in the order in which records can be seen."""
    seen, last, running = [], 0, 2

    def write(name):
        nonlocal running
        with Ledger(where) as own:
            for step in range(60):
                own.record(signal(step), run=name, step=step)
        running -= 1

    threads = [threading.Thread(target=write, args=(name,)) for name in ("a", "b")]
    with Ledger(where) as reader:
        for thread in threads:
            thread.start()
        while running or len(seen) < 120:
            before, ended = len(seen), not running
            for record in reader.history(after=last):
                seen.append((record.run, record.step))
                last = record.id
            if ended and len(seen) == before:
                break
        for thread in threads:
            thread.join()
    assert sorted(seen) == sorted((name, step) for name in ("a", "b") for step in range(60))


def test_numbers_of_numpy_and_moments_of_pandas_are_taken(ledger):
    context = {"a": np.int64(2), "b": [np.bool_(True), np.float32(0.5)], "c": np.str_("x")}
    number = ledger.record(signal(), step=np.int64(4), episode=np.int32(2), context=context)
    found = ledger[number]
    assert (found.step, found.episode, found.context) == (4, "2", {"a": 2, "b": [True, 0.5], "c": "x"})
    with pytest.raises(WrongType, match="tolist"):
        ledger.record(signal(), context={"a": np.arange(3)})
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    numbers = ledger.record_batch(REWARD, columns(0, 3), step=pandas.Series([7, 8, 9]), episode=pandas.Index([1, 2, 3]))
    assert [(ledger[n].step, ledger[n].episode) for n in numbers] == [(7, "1"), (8, "2"), (9, "3")]
    assert ledger[ledger.record(signal(), at=pandas.Timestamp("2026-01-01T00:00Z"))].at == datetime(
        2026, 1, 1, tzinfo=UTC
    )


def test_one_is_not_many_and_many_is_not_one(ledger):
    with pytest.raises(WrongType, match="use record for one"):
        ledger.record_many(signal())
    with pytest.raises(WrongType, match="record_many"):
        ledger.record(Entry(signal(), step=1))
    assert ledger.record_many(iter([Entry(signal(), step=1)])) == [8]
    assert ledger.record_many([]) == []


def test_a_conflict_shows_that_categories_were_reordered(where):
    from plaudit import Field, Reward, term

    @term
    def tool(kind):
        return 1.0 if kind == "search" else 0.0

    one, two = (
        Reward("tools", version="1", terms=[tool], fields=[Field("kind", values=values)])
        for values in (("search", "shell"), ("shell", "search"))
    )
    with Ledger(where) as ledger:
        ledger.register(one)
        with pytest.raises(VersionConflict, match="kind: category of search, shell → category of shell, search"):
            ledger.register(two)


def test_re_scorings_are_listed(ledger):
    other = REWARD.with_weights(comfort=2.0).with_version("2")
    done = ledger.rescore(other, run="n")
    [job] = ledger.jobs()
    assert (job.id, job.reward, job.version, job.chosen, job.records) == (done.job, "following", "2", {"run": "n"}, 6)
    assert job.finished >= job.started
    assert [record.origin for record in ledger.history(job=job.id)] == [1, 2, 3, 4, 5, 6]


def test_a_callers_mistake_is_no_damage(ledger):
    with pytest.raises(WrongType, match="a list of heads"):
        ledger.verify(heads="heads.json")
    with pytest.raises(ValueError, match="not the head"):
        ledger.verify(heads=[{"writer": 1}])
    with pytest.raises(TypeError, match="argument"):
        ledger.verify(progress=lambda done: None)
    assert ledger.verify(heads=[head.to_dict() for head in ledger.stats().heads]).ok
