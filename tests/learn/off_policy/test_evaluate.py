"""Evaluating: one call, a verdict, and a refusal where the log cannot tell."""

import json

import numpy as np
import pytest

from plaudit import Field, Reward, errors, term
from plaudit.learn.off_policy import (
    LoggedDecisions,
    always,
    evaluate,
    evaluate_decisions,
    from_function,
    read_decisions,
    uniform,
)


def test_one_call_says_what_a_policy_would_have_earned(ledger, recorded, rewards):
    recorded(400, seed=1)
    found = evaluate(ledger, always("star"), decision_class="topology", reward=rewards["1"])
    assert found.better is True
    assert found["dr"].value == pytest.approx(0.5, abs=0.03)
    assert found.logged.value == pytest.approx(0.25, abs=0.05)
    assert found["dr"].gain.low > 0
    assert found.verdict.startswith("always star is better than the logged policy: +0.2")
    assert found.source.reward == "step@1"
    worse = evaluate(ledger, always("flat"), decision_class="topology", reward=rewards["1"])
    assert worse.better is False
    assert "is worse than" in worse.verdict
    same = evaluate(ledger, uniform(), decision_class="topology")
    assert same.better is None
    assert "cannot be distinguished from" in same.verdict


def test_a_ledger_and_its_columns_give_the_same(ledger, recorded):
    recorded(300)
    log = read_decisions(ledger, decision_class="topology").decisions
    assert evaluate(ledger, always("star"), decision_class="topology").estimates == (
        evaluate_decisions(log, always("star")).estimates
    )


def test_an_evaluation_is_plain_data_and_readable(world):
    found = evaluate_decisions(world.log(2000, 1), from_function(world.policy, world.actions, "greedy"))
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["estimates"]["dr"]["gain"]["low"] == found["dr"].gain.low
    assert data["better"] is True
    text = str(found)
    assert text.splitlines()[0].split()[:3] == ["estimator", "value", "error"]
    assert "2,000 decisions; effective" in text
    assert text.splitlines()[-1] == found.verdict


def test_too_small_an_effective_sample_is_refused_with_what_to_do(world):
    with pytest.raises(
        errors.NotEvaluable, match=r"effective sample size of \d+\.\d, and 50 is needed.*more exploration"
    ):
        evaluate_decisions(world.log(200, 1), from_function(world.policy, world.actions))
    found = evaluate_decisions(world.log(200, 1), from_function(world.policy, world.actions), minimum_effective=5)
    assert found.effective < 50


def test_a_policy_that_never_does_what_was_logged_is_refused():
    log = LoggedDecisions(("a", "b"), [0] * 99 + [1], [0.5] * 100, [0.0] * 100)
    likely = np.zeros((100, 2))
    likely[:99, 1] = likely[99, 0] = 1.0  # always the other one
    with pytest.raises(errors.NotEvaluable, match="effective sample size of 0.0"):
        evaluate_decisions(log, from_function(lambda contexts: likely, log.actions), minimum_effective=0)


def test_one_decision_is_no_log():
    log = LoggedDecisions(("a", "b"), [0], [0.5], [0.0])
    with pytest.raises(errors.NotEvaluable, match="one decision"):
        evaluate_decisions(log, always("a"), minimum_effective=0)


def test_one_episode_is_refused_unless_decisions_are_independent():
    log = LoggedDecisions(("a", "b"), [0, 1] * 100, [0.5] * 200, [0.0, 1.0] * 100, episodes=["x"] * 200)
    with pytest.raises(errors.NotEvaluable, match="one episode.*independent=True"):
        evaluate_decisions(log, always("a"))
    assert evaluate_decisions(log, always("a"), independent=True).episodes is None


def test_wrong_probabilities_are_noticed(world):
    log = world.log(3000, 2)
    wrong = LoggedDecisions(log.actions, log.chosen, np.full(3000, 0.25), log.rewards, log.contexts)
    right, found = (evaluate_decisions(each, from_function(world.policy, world.actions)) for each in (log, wrong))
    assert (right.notes, right.failed, right.better) == ((), None, True)
    assert "instead of 1" in found.failed
    assert found.better is None
    assert found.verdict.startswith("Cannot tell whether policy is better than the logged policy")
    assert found.notes[0] == found.failed
    assert found.to_dict()["failed"] == found.failed
    assert str(found).splitlines()[-1] == found.verdict


def test_probabilities_that_actions_were_not_chosen_with_give_no_verdict_where_there_is_no_gain():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(20_000, 1))
    likely = 0.2 + 0.6 * x[:, 0]  # how likely "a" really was, and it is the better action where it was likely
    chose_a = rng.random(20_000) < likely
    rewards = np.where(chose_a, x[:, 0], 1.0 - x[:, 0])
    claimed = np.where(x[:, 0] > 0.5, 0.4, 0.6)
    log = LoggedDecisions(("a", "b"), np.where(chose_a, 0, 1), claimed, rewards, x)
    as_logged = from_function(
        lambda rows: np.column_stack([0.2 + 0.6 * rows[:, 0], 0.8 - 0.6 * rows[:, 0]]), ("a", "b")
    )
    found = evaluate_decisions(log, as_logged)  # the very policy that was logged: there is nothing to gain
    assert found["ips"].gain.low > 0
    assert found.better is None
    assert "weights average" in found.failed


def test_a_failed_test_names_the_feature_whose_mean_moves():
    x = np.repeat([[-1.0], [1.0]], 2000, axis=0)
    claimed = np.where(x[:, 0] > 0, 0.4, 2 / 3)  # weights of 1.25 and 0.75: 1 on the whole, and in no context
    log = LoggedDecisions(("a", "b"), [0, 1] * 2000, claimed, np.ones(4000), x)
    found = evaluate_decisions(log, uniform())
    assert found.mean_weight == pytest.approx(1.0)
    assert found.better is None
    assert found.failed.startswith("weighting shifts the mean of feature 0 by +0.250 standard deviations")


def test_probabilities_that_are_right_seldom_fail(world):
    logs = [world.log(2000, seed) for seed in range(40)]
    assert sum(evaluate_decisions(log, uniform(), estimators=("snips",)).failed is not None for log in logs) == 0


def test_a_decision_that_carries_too_much_and_few_episodes_are_noticed():
    probabilities = np.full(200, 0.5)
    probabilities[7] = 0.01
    log = LoggedDecisions(("a", "b"), [0, 1] * 100, probabilities, [0.0, 1.0] * 100, episodes=np.arange(200) % 4)
    found = evaluate_decisions(log, uniform(), minimum_effective=1)
    assert any("one decision carries 20% of the total weight" in note for note in found.notes)
    assert any("4 episodes are too few" in note for note in found.notes)


@term
def unbounded(tokens):
    """Cost without an end."""
    return -tokens


def test_the_range_of_an_anytime_interval_is_proven_from_the_reward(ledger, recorded):
    recorded(300)
    found = evaluate(ledger, always("star"), decision_class="topology", interval="anytime")
    assert -2 <= found["ips"].low < found["ips"].value < found["ips"].high <= 1
    assert found.better is not False
    wider = evaluate(ledger, always("star"), decision_class="topology", interval="anytime", reward_range=(-10, 10))
    assert wider["ips"].low < found["ips"].low


def test_without_a_range_there_is_no_anytime_interval(ledger):
    reward = Reward("cost", version="1", terms=[unbounded], fields=[Field("tokens", low=0)])
    contexts = [{"decision": {"action": "ab"[at % 2], "probability": 0.5}} for at in range(200)]
    ledger.record_batch(reward, {"tokens": np.arange(200.0)}, decision_class="spend", context=contexts)
    with pytest.raises(errors.DefinitionError, match="cost@1 has none.*reward_range"):
        evaluate(ledger, uniform(), decision_class="spend", interval="anytime")
    found = evaluate(ledger, uniform(), decision_class="spend", interval="anytime", reward_range=(-200, 0))
    assert found["ips"].low >= -200


def test_extra_credits_have_no_range_of_their_own(ledger, recorded):
    contexts = [{"decision": {"action": "ab"[at % 2], "probability": 0.5, "id": str(at // 2)}} for at in range(200)]
    contexts = [context | ({"again": True} if at % 2 else {}) for at, context in enumerate(contexts)]
    recorded(200, contexts=contexts)
    with pytest.raises(errors.DefinitionError, match="credited more than once"):
        evaluate(ledger, always("a"), decision_class="topology", interval="anytime")


def test_rewards_that_never_vary_have_no_width():
    log = LoggedDecisions(("a", "b"), [0, 1] * 100, [0.5] * 200, [0.25] * 200)
    for interval in ("normal", "bootstrap"):
        found = evaluate_decisions(log, always("a"), interval=interval)
        assert found["snips"].low == pytest.approx(0.25)
        assert found["snips"].high == pytest.approx(0.25)
        assert str(found)
