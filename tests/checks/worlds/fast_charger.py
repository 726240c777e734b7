"""A fast charger fills the battery of a car while its driver is shopping.

A cell that stands at more than 80 % ages quickly, and so does a hot one. The battery is wanted at 80 % soon, kept
there until the driver comes back, and as cool as that allows.
"""

import gymnasium
import numpy as np
from gymnasium import spaces

from checks.worlds.world import World
from plaudit import Field, Reward, Task, term

FULL = 0.8


class FastCharger(gymnasium.Env):
    """State of charge and temperature, 20 seconds a step; the action is the current, as a share of 3 C."""

    action_space = spaces.Box(0, 1, (1,), np.float32)
    observation_space = spaces.Box(0, 120, (2,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.charge, self.heat, self.steps = self.np_random.uniform(0.1, 0.3), 25.0, 0
        return np.array([self.charge, self.heat]), {}

    def step(self, action):
        taken = min(float(action[0]) / 60, 1.0 - self.charge)
        self.charge += taken
        self.heat += 0.12 * (taken * 180) ** 2 - 0.02 * (self.heat - 25)
        self.steps += 1
        return np.array([self.charge, self.heat]), 0.0, False, self.steps >= 180, {"energy": taken * 60}


def _features(obs, action, next_obs, info):
    return {
        "prev": {"charge": obs[0], "heat": obs[1]},
        "curr": {"charge": next_obs[0], "heat": next_obs[1]},
        "energy": info["energy"],
        "current": float(action[0]),
    }


@term(weight=-1.0)
def off_target(curr, *, full=FULL):
    """How far the charge is from 80 %."""
    return abs(curr.charge - full)


@term
def sold(energy):
    """Kilowatt hours that went into the car."""
    return energy


@term(weight=-0.01)
def hot(curr, *, limit=45.0):
    """Degrees above 45."""
    return max(curr.heat - limit, 0.0)


CHARGE = Field("charge", low=0, high=1)
HEAT = Field("heat", low=0, high=120, unit="degC")
ENERGY = Field("energy", low=0, high=1, unit="kWh")


def _charge_to(level):
    def choose(obs):
        most = 0.7 if obs[1] < 44 else 0.4
        return np.array([min(most, max(level - obs[0], 0.0) * 60)], np.float32)

    return choose


WORLD = World(
    "fast charger",
    "Bring the battery to 80 % and keep it there, cool; paid for the energy it sells, a charger fills it to the brim.",
    make=FastCharger,
    features=_features,
    task=Task(
        "charge to 80 %",
        aim={"charge": FULL},
        better={"heat": "low"},
        fields=[CHARGE, HEAT, ENERGY, Field("current", low=0, high=1)],
        actions=["current"],
        idle={"current": 0.0, "energy": 0.0},
        start={"charge": (0.1, 0.3), "heat": 25.0},
        monotone={"charge": "up"},
        max_change={"charge": 0.0167},
        horizon=180,
    ),
    sound=Reward("fast_charger", version="sound", terms=[off_target, hot], fields=[CHARGE, HEAT]),
    flawed=Reward("fast_charger", version="flawed", terms=[sold, hot], fields=[ENERGY, HEAT]),
    good=_charge_to(FULL),
    hack=_charge_to(1.0),
)
