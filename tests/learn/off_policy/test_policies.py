"""Policies: columns are matched by name, and what is no distribution over known actions is refused."""

import numpy as np
import pytest

from plaudit import errors
from plaudit.learn import Guess, Router, epsilon_ridge, linucb, ucb1
from plaudit.learn.off_policy import (
    LoggedDecisions,
    always,
    evaluate_decisions,
    from_file,
    from_function,
    from_learner,
    uniform,
)
from plaudit.learn.saving import save

ACTIONS = ("flat", "star", "stay")


@pytest.fixture
def log():
    rng = np.random.default_rng(0)
    chosen = rng.integers(0, 3, 600)
    return LoggedDecisions(ACTIONS, chosen, np.full(600, 1 / 3), chosen * 1.0, rng.normal(size=(600, 2)))


def value(log, policy, **options):
    return evaluate_decisions(log, policy, **options)["snips"].value


def test_one_action_earns_what_it_earned(log):
    assert value(log, always("star")) == pytest.approx(1.0)
    assert value(log, always("stay")) == pytest.approx(2.0)


def test_the_uniform_policy_takes_what_was_logged_or_what_is_named(log):
    assert value(log, uniform()) == pytest.approx(log.rewards.mean())
    assert value(log, uniform(("stay", "star"))) == pytest.approx(1.5, abs=0.05)


def test_columns_are_matched_by_name_not_by_place(log):
    function = lambda contexts: np.tile([0.7, 0.2, 0.1], (len(contexts), 1))  # noqa: E731
    one = value(log, from_function(function, ("star", "stay", "flat")))
    assert one == value(log, function, actions=("star", "stay", "flat"))
    assert one == pytest.approx(0.7 * 1 + 0.2 * 2, abs=0.1)
    assert value(log, from_function(function, ("flat", "star", "stay"))) == pytest.approx(0.2 * 1 + 0.1 * 2, abs=0.1)


def test_a_policy_that_does_not_name_its_columns_is_refused(log):
    with pytest.raises(errors.DefinitionError, match="does not name the action of each column"):
        evaluate_decisions(log, lambda contexts: np.full((len(contexts), 3), 1 / 3))


@pytest.mark.parametrize(
    ("likely", "error", "words"),
    [
        ([0.5, 0.5], errors.ShapeMismatch, "shape"),
        ([0.5, 0.5, 0.5], errors.OutOfRange, "sum to 1"),
        ([1.5, -0.5, 0.0], errors.OutOfRange, "from 0 to 1"),
        ([np.nan, 0.5, 0.5], errors.NotFinite, "decision 0"),
    ],
)
def test_what_is_no_distribution_is_refused(log, likely, error, words):
    with pytest.raises(error, match=words):
        evaluate_decisions(log, lambda contexts: np.tile(likely, (len(contexts), 1)), actions=ACTIONS)


def test_an_action_that_nobody_logged_is_refused(log):
    with pytest.raises(errors.NotEvaluable, match="takes 'starr' in 100.0% of the decisions.*Did you mean 'star'"):
        evaluate_decisions(log, always("starr"))
    wider = LoggedDecisions((*ACTIONS, "chain"), log.chosen, log.probabilities, log.rewards)
    with pytest.raises(errors.NotEvaluable, match="takes 'chain' in 25.0%"):
        evaluate_decisions(wider, uniform())


def test_a_trace_of_such_an_action_is_let_pass(log):
    likely = [0.004, 0.332, 0.332, 0.332]
    found = evaluate_decisions(log, lambda x: np.tile(likely, (len(x), 1)), actions=("chain", *ACTIONS))
    assert found["snips"].value == pytest.approx(1.0, abs=0.1)


def test_the_uniform_policy_alone_does_not_know_its_actions():
    with pytest.raises(errors.DefinitionError, match="no actions to choose from"):
        uniform()(np.empty((3, 0)))


def test_what_is_no_function_is_refused(log):
    with pytest.raises(errors.DefinitionError, match="is not a policy"):
        evaluate_decisions(log, 0.5)


@pytest.mark.parametrize(
    "learner", [linucb(ACTIONS, 2), epsilon_ridge(ACTIONS, 2), ucb1(ACTIONS)], ids=lambda each: each.kind
)
def test_a_learner_is_a_policy_now_and_from_its_file(log, learner, tmp_path):
    state = learner.init()
    for key in range(50):
        made = learner.choose(state, key, [0.1 * key, 1.0] if learner.features else None)
        state = learner.update(state, made, float(ACTIONS.index(made.action)))
    save(tmp_path / "learner.json", learner, state)
    now, later = from_learner(learner, state), from_file(tmp_path / "learner.json")
    assert value(log, now) == value(log, later)
    assert evaluate_decisions(log, later).policy.endswith("learner.json")


def test_a_learner_for_other_features_is_refused(log):
    learner = linucb(ACTIONS, 5)
    with pytest.raises(errors.ShapeMismatch, match="reads 5 features, but the log has 2"):
        evaluate_decisions(log, from_learner(learner, learner.init()))


def test_a_router_that_still_goes_by_its_rule_is_refused(tmp_path):
    router = Router(linucb(ACTIONS, 2), lambda x: Guess(ACTIONS[0], 0.5, "by rule"), minimum=30)
    save(tmp_path / "router.json", router, router.init())
    with pytest.raises(errors.NotEvaluable, match="until it has 30 records, and it has 0"):
        from_file(tmp_path / "router.json")
