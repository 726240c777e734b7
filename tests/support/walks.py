"""Walks on a line, for what wraps Gymnasium environments: deterministic, short, and as awkward as environments can be."""

import gymnasium
import numpy as np
from gymnasium import spaces

from plaudit import Field, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper

EDGE, LIMIT = 3.0, 6


class Walk(gymnasium.Env):
    """A walk of steps of 1 that ends beyond the edge and is cut off after a few steps.

    `reuse` gives the same array and the same info at every step, written over; `shape` says how it is observed.
    """

    action_space = spaces.Discrete(3)

    def __init__(self, start=0.0, *, reuse=False, shape="array", pay=0.25):
        self.start, self.reuse, self.shape, self.pay = start, reuse, shape, pay
        place = spaces.Box(-10, 10, (2,), np.float32)
        self.observation_space = {
            "array": place,
            "dict": spaces.Dict({"place": place, "odd": spaces.Discrete(2)}),
            "tuple": spaces.Tuple((place, spaces.Discrete(2))),
            "text": spaces.Text(1, charset="<>"),
        }[shape]
        self._place, self._info = np.zeros(2, np.float32), {}
        self._episodes = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._episodes += 1
        self._place[:] = self.start, 0
        return self._seen(), self._told(began=self._episodes)

    def step(self, action):
        self._place += (float(action) - 1.0, 1.0)
        terminated = bool(abs(self._place[0]) >= EDGE)
        truncated = bool(self._place[1] >= LIMIT)
        return self._seen(), self.pay, terminated, truncated, self._told(moved=float(action) - 1.0)

    def _seen(self):
        place = self._place if self.reuse else self._place.copy()
        odd = int(self._place[1]) % 2
        seen = {"array": place, "dict": {"place": place, "odd": odd}, "tuple": (place, odd)}
        return seen.get(self.shape, "<" if self._place[0] < 0 else ">")

    def _told(self, **told):
        if not self.reuse:
            return told
        self._info.clear()
        self._info.update(told)
        return self._info


@term
def progress(before, after):
    """How much nearer to the right edge."""
    return after - before


@term(weight=-0.125)
def effort(moved):
    return abs(moved)


@term(terminal=True, weight=2.0)
def arrival(after):
    return 1 if after > 0 else -1


FIELDS = [Field("before", low=-4, high=4), Field("after", low=-4, high=4), Field("moved", low=-1, high=1)]


def reward(**changes):
    """Return the reward of a walk; `low=` and `high=` hold its total."""
    return Reward("walk", version="1", terms=[progress, effort, arrival], fields=FIELDS, **changes)


def features(obs, action, next_obs, info):
    """Return the inputs for one walk, or for many at once."""
    return {"before": obs[..., 0], "after": next_obs[..., 0], "moved": action - 1}


def wanted(before, action, after, terminated):
    """Return what each term of the reward gives, computed by hand."""
    ends = 2.0 * (1 if after > 0 else -1) if terminated else 0.0
    return {"progress": after - before, "effort": -0.125 * abs(action - 1.0), "arrival": ends}


def walk(env, count):
    """Take steps, beginning anew where an episode ends."""
    env.reset()
    for n in range(count):
        *_, terminated, truncated, _ = env.step(n % 3)
        if terminated or truncated:
            env.reset()


def record_and_leave(ledger):
    """Record five steps and end without closing anything: for another process."""
    walk(RewardWrapper(Walk(), reward(), features, ledger=ledger, flush_every=600), 5)
