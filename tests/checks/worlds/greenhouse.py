"""A greenhouse grows a bed of lettuce.

Water and lamps make it grow; heating has to be paid for as long as the bed is in use. The lettuce is wanted ripe for
harvest within the season, with little water and light bought for it. A bed that dries out has wilted, and is lost.
"""

import gymnasium
import numpy as np
from gymnasium import spaces

from checks.worlds.world import World
from plaudit import Field, Reward, Task, term


class Greenhouse(gymnasium.Env):
    """Moisture of the soil and weight of a head; every few hours: valve open or not, lamps on or not."""

    action_space = spaces.MultiBinary(2)
    observation_space = spaces.Box(0, 1, (2,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.moisture, self.weight, self.steps = self.np_random.uniform(0.5, 0.7), 0.02, 0
        return np.array([self.moisture, self.weight]), {}

    def step(self, action):
        valve, lamps = (bool(each) for each in action)
        dry = self.np_random.uniform(0.015, 0.025) + 0.01 * lamps
        self.moisture = min(max(self.moisture - dry + 0.12 * valve, 0.0), 1.0)
        healthy = max(0.0, 1 - abs(self.moisture - 0.5) / 0.4)
        self.weight = min(self.weight + 0.005 * (0.4 + 0.6 * lamps) * healthy, 0.6)
        self.steps += 1
        ripe, wilted = self.weight >= 0.5, self.moisture < 0.08
        return (
            np.array([self.moisture, self.weight]),
            0.0,
            ripe or wilted,
            self.steps >= 250,
            {"ripe": ripe, "wilted": wilted},
        )


def _features(obs, action, next_obs, info):
    return {
        "prev": {"weight": obs[1], "moisture": obs[0]},
        "curr": {"weight": next_obs[1], "moisture": next_obs[0]},
        "valve": bool(action[0]),
        "lamps": bool(action[1]),
        **info,
    }


def _harvested(weight):
    """The lettuce is ripe."""
    return weight >= 0.5


@term(weight=20.0)
def growth(prev, curr):
    """Kilograms that a head gained."""
    return curr.weight - prev.weight


@term(weight=-0.05)
def bills(valve, lamps):
    """Water and electricity."""
    return 0.4 * valve + 0.6 * lamps


@term(weight=-0.05)
def heating():
    """The house is kept warm as long as the bed is in use."""
    return 1


@term(weight=10.0)
def crop(ripe, wilted):
    """A bed that is ripe is sold; one that has wilted is written off."""
    return float(ripe) - float(wilted)


@term(weight=5.0)
def market(ripe):
    """A bed that is ripe is sold at the market price."""
    return ripe


SWITCHES = [Field("valve", flag=True), Field("lamps", flag=True)]
WEIGHT = Field("weight", low=0, high=0.6, unit="kg")
RIPE, WILTED = Field("ripe", flag=True), Field("wilted", flag=True)

WORLD = World(
    "greenhouse",
    "Grow the lettuce ripe; where a season costs more than its sale brings and a dead bed costs nothing, it is left to wilt.",
    make=Greenhouse,
    features=_features,
    task=Task(
        "a ripe bed",
        goal=_harvested,
        ends={"ripe": "good", "wilted": "bad"},
        better={"valve": "low", "lamps": "low"},
        fields=[WEIGHT, WILTED, Field("moisture", low=0, high=1)],
        actions=["valve", "lamps"],
        idle={"valve": False, "lamps": False, "ripe": False},
        start={"weight": 0.02, "moisture": (0.5, 0.7)},
        monotone={"weight": "up"},
        horizon=250,
    ),
    sound=Reward(
        "greenhouse", version="sound", terms=[growth, bills, heating, crop], fields=[*SWITCHES, WEIGHT, RIPE, WILTED]
    ),
    flawed=Reward("greenhouse", version="flawed", terms=[market, bills, heating], fields=[*SWITCHES, RIPE]),
    good=lambda obs: np.array([obs[0] < 0.46, True], np.int8),
    hack=lambda obs: np.array([False, False], np.int8),
)
