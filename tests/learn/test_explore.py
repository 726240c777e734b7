"""From scores to probabilities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.errors import DefinitionError
from plaudit.learn import EpsilonMix, Sampling, SquareCB
from plaudit.learn.explore import picked

scores = st.lists(st.floats(-5, 5), min_size=2, max_size=6)
rules = st.one_of(
    st.builds(EpsilonMix, st.floats(0, 1), st.floats(0, 1), st.integers(1, 100)),
    st.builds(SquareCB, st.floats(0, 100), st.floats(0, 1), st.floats(0, 1 / 6)),
)


@given(rule=rules, scores=scores, number=st.integers(0, 200))
def test_probabilities_are_shares_of_one_and_the_best_has_the_largest(rule, scores, number):
    likely = rule.probabilities(scores, number)
    assert abs(sum(likely) - 1) < 1e-12
    assert min(likely) >= 0
    assert likely[scores.index(max(scores))] == pytest.approx(max(likely), abs=1e-12)


@given(
    rule=rules,
    rows=st.lists(st.lists(st.floats(-5, 5), min_size=3, max_size=3), min_size=1),
    number=st.integers(0, 200),
)
def test_a_policy_is_the_same_rule_for_many_rows(rule, rows, number):
    one_by_one = [rule.probabilities(row, number) for row in rows]
    np.testing.assert_allclose(rule.policy(np.array(rows), number), one_by_one, atol=1e-12)


@given(scores=scores, floor=st.floats(0, 1 / 6), number=st.integers(0, 10**6))
def test_no_action_falls_below_the_floor(scores, floor, number):
    assert min(SquareCB(10.0, 0.5, floor).probabilities(scores, number)) >= floor - 1e-15


@pytest.mark.parametrize(("number", "epsilon"), [(0, 0.20), (1, 0.19997), (2500, 0.125), (5000, 0.05), (10**9, 0.05)])
def test_the_share_of_random_choices_falls_as_specified(number, epsilon):
    assert EpsilonMix(0.20, 0.05, 5000).amount(number) == pytest.approx(epsilon, abs=1e-15)


@given(
    likely=st.lists(st.floats(0, 1), min_size=1, max_size=5).filter(lambda each: sum(each) > 0),
    at=st.floats(0, 1, exclude_max=True),
)
def test_what_has_no_probability_is_never_picked(likely, at):
    shares = [each / sum(likely) for each in likely]
    assert shares[picked(shares, at)] > 0


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: EpsilonMix(1.2, 0.1, 10), "from 0 to 1"),
        (lambda: EpsilonMix(0.2, 0.1, 0), "over=0"),
        (lambda: SquareCB(-1.0, 0.5, 0.0), "gamma"),
        (lambda: SquareCB(1.0, float("nan"), 0.0), "exponent"),
        (lambda: SquareCB(1.0, 0.5, 2.0), "floor"),
        (lambda: Sampling(0.0, True), "scale"),
    ],
)
def test_a_rule_that_makes_no_probabilities_is_refused(made, says):
    with pytest.raises(DefinitionError, match=says):
        made()
