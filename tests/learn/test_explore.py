"""From scores to probabilities, and how likely one of several normal numbers is to be the largest."""

import math
import sys
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.errors import DefinitionError
from plaudit.learn import EpsilonMix, Sampling, SquareCB, linear_thompson, thompson
from plaudit.learn.explore import chance_of_best, pick_action
from support.examples import examples

scores = st.lists(st.floats(-5, 5), min_size=2, max_size=6)
rules = st.one_of(
    st.builds(EpsilonMix, st.floats(0, 1), st.floats(0, 1), st.integers(1, 100)),
    st.builds(SquareCB, st.floats(0, 100), st.floats(0, 1), st.floats(0, 1 / 6)),
)
beliefs = st.lists(st.tuples(st.floats(-3, 3), st.floats(-4, 1)), min_size=2, max_size=5)


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
    assert shares[pick_action(shares, at)] > 0


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: EpsilonMix(1.2, 0.1, 10), "from 0 to 1"),
        (lambda: EpsilonMix(0.2, 0.1, 0), "over=0"),
        (lambda: SquareCB(-1.0, 0.5, 0.0), "gamma"),
        (lambda: SquareCB(1.0, float("nan"), 0.0), "exponent"),
        (lambda: SquareCB(1.0, 0.5, 2.0), "floor"),
        (lambda: Sampling(0.0, True), "scale"),
    ],
)
def test_a_rule_that_makes_no_probabilities_is_refused(build, says):
    with pytest.raises(DefinitionError, match=says):
        build()


@given(beliefs=beliefs)
def test_one_of_several_normal_numbers_is_the_largest(beliefs):
    means, deviations = [mean for mean, _ in beliefs], [10**size for _, size in beliefs]
    chances = [chance_of_best(means, deviations, at) for at in range(len(means))]
    assert sum(chances) == pytest.approx(1, abs=1e-9)


@given(beliefs=beliefs.filter(lambda each: len(each) == 2))
def test_of_two_it_is_the_normal_distribution_of_their_difference(beliefs):
    (one, a), (other, b) = beliefs
    expected = NormalDist().cdf((one - other) / math.hypot(10**a, 10**b))
    assert chance_of_best([one, other], [10**a, 10**b], 0) == pytest.approx(expected, abs=1e-9)


@examples(0.25)
@given(beliefs=st.lists(st.tuples(st.floats(-1, 1), st.floats(0.1, 2)), min_size=3, max_size=4))
def test_the_chance_to_be_the_largest_is_the_integral_that_scipy_finds(beliefs):
    from scipy import integrate

    means, deviations = zip(*beliefs, strict=True)
    own = NormalDist(means[0], deviations[0])
    others = [NormalDist(mean, deviation) for mean, deviation in beliefs[1:]]

    def density(z):
        return own.pdf(z) * math.prod(other.cdf(z) for other in others)

    span = means[0] - 9 * deviations[0], means[0] + 9 * deviations[0]
    expected, _ = integrate.quad(density, *span, epsabs=1e-11, limit=200)
    assert chance_of_best(means, deviations, 0) == pytest.approx(expected, abs=1e-6)


def test_decisions_by_thompson_sampling_come_as_often_as_they_say():
    bandit = thompson(("a", "b", "c"))
    state = bandit.init()
    for action, reward in (("a", 0.3), ("a", 0.5), ("b", 0.4), ("c", -0.2), ("c", 0.9)):
        chosen = bandit.choose(state, 0)._replace(action=action)
        state = bandit.update(state, chosen, reward)
    with_odds = [bandit.choose(state, key) for key in range(200)]
    quick = thompson(bandit.actions, propensity=False)  # the odds take most of the time
    drawn = [quick.choose(state, key).action for key in range(20_000)]
    assert drawn[:200] == [each.action for each in with_odds]
    for action in bandit.actions:
        probabilities = {each.probability for each in with_odds if each.action == action}
        assert len(probabilities) == 1
        assert drawn.count(action) / len(drawn) == pytest.approx(probabilities.pop(), abs=0.015)


def test_without_scipy_the_odds_are_the_same(monkeypatch):
    beliefs = [0.1, -0.3, 0.2, 0.0], [0.2, 1.5, 0.01, 0.4]
    expected = [chance_of_best(*beliefs, at) for at in range(4)]
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    assert [chance_of_best(*beliefs, at) for at in range(4)] == pytest.approx(expected, abs=1e-14)


def test_a_decision_without_odds_says_so():
    bandit = linear_thompson(("a", "b"), 2, propensity=False)
    assert bandit.choose(bandit.init(), 0, np.array([1.0, 2.0])).probability is None
