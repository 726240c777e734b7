"""Probes of random worlds, of which it is computed what the reward is worth: no alarm where it is sound."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from plaudit import Field, Reward, Task, term
from plaudit.analysis import probe

STATES, ACTIONS, STEPS = 6, 3, 20


class Random(gymnasium.Env):
    """A few states that are seen, with chances of going from one to another; each pays something and is worth another."""

    action_space = spaces.Discrete(ACTIONS)
    observation_space = spaces.Box(0, 1, (STATES,), np.float64)

    def __init__(self, chances, pay, good):
        self.chances, self.pay, self.good = chances, pay, good

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.at = int(self.np_random.integers(STATES)), 0
        return np.eye(STATES)[self.state], {}

    def step(self, action):
        self.state = int(self.np_random.choice(STATES, p=self.chances[self.state, action]))
        self.at += 1
        info = {"pay": float(self.pay[self.state]), "good": float(self.good[self.state])}
        return np.eye(STATES)[self.state], 0.0, False, self.at >= STEPS, info


@term
def paid(pay):
    return pay


REWARD = Reward(
    "random",
    version="1",
    terms=[paid],
    fields=[Field("pay", low=-10, high=10)],
    task=Task(better={"good": "high"}, states=["good"], fields=[Field("good", low=-10, high=10)]),
)


def value_best(chances, pay, good):
    """Return what the policy that earns most is worth, by backward induction."""
    earned, worth = np.zeros(STATES), np.zeros(STATES)
    for _ in range(STEPS):
        best = (chances @ (pay + earned)).argmax(1)
        taken = chances[np.arange(STATES), best]
        earned, worth = taken @ (pay + earned), taken @ (good + worth)
    return worth.mean()


@pytest.mark.slow
def test_a_reward_whose_best_policy_is_wanted_is_never_warned_of_and_most_others_are():
    generator = np.random.default_rng(1)
    flawed = warned = 0
    for at in range(40):
        chances = generator.dirichlet(np.full(STATES, 0.15), size=(STATES, ACTIONS))
        good, other = generator.normal(size=(2, STATES))
        pay = -good if at % 8 == 7 else good + (at % 4) / 3 * (other - good)
        uniform = np.repeat(chances.mean(1)[:, None], ACTIONS, axis=1)
        most, best, chance = (value_best(*each, good) for each in ((chances, pay), (chances, good), (uniform, good)))
        short = (best - most) / (best - min(most, chance))
        found = probe(Random(chances, pay, good), REWARD, steps=6000)
        if short < 0.1:
            assert found.ok, str(found)
        if short > 1 / 3:
            flawed += 1
            warned += not found.ok
    assert warned >= 0.5 * flawed > 4
