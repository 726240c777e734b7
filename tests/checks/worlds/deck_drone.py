"""A drone lands on the deck of a ship that heaves in the swell.

It starts some metres above the deck and off to one side, and is wanted to touch down on the pad, gently and soon.
Waiting above the deck empties the battery; a hard touchdown, one beside the pad, or flying away loses the drone.
"""

from math import exp, hypot, sin
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from checks.worlds.world import World
from plaudit import Field, Reward, Task, term

DT = 0.1


class DeckDrone(gymnasium.Env[Any, Any]):
    """Height above the deck and offset from the pad, each with its speed; actions are two accelerations."""

    action_space = spaces.Box(-1, 1, (2,), np.float32)
    observation_space = spaces.Box(-50, 50, (4,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.above, self.offset = self.np_random.uniform(5, 9), self.np_random.uniform(-4, 4)
        self.climb, self.drift, self.steps = 0.0, 0.0, 0
        self.phase = self.np_random.uniform(0, 6)
        return self._observe(), {}

    def _observe(self):
        return np.array([self.above, self.climb, self.offset, self.drift])

    def step(self, action):
        heave = 0.03 * sin(0.05 * self.steps + self.phase)
        self.climb = min(max(self.climb + 0.3 * float(action[0]) + heave, -3.0), 3.0)
        self.drift = min(max(self.drift + 0.3 * float(action[1]), -3.0), 3.0)
        self.above, self.offset = self.above + DT * self.climb, self.offset + DT * self.drift
        self.steps += 1
        touched = self.above <= 0
        landed = touched and self.climb > -0.8 and abs(self.offset) < 1
        lost = (touched and not landed) or self.above > 15 or abs(self.offset) > 8
        self.above = max(self.above, 0.0)
        return self._observe(), 0.0, bool(touched or lost), self.steps >= 200, {"landed": landed, "lost": lost}


def _features(obs, action, next_obs, info):
    ends = {side: {"above": each[0], "offset": each[2]} for side, each in (("prev", obs), ("curr", next_obs))}
    return {**ends, "climb": next_obs[1], "thrust": action[0], "landed": info["landed"], "lost": info["lost"]}


def _down(landed):
    """It stands on the pad."""
    return landed


@term
def approach(prev, curr):
    """Metres by which the drone came closer to the pad."""
    return hypot(prev.above, prev.offset) - hypot(curr.above, curr.offset)


@term(weight=-0.02)
def flight():
    """Every step in the air uses battery."""
    return 1


@term
def closeness(curr):
    """Be close to the pad: 1 at its centre, fading over metres."""
    return exp(-hypot(curr.above, curr.offset))


@term(weight=20.0)
def touchdown(landed, lost):
    """A landing pays, a lost drone costs."""
    return float(landed) - float(lost)


FIELDS = [
    Field("above", low=0, high=16, unit="m"),
    Field("offset", low=-9, high=9, unit="m"),
    Field("landed", flag=True),
    Field("lost", flag=True),
]
TASK = Task(
    "land on the deck",
    goal=_down,
    ends={"landed": "good", "lost": "bad"},
    discount=0.99,
    fields=[Field("climb", low=-3, high=3, unit="m/s"), Field("thrust", low=-1, high=1)],
    actions=["thrust"],
    rates={"above": ("climb", DT)},
    start={"above": (5, 9), "offset": (-4, 4)},
    horizon=200,
)


def _fly(obs, height):
    above, climb, offset, drift = obs
    sink = min(max(0.8 * (height - above), -1.5), 1.0) if above > 1 or height > 0 else -0.4
    side = min(max(-0.8 * offset, -1.5), 1.5)
    return np.clip([3 * (sink - climb), 3 * (side - drift)], -1, 1).astype(np.float32)


WORLD = World(
    "deck drone",
    "Land on the pad of a heaving deck; paid for being close to it, a drone hovers above the pad until time is up.",
    make=DeckDrone,
    features=_features,
    task=TASK,
    sound=Reward("deck_drone", version="sound", terms=[approach, flight, touchdown], fields=FIELDS),
    flawed=Reward("deck_drone", version="flawed", terms=[closeness, flight, touchdown], fields=FIELDS),
    good=lambda obs: _fly(obs, 0.0),
    hack=lambda obs: _fly(obs, 0.4),
)
