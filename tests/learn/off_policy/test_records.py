"""Contexts of records that are read by the look of the first are what JSON says they are, or are left to JSON."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.learn.off_policy.records import parse_table
from plaudit.ledger.jsonl.encoding import encode_compact

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


def text_of(contexts):
    return f"[{','.join(encode_compact(context, 'context') for context in contexts)}]"


@st.composite
def logs(draw):
    """Draw contexts that are all laid out alike, with whatever stands around the decision."""
    width = draw(st.integers(0, 3))
    parts = {
        "id": NAMES,
        "probability": st.floats(0.01, 1),
        "x": st.lists(FINITE | st.integers(-(2**60), 2**60), min_size=width, max_size=width),
        "number": st.integers(0, 10**9),
        "epsilon": st.floats(0, 1),
    }
    chosen = {name: parts[name] for name in draw(st.permutations(sorted(parts)))[: draw(st.integers(0, 5))]}
    decision = st.fixed_dictionaries({"action": NAMES, **chosen})
    beside = draw(
        st.sampled_from([{}, {"latency": st.fixed_dictionaries({"ms": FINITE})}, {"note": NAMES, "ok": st.just(True)}])
    )
    context = st.fixed_dictionaries(
        {**beside, "decision": decision} if draw(st.booleans()) else {"decision": decision, **beside}
    )
    return draw(st.lists(context, min_size=1, max_size=6))


@given(logs())
def test_a_table_says_what_json_says(contexts):
    text = text_of(contexts)
    found = parse_table(text, len(contexts))
    if found is None:  # only where JSON escapes a character
        assert "\\" in text
        return
    decisions = [each["decision"] for each in json.loads(text)]
    assert found.strings("action") == [each["action"] for each in decisions]
    assert found.strings("id") == ([each["id"] for each in decisions] if "id" in decisions[0] else None)
    if "number" in decisions[0]:
        assert [int(each) for each in found.strings("number")] == [each["number"] for each in decisions]
    for name in ("probability", "x"):
        numbers = found.numbers(name)
        if name in decisions[0]:
            expected = np.array([each[name] for each in decisions], np.float64).reshape(-1)
            assert numbers.tobytes() == expected.tobytes()
        else:
            assert numbers is None


ONE = {"decision": {"action": "a", "probability": 0.5, "x": [1.0, 2.0], "number": 3}}


@pytest.mark.parametrize(
    "other",
    [
        {"decision": {"action": "a", "probability": 0.5, "x": [1.0], "number": 3}},
        {"decision": {"action": "a", "probability": 0.5, "x": [1.0, 2.0, 3.0], "number": 3}},
        {"decision": {"action": "a", "probability": None, "x": [1.0, 2.0], "number": 3}},
        {"decision": {"action": "a", "probability": "0.5", "x": [1.0, 2.0], "number": 3}},
        {"decision": {"probability": 0.5, "action": "a", "x": [1.0, 2.0], "number": 3}},
        {"decision": {"action": 'a"b', "probability": 0.5, "x": [1.0, 2.0], "number": 3}},
        {"decision": {"action": "å", "probability": 0.5, "x": [1.0, 2.0], "number": 3}},
        {"wrapped": [ONE, ONE]},
        {"again": True, **ONE},
        [ONE],
        None,
        7,
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_record_that_looks_different_leaves_the_text_to_json(other, place):
    contexts = [ONE, ONE]
    contexts.insert(place, other)
    assert parse_table(text_of(contexts), 3) is None
    assert parse_table(text_of([ONE, ONE]), 2) is not None


def test_a_record_hidden_in_another_is_not_counted():
    text = text_of([ONE, {"wrapped": [ONE, ONE]}, 7])  # three entries, and three times the look of the first
    assert parse_table(text, 3) is None


@pytest.mark.parametrize(
    "text", ["[]", "[", "", "[{}]", '[{"decision":{"action":"a"}}', '[{"decision": {"action": "a"}}]']
)
def test_what_is_no_such_list_is_left_to_json(text):
    assert parse_table(text, 1) is None


def test_the_wrong_number_of_records_is_left_to_json():
    assert parse_table(text_of([ONE]), 2) is None  # one entry for all
