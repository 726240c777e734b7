"""An arm beside a conveyor belt sorts rubbish into bins."""

import gymnasium
import numpy as np
from gymnasium import spaces

from checks.worlds.world import World
from plaudit import Field, Reward, Task, term

PASS, PAPER, GLASS, METAL = range(4)


class Sorter(gymnasium.Env):
    """A hundred pieces of rubbish. A camera tells what each is, and is wrong in one of ten; what passes is burnt."""

    action_space = spaces.Discrete(4)
    observation_space = spaces.Box(0, 3, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._observe(), {}

    def step(self, action):
        info = {
            "recycled": bool(action != PASS and action == self.kind),
            "spoiled": bool(action != PASS and action != self.kind),
            "burnt": bool(action == PASS and self.kind != PASS),
            "travel": (0.0, 0.8, 1.6, 2.4)[int(action)],  # the bins stand in a row
        }
        self.steps += 1
        return self._observe(), 0.0, False, self.steps == 100, info

    def _observe(self):
        self.kind = int(self.np_random.integers(0, 4))
        seen = self.kind if self.np_random.random() < 0.9 else self.np_random.integers(0, 4)
        return np.array([seen], np.float32)


def features(obs, action, next_obs, info):
    return {**info, "bin": int(action)}


RECYCLED = Field("recycled", flag=True)
SPOILED = Field("spoiled", flag=True)
BURNT = Field("burnt", flag=True)
TRAVEL = Field("travel", low=0, high=2.4, unit="m")

TASK = Task(
    "sort the rubbish",
    better={"recycled": "high", "spoiled": "low", "burnt": "low"},
    fields=[RECYCLED, SPOILED, BURNT, TRAVEL, Field("bin", values=(PASS, PAPER, GLASS, METAL))],
    actions=["bin"],
    events=["recycled", "spoiled", "burnt"],
    idle={"bin": PASS, "travel": 0.0},
    horizon=100,
)


@term
def sorted_right(recycled):
    """A piece in the bin where it belongs."""
    return recycled


@term(weight=-1.0)
def sorted_wrong(spoiled):
    """A piece in a bin where it does not belong."""
    return spoiled


@term(weight=-0.3)
def wasted(burnt):
    """A piece that could have been recycled is burnt."""
    return burnt


@term(weight=-0.1)
def wear(travel):
    """The motors wear with every metre that the arm travels."""
    return travel


@term(weight=-1.5)
def energy(travel):
    """Electricity for the arm."""
    return travel


WORLD = World(
    name="sorter",
    story=(
        "Put every piece into the bin where it belongs. "
        "Charged more for the way to a bin than a piece in it brings, the arm stands still and lets everything be burnt."
    ),
    make=Sorter,
    features=features,
    task=TASK,
    sound=Reward(
        "sorter",
        version="1",
        terms=[sorted_right, sorted_wrong, wasted, wear],
        fields=[RECYCLED, SPOILED, BURNT, TRAVEL],
    ),
    flawed=Reward(
        "sorter", version="2", terms=[sorted_right, sorted_wrong, energy], fields=[RECYCLED, SPOILED, TRAVEL]
    ),
    good=lambda obs: int(obs[0]),
    hack=lambda obs: PASS,
)
