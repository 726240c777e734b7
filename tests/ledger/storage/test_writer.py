"""Keys: the same content under one key is kept once, other content is an error that says what differs."""

import itertools

import pytest

from plaudit import Entry, Ledger
from plaudit.errors import KeyConflict, LedgerError
from support.ledgers import REWARD, columns, run, signal, verified
from support.samples import EPISODES, maze


@pytest.fixture
def ledger(where):
    with Ledger(where) as opened:
        yield opened


CONTENT = {
    "run": "r",
    "episode": "e",
    "step": 1,
    "phase": "p",
    "decision_class": "d",
    "actor": "a",
    "context": {"c": [1]},
}


def test_the_same_content_under_one_key_is_kept_once(ledger, where):
    number = ledger.record(signal(), key="k", **CONTENT)
    assert ledger.record(signal(), key="k", **CONTENT) == number
    with Ledger(where) as other:
        assert other.record(signal(), key="k", **CONTENT) == number
        assert other.record_many([Entry(signal=signal(), key="k", **CONTENT)]) == [number]
    assert ledger.history().count() == 1
    assert ledger["k"].id == number
    verified(ledger)


def test_other_content_under_a_key_is_an_error_that_says_what_differs(ledger):
    ledger.record(signal(), key="k", **CONTENT)
    for name in (*CONTENT, "signal", "reward"):
        check_conflict(ledger, name)
    for name in CONTENT:
        with pytest.raises(KeyConflict, match=name):
            ledger.record(signal(), key="k", **{k: v for k, v in CONTENT.items() if k != name})
    assert ledger.history().count() == 1, "nothing of a group that failed is there"
    ledger.record(signal(2))
    verified(ledger)


def check_conflict(ledger, name):
    """Record under the key something that differs in one part."""
    if name == "signal":
        other, changed = signal(1), CONTENT
    elif name == "reward":
        other, changed = maze.score(**EPISODES["maze"][0]), CONTENT
    else:
        other, changed = signal(), CONTENT | {name: 2 if name == "step" else "other"}
    for work in (
        lambda: ledger.record(other, key="k", **changed),
        lambda: ledger.record_many([signal(5), Entry(signal=other, key="k", **changed)]),
    ):
        with pytest.raises(KeyConflict) as caught:
            work()
        assert "'k'" in str(caught.value)
        assert {"signal": "inputs"}.get(name, name) in str(caught.value)


ALIKE = [(1, 1.0), (1, True), (0.0, -0.0), ("1", 1), ({"a": 1, "b": 2}, {"b": 1, "a": 2}), ([], {})]


def test_contexts_that_only_seem_equal_are_told_apart(ledger):
    for n, (one, two) in enumerate(ALIKE):
        ledger.record(signal(), key=f"k{n}", context=one)
        with pytest.raises(KeyConflict, match="context"):
            ledger.record(signal(), key=f"k{n}", context=two)


def test_the_order_of_a_contexts_keys_does_not_matter(ledger):
    first = ledger.record(signal(), key="k", context={"a": 1, "b": {"c": 2, "d": 3}})
    assert ledger.record(signal(), key="k", context={"b": {"d": 3, "c": 2}, "a": 1}) == first


def test_a_key_twice_in_one_group(ledger):
    one = Entry(signal=signal(1), key="k", step=1)
    assert ledger.record_many([one, signal(2), one, Entry(signal=signal(3), key="l")]) == [1, 2, 1, 3]
    assert [r.key for r in ledger.history()] == ["k", None, "l"]
    with pytest.raises(KeyConflict, match="twice"):
        ledger.record_many([Entry(signal=signal(1), key="m"), Entry(signal=signal(2), key="m")])
    assert ledger.history().count() == 3
    verified(ledger)


def test_keys_in_a_batch(ledger):
    first = ledger.record_batch(REWARD, columns(0, 4), key=["a", "b", None, "d"], step=range(4))
    assert ledger.record_batch(REWARD, columns(0, 4), key=["a", "b", "c", "d"], step=range(4))[:2] == first[:2]
    assert [r.key for r in ledger.history()] == ["a", "b", None, "d", "c"]
    with pytest.raises(KeyConflict):
        ledger.record_batch(REWARD, columns(0, 2), key=["new", "a"], step=[7, 7])
    with pytest.raises(LedgerError, match="one key"):
        ledger.record_batch(REWARD, columns(0, 2), key="all")
    with pytest.raises(KeyConflict, match="twice"):
        ledger.record_batch(REWARD, columns(0, 2), key=["x", "x"])
    assert ledger.history().count() == 5
    verified(ledger)


def test_a_record_of_python_and_one_of_a_batch_are_the_same_under_one_key(ledger):
    number = ledger.record(signal(3), key="k", step=3)
    assert ledger.record_batch(REWARD, columns(3, 4), key=["k"], step=[3]) == [number]
    assert ledger.history().count() == 1


def test_keys_through_a_buffered_writer(ledger):
    with ledger.writer(max_delay=0.001) as writer:
        first = writer.record(signal(), key="k", step=1)
        again = writer.record(signal(), key="k", step=1)
        assert first.wait(300) == again.wait(300)
        wrong = writer.record(signal(1), key="k", step=1)
        with pytest.raises(KeyConflict):
            wrong.wait(300)
        assert wrong.state == "failed"
        with pytest.raises(KeyConflict):
            writer.flush()
        writer.record(signal(2)).wait(300)
    assert ledger.history().count() == 2


def test_processes_that_race_for_keys_keep_one_record_of_each(where, counted):
    found = run("race", where, 4, 40)
    with Ledger(where) as ledger:
        records = list(ledger.history())
        assert (
            sorted(r.key for r in records) == sorted({r.key for r in records}) == sorted(f"key {n}" for n in range(40))
        )
        assert found["numbers"] == {r.key: r.id for r in records}, "writers were told different numbers"
        verified(ledger)
    counted("keys raced for by 4 processes", keys=40, doubled=0)


def test_a_conflict_leaves_no_trace(ledger):
    ledger.record(signal(), key="k")
    for n, _ in itertools.product(range(3), range(2)):
        with pytest.raises(KeyConflict):
            ledger.record_many([Entry(signal=signal(n), run=f"new {n}"), Entry(signal=signal(1), key="k")])
    ledger.record(signal(1), run="new 1")
    assert [r.run for r in ledger.history()] == [None, "new 1"]
    verified(ledger)
