"""A survey submarine listens in a sound channel under water.

Its hydrophones work in a layer around 60 m. It is wanted at that depth for the whole survey, with little pumping,
which is loud. Surfacing among ships ends the survey, and so does a hull that is crushed below 120 m.
"""

from math import exp

import gymnasium
import numpy as np
from gymnasium import spaces

from checks.worlds.world import World
from plaudit import Field, Reward, Task, term

LAYER = 60.0


class Submarine(gymnasium.Env):
    """Depth and rate of descent; each second pumps water out, nothing, or in."""

    action_space = spaces.Discrete(3)
    observation_space = spaces.Box(-20, 160, (2,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.depth, self.sink, self.steps = self.np_random.uniform(20, 40), 0.0, 0
        return np.array([self.depth, self.sink]), {}

    def step(self, action):
        swell = self.np_random.uniform(-0.1, 0.1)
        self.sink = min(max(0.9 * self.sink + 0.3 * (int(action) - 1) + swell, -2.0), 2.0)
        self.depth += self.sink
        self.steps += 1
        surfaced, crushed = self.depth <= 0, self.depth >= 120
        self.depth = min(max(self.depth, 0.0), 120.0)
        info = {"surfaced": surfaced, "crushed": crushed}
        return np.array([self.depth, self.sink]), 0.0, surfaced or crushed, self.steps >= 300, info


def _features(obs, action, next_obs, info):
    return {"depth": next_obs[0], "sink": next_obs[1], "pump": int(action) - 1, **info}


@term
def listening(depth, *, layer=LAYER):
    """How well the hydrophones work: 1 in the middle of the layer, fading over ten metres."""
    return exp(-(((depth - layer) / 10) ** 2))


@term(weight=-1.0)
def off_layer(depth, *, layer=LAYER):
    """Twenty metres off the layer or more, the hydrophones are deaf."""
    return min(abs(depth - layer) / 20, 1.0)


@term(weight=0.03)
def hidden(depth):
    """The deeper, the quieter for those above."""
    return depth


@term(weight=-0.05)
def pumping(pump):
    """Pumps are loud."""
    return abs(pump)


@term(weight=-50.0)
def lost_survey(surfaced, crushed):
    """The survey is over before its time."""
    return surfaced or crushed


FIELDS = [
    Field("depth", low=0, high=120, unit="m"),
    Field("pump", values=(-1, 0, 1)),
    Field("surfaced", flag=True),
    Field("crushed", flag=True),
]


def _hold(depth):
    def choose(obs):
        ahead = depth - obs[0] - 6 * obs[1]
        return 1 + (abs(ahead) > 1.5) * (1 if ahead > 0 else -1)

    return choose


WORLD = World(
    "submarine",
    "Stay in the layer at 60 m; where depth is paid for and the cost of being off the layer is capped, a submarine goes as deep as its hull allows.",
    make=Submarine,
    features=_features,
    task=Task(
        "listen in the layer",
        aim={"depth": LAYER},
        ends={"crushed": "bad", "surfaced": "bad"},
        discount=0.995,
        fields=[Field("sink", low=-2, high=2, unit="m/s")],
        actions=["pump"],
        idle={"pump": 0},
        rates={"depth": "sink"},
        start={"depth": (20, 40)},
        horizon=300,
    ),
    sound=Reward("submarine", version="sound", terms=[listening, pumping, lost_survey], fields=FIELDS),
    flawed=Reward("submarine", version="flawed", terms=[off_layer, hidden, pumping, lost_survey], fields=FIELDS),
    good=_hold(LAYER),
    hack=_hold(112.0),
)
