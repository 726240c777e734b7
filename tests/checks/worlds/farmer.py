"""A farmer waters a field through a summer that gets hotter."""

import gymnasium
import numpy as np
from gymnasium import spaces

from checks.worlds.world import World
from plaudit import Field, Reward, Task, term


class Farmer(gymnasium.Env):
    """Ninety days. Crops grow best in soil with 40 % of water, not at all in dry soil or mud. An action is water in mm / 4."""

    action_space = spaces.Discrete(5)
    observation_space = spaces.Box(0, 1, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.moisture, self.growth, self.steps = self.np_random.uniform(0.15, 0.3), 0.0, 0
        return self._observe(), {}

    def step(self, action):
        rain = self.np_random.uniform(0, 8) if self.np_random.random() < 0.1 else 0.0
        drying = (0.4 + 1.2 * self.steps / 90) * (0.02 + 0.06 * self.moisture)  # it gets hotter
        self.moisture = min(max(self.moisture + 0.01 * (4 * int(action) + rain) - drying, 0.0), 1.0)
        self.growth = min(self.growth + 0.016 * max(1 - ((self.moisture - 0.4) / 0.25) ** 2, 0.0), 1.0)
        self.steps += 1
        return self._observe(), 0.0, False, self.steps == 90, {}

    def _observe(self):
        return np.array([self.moisture, self.growth], np.float32)


def features(obs, action, next_obs, info):
    prev, curr = ({"moisture": float(seen[0]), "growth": float(seen[1])} for seen in (obs, next_obs))
    return {"prev": prev, "curr": curr, "water": 4.0 * int(action)}


MOISTURE = Field("moisture", low=0, high=1)
GROWTH = Field("growth", low=0, high=1)
WATER = Field("water", low=0, high=16, unit="mm")


def ripe(growth):
    """The crop is ripe."""
    return growth >= 0.99


TASK = Task(
    "raise the crop",
    goal=ripe,
    goal_ends=False,
    aim={"moisture": 0.4},
    better={"growth": "high", "water": "low"},
    fields=[MOISTURE, GROWTH, WATER],
    actions=["water"],
    idle={"water": 0.0},
    start={"moisture": (0.15, 0.3), "growth": 0.0},
    max_change={"moisture": 0.24, "growth": 0.016},
    monotone={"growth": "up"},
    horizon=90,
)


@term(weight=50.0)
def grow(prev, curr):
    """What the crop grew today."""
    return curr.growth - prev.growth


@term(weight=1.0)
def soil(curr, *, best=0.4, width=0.25):
    """Soil as the crop likes it: 1 at its best, 0 where it is too dry or too wet."""
    return max(1 - ((curr.moisture - best) / width) ** 2, 0.0)


@term(weight=2.0)
def moist(curr):
    """The soil is not dry."""
    return curr.moisture


@term(weight=-0.02)
def bill(water):
    """Water costs money."""
    return water


@term(weight=0.3)
def harvest(curr):
    """The crop is ripe."""
    return curr.growth >= 0.99


WORLD = World(
    name="farmer",
    story=(
        "Raise the crop until it is ripe, in soil that is neither dry nor mud, and spare water. "
        "Paid for moisture without a limit, the farmer keeps the field under water, and nothing grows."
    ),
    make=Farmer,
    features=features,
    task=TASK,
    sound=Reward("farmer", version="1", terms=[grow, soil, bill, harvest], fields=[MOISTURE, GROWTH, WATER]),
    flawed=Reward("farmer", version="2", terms=[moist, bill, harvest], fields=[MOISTURE, GROWTH, WATER]),
    good=lambda obs: int(min(max(round((0.44 - obs[0]) / 0.04), 0), 4)),
    hack=lambda obs: int(min(max(round((1.04 - obs[0]) / 0.04), 0), 4)),
)
