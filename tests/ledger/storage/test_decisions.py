"""Contexts of decisions are kept in columns, and come back as they were recorded, to the character."""

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from plaudit import Ledger
from plaudit.errors import LedgerBroken
from plaudit.learn.off_policy import read_decisions
from plaudit.ledger.context import encode_context
from plaudit.ledger.storage.chain import split_column
from plaudit.ledger.storage.codec import decode_column
from plaudit.ledger.storage.decisions import is_packed, pack_contexts
from plaudit.ledger.storage.schema import blocks
from support.ledgers import REWARD, columns, signal

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
ANYTHING = st.none() | st.booleans() | st.integers() | FINITE | NAMES


def text_of(contexts):
    return f"[{','.join(encode_context(context) for context in contexts)}]"


@st.composite
def logs(draw):
    """Draw contexts that all say the same things, with whatever stands around the decision."""
    width = draw(st.integers(0, 3))
    number = draw(st.sampled_from([FINITE, st.integers(-(2**60), 2**60), FINITE | st.integers(0, 9)]))
    parts = {
        "id": NAMES,
        "probability": st.floats(0.01, 1) | st.just(1),
        "x": st.lists(number, min_size=width, max_size=width),
        "number": st.integers(0, 10**9),
        "else": st.lists(ANYTHING, max_size=2) | ANYTHING,
    }
    names = draw(st.permutations(["action", *parts]))
    decision = st.fixed_dictionaries({name: parts.get(name, NAMES) for name in names})
    beside = draw(st.sampled_from([{}, {"latency": st.fixed_dictionaries({"ms": FINITE})}, {"ok": ANYTHING}]))
    context = st.fixed_dictionaries({**beside, "decision": decision})
    return draw(st.lists(context, min_size=2, max_size=6))


@given(logs())
def test_columns_give_back_what_was_recorded(contexts):
    text, count = text_of(contexts), len(contexts)
    stored = pack_contexts(text)
    orders = {(*each, *each["decision"]) for each in contexts}  # Hypothesis draws keys in any order
    assert is_packed(stored) == (len(orders) == 1)
    assert text_of(decode_column(stored, count)) == text
    assert f"[{','.join(split_column(stored, count, ','))}]" == text


ONE = {"decision": {"action": "a", "probability": 0.5, "x": [1.0, 2.0]}}
TWO = {"decision": {"action": "b", "probability": 0.5, "x": [-0.0, 2.0]}}


@pytest.mark.parametrize(
    "other",
    [
        {"decision": {"action": "a", "x": [1.0, 2.0], "probability": 0.5}},
        {"decision": {"action": "a", "probability": 0.5}},
        {"decision": ["a", 0.5, [1.0, 2.0]]},
        {"again": True, **ONE},
        {**ONE, "blocked": "again"},
        [ONE],
        None,
        7,
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_block_with_a_context_that_says_something_else_is_kept_as_it_is(other, place):
    contexts = [ONE, TWO]
    contexts.insert(place, other)
    assert pack_contexts(text_of(contexts)) == text_of(contexts)


@pytest.mark.parametrize(
    "contexts",
    [[ONE], [{"decision": {}}] * 2, [{**ONE, "terminated": True}, {**TWO, "terminated": False}], [{"arm": 1}] * 2],
    ids=["a single record", "nothing decided", "the end of an episode", "no decision"],
)
def test_contexts_that_nothing_reads_in_columns_are_kept_as_they_are(contexts):
    assert pack_contexts(text_of(contexts)) == text_of(contexts)


@pytest.mark.parametrize("context", [{"packed": {"decision": {"action": ["a"]}}}, {"packed": []}])
def test_a_context_that_looks_like_columns_is_none(where, context):
    with Ledger(where) as ledger:
        ledger.record_batch(REWARD, columns(0, 3), context=context)
        ledger.record_batch(REWARD, columns(0, 2), context=[context, {"other": 1}])
        assert [record.context for record in ledger.history()] == [*[context] * 4, {"other": 1}]
        assert ledger.verify().ok


def read_stored(ledger):
    with ledger._store.backend.snapshot() as connection:
        return list(connection.execute(select(blocks.c.contexts).order_by(blocks.c.first)).scalars())


def test_batches_and_merged_records_are_kept_in_columns_and_no_head_changes(where):
    given = [{"decision": {"action": "ab"[n % 2], "x": [n * 0.1], "number": n}} for n in range(80)]
    with Ledger(where) as ledger:
        ledger.record_batch(REWARD, columns(0, 80), context=given, run="batch")
        for n in range(80):
            ledger.record(signal(n), context=given[n], run="single")
        head = ledger.head()
        ledger.compact()
        assert list(map(is_packed, read_stored(ledger))) == [True, True]
        assert ledger.head() == head
        for run in ("batch", "single"):
            assert [record.context for record in ledger.history(run=run)] == given
        assert ledger.verify(heads=head).ok


@pytest.mark.parametrize(
    ("before", "after", "readable"),
    [
        ('"action":["a","b"]', '"action":["b","a"]', True),
        ('"float64":"AAAA', '"float64":"BAAA', True),
        ('"width":2', '"width":4', False),
        ('"action":["a","b"]', '"action":["a"]', False),
        ('"float64":"AAAA', '"float64":"é', False),
        ('"float64"', '"float32"', False),
    ],
)
def test_columns_that_were_changed_are_found(tmp_path, before, after, readable):
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(REWARD, columns(0, 2), decision_class="c", context=[ONE, TWO])
        (text,) = read_stored(ledger)
        assert before in text
        with closing(ledger._store.backend._connect("rw")) as connection:
            connection.execute("UPDATE blocks SET contexts = ?", (text.replace(before, after),))
        assert not ledger.verify().ok
        if not readable:
            with pytest.raises(LedgerBroken, match="damaged"):
                list(ledger.history())
            with pytest.raises(LedgerBroken, match="damaged"):
                read_decisions(ledger, decision_class="c")
