"""A glider with a speed, an energy that only falls, a gate it may touch, and an end: small, and everything about it is known."""

import gymnasium
import numpy as np
from gymnasium import spaces

from plaudit import Field, Reward, term

DT = 0.5


class Glider(gymnasium.Env):
    """Push along a line. It ends beyond 6; after `limit` steps it is cut off, where there is a limit."""

    def __init__(self, *, limit=40, fail_at=None, nan_at=None, space=None, info=True, reuse=False):
        self.action_space = spaces.Box(-1, 1, (1,), np.float64)
        self.observation_space = spaces.Box(np.array([-50, -np.inf]), np.array([50, np.inf]), (2,), np.float64)
        if space is not None:
            self.observation_space = space
        self.limit, self.fail_at, self.nan_at, self.info = limit, fail_at, nan_at, info
        self.reuse = np.zeros(2) if reuse else None
        self.calls = []
        self.steps = 0
        self.closed = False

    def _see(self):
        seen = np.array([self.x, self.v])
        if self.reuse is not None:
            self.reuse[:] = seen
            return self.reuse
        return seen

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.calls.append("reset")
        self.x, self.v, self.fuel, self.at = float(self.np_random.uniform(-1, 1)), 0.0, 10.0, 0
        return self._see(), {}

    def step(self, action):
        self.calls.append("step")
        self.steps += 1
        self.at += 1
        if self.steps == self.fail_at:
            raise OSError("the simulator is gone")
        self.v += float(action[0])
        self.x += DT * self.v
        self.fuel -= abs(float(action[0]))
        seen = self._see()
        if self.steps == self.nan_at:
            seen = np.array([np.nan, 0.0])
        over = abs(self.x) > 6
        told = {"fuel": self.fuel, "note": "fine", "over": over} if self.info else {}
        return seen, 0.0, over, self.limit is not None and self.at >= self.limit, told

    def close(self):
        self.closed = True


def features(obs, action, next_obs, info):
    """Return a step as a reward reads it, known only after it."""
    return {"x": next_obs[0], "v": next_obs[1], "fuel": info["fuel"], "force": action[0]}


def records(obs, action, next_obs, info):
    """Return both ends of a step."""
    ends = {name: {"x": seen[0], "v": seen[1]} for name, seen in (("prev", obs), ("curr", next_obs))}
    return {**ends, "fuel": info["fuel"], "force": action[0]}


FIELDS = [Field("x"), Field("v"), Field("fuel"), Field("force", low=-1, high=1)]


@term
def onward(x, v):
    """Go on."""
    return x + 0 * v


@term
def sparing(fuel, force):
    """Spare fuel."""
    return fuel - force * force


@term
def moving(prev, curr):
    """Move."""
    return abs(curr.x - prev.x) + 0 * curr.v + 0 * prev.v


gliding = Reward("gliding", version="1", terms=[onward, sparing], fields=FIELDS, action="force")
moved = Reward("moved", version="1", terms=[moving, sparing], fields=FIELDS, action="force")
