"""The estimators against the same formulas written out row by row, and the laws that they obey."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.learn.off_policy import LoggedDecisions, evaluate_decisions, from_function
from plaudit.learn.off_policy.estimators import FOLDS, SWITCH, Case, _deal_folds
from support.examples import examples

ALL = ("ips", "snips", "dm", "dr", "switch")


def written_out(log, likely, seed):
    """Return every estimate with loops, and the influence of each decision on the regression's."""
    folds = _deal_folds(len(log), None, seed)
    contexts = np.zeros((len(log), 0)) if log.contexts is None else log.contexts
    spread = contexts.std(axis=0)
    rows = np.column_stack([np.ones(len(log)), (contexts - contexts.mean(axis=0)) / np.where(spread > 0, spread, 1)])
    answers = np.empty((len(log), len(log.actions)))
    for fold in range(FOLDS):
        others = folds != fold
        mean = log.rewards[others].mean()
        for action in range(len(log.actions)):
            own = others & (log.chosen == action)
            left = rows[own].T @ rows[own] + np.eye(rows.shape[1])
            weights = np.linalg.solve(left, rows[own].T @ (log.rewards[own] - mean))
            answers[folds == fold, action] = mean + rows[folds == fold] @ weights
    sums = dict.fromkeys(ALL, 0.0)
    total = 0.0
    for at in range(len(log)):
        weight = likely[at, log.chosen[at]] / log.probabilities[at]
        reward, taken = log.rewards[at], answers[at, log.chosen[at]]
        expected = sum(likely[at, action] * answers[at, action] for action in range(len(log.actions)))
        total += weight
        sums["ips"] += weight * reward
        sums["snips"] += weight * reward
        sums["dm"] += expected
        sums["dr"] += expected + weight * (reward - taken)
        sums["switch"] += expected + (weight * (reward - taken) if weight <= SWITCH else 0.0)
    return {name: each / (total if name == "snips" else len(log)) for name, each in sums.items()}


@pytest.mark.parametrize("contextual", [True, False], ids=["with features", "without"])
def test_estimates_are_the_formulas_written_out(world, contextual):
    log = world.log(700, seed=5)
    likely = world.policy(log.contexts)
    if not contextual:
        log = LoggedDecisions(log.actions, log.chosen, log.probabilities, log.rewards)
    found = evaluate_decisions(log, from_function(lambda contexts: likely, log.actions), estimators=ALL, seed=3)
    for name, value in written_out(log, likely, seed=3).items():
        assert found[name].value == pytest.approx(value, abs=1e-10)


def test_features_of_any_scale_give_the_same_estimates(world):
    log = world.log(500, seed=6)
    likely = world.policy(log.contexts)
    moved = LoggedDecisions(log.actions, log.chosen, log.probabilities, log.rewards, log.contexts * 1e6 + 1e9)
    one, other = (evaluate_decisions(each, from_function(lambda x: likely, log.actions)) for each in (log, moved))
    assert one["dr"].value == pytest.approx(other["dr"].value, rel=1e-6)


def test_a_feature_that_never_varies_and_an_action_logged_once_do_no_harm():
    chosen = np.array([0, 1] * 150 + [2])
    contexts = np.column_stack([np.ones(301), np.arange(301)])
    log = LoggedDecisions(("a", "b", "c"), chosen, np.full(301, 0.4), np.arange(301) % 7, contexts)
    found = evaluate_decisions(log, lambda x: np.tile([0.5, 0.499, 0.001], (301, 1)), actions=log.actions)
    assert all(np.isfinite(each.value) for each in found.estimates.values())


@examples(0.3)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_the_logged_policy_earns_what_was_logged(seed, count):
    rng = np.random.default_rng(seed)
    behaviour = rng.dirichlet(np.full(count, 5.0))
    chosen = rng.choice(count, size=400, p=behaviour)
    log = LoggedDecisions(tuple("abcde"[:count]), chosen, behaviour[chosen], rng.normal(size=400))
    policy = from_function(lambda contexts: np.tile(behaviour, (400, 1)), log.actions)
    seen = set(chosen.tolist()) == set(range(count))
    if seen:
        found = evaluate_decisions(log, policy)
        assert found.effective == pytest.approx(400)
        for name in ("ips", "snips"):
            assert found[name].value == pytest.approx(log.rewards.mean())
            assert found[name].gain.value == pytest.approx(0, abs=1e-12)
            assert found[name].gain.error == pytest.approx(0, abs=1e-12)


@examples(0.2)
@given(st.floats(-100, 100), st.floats(0.01, 100))
def test_other_units_of_reward_give_the_same_estimates_in_those_units(world, shift, scale):
    log = world.log(300, seed=9)
    likely = world.policy(log.contexts)
    moved = LoggedDecisions(log.actions, log.chosen, log.probabilities, log.rewards * scale + shift, log.contexts)
    policy = from_function(lambda x: likely, log.actions)
    one, other = (evaluate_decisions(each, policy, minimum_effective=1) for each in (log, moved))
    for name in ("snips", "dm"):  # weights with a mean other than 1 make a constant worth another in the others
        assert other[name].value == pytest.approx(one[name].value * scale + shift, rel=1e-6, abs=1e-6)
        assert other[name].error == pytest.approx(one[name].error * scale, rel=1e-4)


def test_effective_sample_size_is_kishs():
    log = LoggedDecisions(("a", "b"), [0, 0, 1, 1], [0.5] * 4, [0.0] * 4)
    case = Case(log, np.tile([0.75, 0.25], (4, 1)))
    assert case.weights.tolist() == [1.5, 1.5, 0.5, 0.5]
    assert case.effective == pytest.approx(4**2 / (2 * 1.5**2 + 2 * 0.5**2))


def test_the_error_of_the_regressions_estimate_is_how_much_it_varies(world):
    found = [
        evaluate_decisions(world.log(2000, seed=seed), from_function(world.policy, world.actions), estimators=("dm",))[
            "dm"
        ]
        for seed in range(150)
    ]
    varies = np.std([each.value for each in found])
    assert np.mean([each.error for each in found]) == pytest.approx(varies, rel=0.15)
