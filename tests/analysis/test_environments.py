"""Steps of an environment's random policy, for `compare`."""

import gymnasium
import numpy as np
import pytest

from plaudit import Field, Reward, State, Task, term
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.analysis import compare
from plaudit.analysis.environments import sample_transitions
from plaudit.errors import DefinitionError, InputError, MissingField


@term
def upright(curr, *, limit=0.2):
    return 1.0 - abs(curr.angle) / limit


@term
def steadier(prev, curr, *, gamma=0.99):
    return abs(prev.angle) - gamma * abs(curr.angle)


@term(weight=-0.1)
def pushing(push):
    return push


@term
def lasting(count):
    return 0.01 * count


def count_up(prev):
    return prev.count + 1


ANGLE, PUSH = Field("angle", low=-1, high=1, unit="rad"), Field("push", values=(0, 1))
TASK = Task(discount=0.99)
PLAIN = Reward("balance", version="plain", terms=[upright, pushing], fields=[ANGLE, PUSH], action="push", task=TASK)
SHAPED = Reward("balance", version="shaped", terms=[upright, pushing, steadier], fields=[ANGLE, PUSH], task=TASK)


def features(obs, action, next_obs, info):
    return {"prev.angle": obs[2], "curr.angle": next_obs[2], "push": action}


def test_a_random_policy_covers_what_rewards_are_compared_on():
    taken = sample_transitions("CartPole-v1", [PLAIN, SHAPED], features, steps=400)
    found = compare(PLAIN, SHAPED, transitions=taken, means=32)
    assert found["epic"].value < 1e-6
    assert found.coverage.text == "400 steps of CartPole-v1 under its random policy"
    assert "pearson-returns" in found.measures  # for episodes are known


def test_inputs_are_those_that_the_wrapper_scores():
    env = gymnasium.make("CartPole-v1")
    counted = Reward(
        "counted",
        version="1",
        terms=[steadier, lasting],
        fields=[ANGLE, State("count", reset=0.0, update=count_up)],
    )

    def read(obs, action, next_obs, info):
        return {"prev": {"angle": obs[2]}, "curr": {"angle": next_obs[2]}}

    taken = sample_transitions(env, counted, read, steps=60, seed=3)
    wrapped = RewardWrapper(env, counted, read)
    env.action_space.seed(3)
    rows, over = [], True
    for at in range(60):
        if over:
            wrapped.reset(seed=3 if at == 0 else None)
        _, _, terminated, truncated, _ = wrapped.step(env.action_space.sample())
        over = terminated or truncated
        rows.append(wrapped.signal.row)
    assert np.array_equal(np.column_stack([taken.columns[name] for name in counted.inputs]), np.array(rows))
    starts = np.flatnonzero(np.diff(taken.episodes)) + 1
    assert len(starts) > 0
    assert (taken.columns["prev.count"][starts] == 0).all()


def test_the_same_seed_is_the_same_steps():
    first, again, other = (
        sample_transitions("CartPole-v1", SHAPED, features, steps=30, seed=seed).columns["curr.angle"]
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_what_cannot_be_sampled_is_told():
    with pytest.raises(DefinitionError, match="the environment CartPool-v1 cannot be made"):
        sample_transitions("CartPool-v1", PLAIN, features)
    with pytest.raises(DefinitionError, match="steps=0"):
        sample_transitions("CartPole-v1", PLAIN, features, steps=0)
    with pytest.raises(InputError, match="features failed on a step: IndexError: index 9"):
        sample_transitions("CartPole-v1", PLAIN, lambda *step: {"curr.angle": step[2][9]}, steps=5)
    with pytest.raises(MissingField, match="angle"):
        sample_transitions("CartPole-v1", PLAIN, lambda *step: {"push": step[1]}, steps=5)
