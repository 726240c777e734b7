"""Decisions as records hold them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.errors import MissingField, NotFinite, OutOfRange, ShapeMismatch, WrongType
from plaudit.learn import Decision
from plaudit.learn.validate import parse_number, parse_numbers
from support.bandits import ACTIONS, contexts

shares = st.none() | st.floats(0, 1)
decisions = st.builds(
    Decision,
    st.sampled_from(ACTIONS),
    shares,
    st.none() | st.tuples(*[st.floats(0, 1)] * 4),
    st.none() | contexts,
    st.integers(0, 10**6),
    shares,
    st.none() | st.text(min_size=1),
)


@given(decision=decisions)
def test_a_decision_survives_the_way_through_a_record(decision):
    assert Decision.from_dict(decision.to_dict()) == decision


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        ("star", WrongType, "not a mapping"),
        ({}, MissingField, "no 'action'"),
        ({"action": 3}, WrongType, "action=3"),
        ({"action": "star", "probability": 1.5}, OutOfRange, "probability=1.5"),
        ({"action": "star", "probability": float("nan")}, NotFinite, "probability"),
        ({"action": "star", "x": [1.0, None]}, WrongType, r"x\[1\]"),
        ({"action": "star", "x": "12"}, WrongType, "not a list"),
        ({"action": "star", "number": 1.5}, WrongType, "number=1.5"),
    ],
)
def test_what_is_no_decision_is_refused_by_name(data, error, says):
    with pytest.raises(error, match=says):
        Decision.from_dict(data)


def test_what_ran_instead_has_no_probability_unless_it_is_known():
    decision = Decision("chain", 0.8, (0.1, 0.8, 0.1), (1.0,), 3)
    assert decision.credit_to("stay") == Decision("stay", None, None, (1.0,), 3)
    assert decision.credit_to("stay", 0.9).probability == 0.9


def test_numbers_are_as_many_as_expected():
    with pytest.raises(ShapeMismatch, match="2 numbers, but 3"):
        parse_numbers([1, 2], "x", 3)
    with pytest.raises(NotFinite):
        parse_number(10**400, "reward")
    with pytest.raises(WrongType):
        parse_number(True, "reward")
