"""Contexts of records that are read by the look of the first are what JSON says they are, or are left to JSON."""

import json
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plaudit.learn.off_policy.columns import parse_table
from plaudit.ledger.context import encode_context

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


def text_of(contexts):
    return f"[{','.join(encode_context(context) for context in contexts)}]"


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


@pytest.fixture(params=["with pyarrow", "without pyarrow"])
def arrow(request, monkeypatch):
    """Read with PyArrow, then as if it were not installed."""
    if request.param == "without pyarrow":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    else:
        pytest.importorskip("pyarrow", reason="needs pyarrow")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(logs())
def test_a_table_says_what_json_says(arrow, contexts):
    text = text_of(contexts)
    found = parse_table(text, len(contexts))
    if found is None:  # only where JSON escapes a character, or contexts name their parts in several orders
        assert "\\" in text or len({(*each, *each["decision"]) for each in contexts}) > 1
        return
    decisions = [each["decision"] for each in json.loads(text)]
    assert found.actions.expand() == [each["action"] for each in decisions]
    key = next((key for key in ("id", "number") if key in decisions[0]), "")
    assert found.key == key
    assert [*map(str, found.names)] == [str(each[key]) for each in decisions if key]
    for name in ("probability", "x"):
        numbers = found.numbers.get(name)
        if decisions[0].get(name, []) == []:
            assert numbers is None
        else:
            expected = np.array([each[name] for each in decisions], np.float64).reshape(len(decisions), -1)
            assert (numbers.shape, numbers.tobytes()) == (expected.shape, expected.tobytes())


ONE = {"decision": {"action": "a", "probability": 0.5, "x": [1.0, 2.0], "number": 3}}


@pytest.mark.parametrize(
    "other",
    [
        {"decision": {"action": "a", "probability": 0.5, "x": [1.0], "number": 3}},
        {"decision": {"action": "a", "probability": 0.5, "x": [1.0, 2.0, 3.0], "number": 3}},
        {"decision": {"action": "a", "probability": True, "x": [1.0, 2.0], "number": 3}},
        {"decision": {"action": "a", "probability": [0.5], "x": [1.0, 2.0], "number": 3}},
        {"decision": {"action": "a", "probability": 0.5, "x": [1.0, None], "number": 3}},
        {"decision": {"action": "a", "probability": 0.5, "x": [[1.0, 2.0]], "number": 3}},
        {"decision": {"action": "a", "probability": None, "x": [1.0, 2.0], "number": 3}},
        {"decision": {"action": "a", "probability": "0.5", "x": [1.0, 2.0], "number": 3}},
        {"decision": {"probability": 0.5, "action": "a", "x": [1.0, 2.0], "number": 3}},
        {"decision": {"action": 'a"b', "probability": 0.5, "x": [1.0, 2.0], "number": 3}},
        {"decision": {"action": "å", "probability": 0.5, "x": [1.0, 2.0], "number": 3}},
        {"wrapped": [ONE, ONE]},
        {"again": True, **ONE},
        {**ONE, "blocked": "again"},
        [ONE],
        None,
        7,
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_record_that_looks_different_leaves_the_text_to_json(arrow, other, place):
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


def test_two_records_that_are_wrong_in_ways_that_cancel_out_are_left_to_json(arrow):
    fewer, more = ({"decision": {**ONE["decision"], "x": x}} for x in ([1.0], [1.0, 2.0, 3.0]))
    assert parse_table(text_of([ONE, fewer, more]), 3) is None


def test_all_of_them_blocked_are_left_to_json():
    assert parse_table(text_of([{**ONE, "blocked": "rule"}] * 2), 2) is None


def test_the_wrong_number_of_records_is_left_to_json():
    assert parse_table(text_of([ONE]), 2) is None  # one entry for all
