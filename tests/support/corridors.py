"""A corridor with a target at one end or the other, which is seen: small enough that a probe of it takes tenths of a second."""

import signal

import gymnasium
import numpy as np
from gymnasium import spaces

from plaudit import Field, Reward, Task, term

LENGTH = 4
STEPS = 20


class Corridor(gymnasium.Env):
    """Left, stay, right. Reaching the target ends it and pays 10; a step costs 0.1."""

    def __init__(self, *, fail_at=None, interrupt_at=None, nan_at=None, mask=False, limit=STEPS):
        self.action_space = spaces.Discrete(3)
        self.observation_space = spaces.Box(-10, 10, (2,), np.float64)
        self.fail_at, self.nan_at, self.mask, self.limit = fail_at, nan_at, mask, limit
        self.interrupt_at = interrupt_at
        self.steps = 0
        self.closed = False

    def _info(self):
        info = {"distance": abs(self.target - self.place), "place": self.place}
        return {**info, "action_mask": np.array([1, 0, 1], np.int8)} if self.mask else info

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.at = 0, 0
        self.target = LENGTH if seed % 2 else -LENGTH
        return np.array([self.place, self.target], float), self._info()

    def step(self, action):
        assert not self.mask or action != 1
        self.steps += 1
        self.at += 1
        if self.steps == self.fail_at:
            raise OSError("the simulator is gone")
        if self.steps == self.interrupt_at:
            signal.raise_signal(signal.SIGINT)
        self.place += int(action) - 1
        seen = np.array([self.place, self.target], float)
        if self.steps == self.nan_at:
            seen[1] = np.nan
        over = self.place == self.target
        return seen, 10.0 * over - 0.1, over, self.at >= self.limit, self._info()

    def close(self):
        self.closed = True


@term
def arrival(arrived):
    """Reach the target."""
    return 10.0 if arrived else 0.0


@term
def calm(action):
    """Do not hurry."""
    return 1.0 if action == 1 else 0.0


@term
def near(distance):
    """Be near the target."""
    return 2.0 if distance < 3 else 0.0


@term(weight=-0.1)
def effort():
    """Take a step."""
    return 1.0


def reaches_target(arrived):
    return arrived


FIELDS = {
    "arrived": Field("arrived", flag=True),
    "action": Field("action", values=(0, 1, 2)),
    "distance": Field("distance", low=0, high=50),
}


def corridor_reward(*terms, goal=None, fields=(), allow=None, **said):
    """Return a reward of these terms, with a task of which the rest is said; of a goal it reads who arrived."""
    read = {name for each in terms for name in each.reads} | ({"arrived"} if goal is reaches_target else set())
    own = [FIELDS[name] for name in FIELDS if name in read - {each.name for each in fields}]
    return Reward(
        "walking", version="1", terms=terms, fields=[*own, *fields], task=Task(goal=goal, **said), allow=allow
    )


def reader(reward):
    """Return the features of a corridor that a reward declares."""

    def features(obs, action, next_obs, info):
        every = {"arrived": info["distance"] == 0, "action": int(action), **info}
        return {name: every[name] for name in reward.fields}

    return features
