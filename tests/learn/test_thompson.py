"""How likely one of several normal numbers is to be the largest."""

import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from plaudit.learn import linear_thompson, thompson
from plaudit.learn.thompson import chance_of_best

beliefs = st.lists(st.tuples(st.floats(-3, 3), st.floats(-4, 1)), min_size=2, max_size=5)


@given(beliefs=beliefs)
def test_one_of_them_is_the_largest(beliefs):
    means, deviations = [mean for mean, _ in beliefs], [10**size for _, size in beliefs]
    chances = [chance_of_best(means, deviations, at) for at in range(len(means))]
    assert sum(chances) == pytest.approx(1, abs=1e-9)


@given(beliefs=beliefs.filter(lambda each: len(each) == 2))
def test_of_two_it_is_the_normal_distribution_of_their_difference(beliefs):
    (one, a), (other, b) = beliefs
    expected = stats.norm.cdf((one - other) / math.hypot(10**a, 10**b))
    assert chance_of_best([one, other], [10**a, 10**b], 0) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=25)
@given(beliefs=st.lists(st.tuples(st.floats(-1, 1), st.floats(0.1, 2)), min_size=3, max_size=4))
def test_it_is_the_integral_that_scipy_finds(beliefs):
    means, deviations = zip(*beliefs, strict=True)

    def density(z):
        others = [stats.norm.cdf(z, m, s) for m, s in beliefs[1:]]
        return stats.norm.pdf(z, means[0], deviations[0]) * math.prod(others)

    span = means[0] - 9 * deviations[0], means[0] + 9 * deviations[0]
    expected, _ = integrate.quad(density, *span, epsabs=1e-11, limit=200)
    assert chance_of_best(means, deviations, 0) == pytest.approx(expected, abs=1e-6)


def test_decisions_come_as_often_as_they_say():
    bandit = thompson(("a", "b", "c"))
    state = bandit.init()
    for action, reward in (("a", 0.3), ("a", 0.5), ("b", 0.4), ("c", -0.2), ("c", 0.9)):
        chosen = bandit.choose(state, 0)._replace(action=action)
        state = bandit.update(state, chosen, reward)
    made = [bandit.choose(state, key) for key in range(20_000)]
    for action in bandit.actions:
        said = {each.probability for each in made if each.action == action}
        assert len(said) == 1
        share = sum(each.action == action for each in made) / len(made)
        assert share == pytest.approx(said.pop(), abs=0.015)


def test_without_scipy_the_odds_are_the_same(monkeypatch):
    beliefs = [0.1, -0.3, 0.2, 0.0], [0.2, 1.5, 0.01, 0.4]
    expected = [chance_of_best(*beliefs, at) for at in range(4)]
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    assert [chance_of_best(*beliefs, at) for at in range(4)] == pytest.approx(expected, abs=1e-14)


def test_a_decision_without_odds_says_so():
    bandit = linear_thompson(("a", "b"), 2, propensity=False)
    assert bandit.choose(bandit.init(), 0, np.array([1.0, 2.0])).probability is None
