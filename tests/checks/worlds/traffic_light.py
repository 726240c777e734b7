"""A traffic light where a side road crosses a main road."""

import gymnasium
import numpy as np
from gymnasium import spaces

from checks.worlds.world import World
from plaudit import Field, Reward, Task, term


class TrafficLight(gymnasium.Env):
    """Green is for the main road, 0, or the side road, 1: a car a step goes through, and none in the step of a switch."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(0, 30, (3,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.queues, self.green, self.steps = self.np_random.integers(0, 6, 2).astype(float), 0, 0
        return self._observe(), {}

    def step(self, action):
        switched = int(action) != self.green
        self.green = int(action)
        passed = not switched and self.queues[self.green] > 0
        self.queues[self.green] -= passed
        self.queues = np.minimum(self.queues + (self.np_random.random(2) < (0.45, 0.2)), 30.0)  # then they turn round
        self.steps += 1
        return self._observe(), 0.0, False, self.steps == 200, {"switched": switched, "passed": bool(passed)}

    def _observe(self):
        return np.array([*self.queues, self.green], np.float32)


def features(obs, action, next_obs, info):
    return {**info, "main": float(next_obs[0]), "side": float(next_obs[1]), "green": int(action)}


MAIN = Field("main", low=0, high=30)
SIDE = Field("side", low=0, high=30)
PASSED = Field("passed", flag=True)
SWITCHED = Field("switched", flag=True)

TASK = Task(
    "keep the traffic moving",
    better={"main": "low", "side": "low"},
    fields=[MAIN, SIDE, PASSED, SWITCHED, Field("green", values=(0, 1))],
    states=["main", "side"],
    actions=["green"],
    events=["passed", "switched"],
    start={"main": (0, 5), "side": (0, 5)},
    max_change={"main": 1, "side": 1},
    horizon=200,
)


@term(weight=-0.1)
def waiting(main, side):
    """Cars that wait on either road."""
    return main + side


@term(weight=-0.05)
def longest(main, side):
    """The longer of the two queues, so that neither road is forgotten."""
    return max(main, side)


@term(weight=0.1)
def balance(main, side):
    """The main road has priority: it should not wait more than the side road."""
    return side - main


@term(weight=0.2)
def through(passed):
    """A car went through."""
    return passed


@term(weight=-0.2)
def switching(switched):
    """A switch costs time."""
    return switched


def good(obs):
    main, side, green = obs
    here, there = (side, main) if green else (main, side)
    return int(green) if here > 0 and there < here + 4 else int(1 - green) if there > 1 else int(green)


WORLD = World(
    name="traffic_light",
    story=(
        "Keep the queues on both roads short. "
        "Paid for the lead of the side road's queue over that of the main road, the light never turns green for the side road."
    ),
    make=TrafficLight,
    features=features,
    task=TASK,
    sound=Reward(
        "traffic_light",
        version="1",
        terms=[waiting, longest, through, switching],
        fields=[MAIN, SIDE, PASSED, SWITCHED],
    ),
    flawed=Reward(
        "traffic_light", version="2", terms=[balance, through, switching], fields=[MAIN, SIDE, PASSED, SWITCHED]
    ),
    good=good,
    hack=lambda obs: 0,
)
