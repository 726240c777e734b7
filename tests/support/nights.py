"""A night of two environments that was cut off: unfinished episodes, steps that could not be scored, several actors."""

import warnings

import gymnasium
import numpy as np

from plaudit import Field, Ledger, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper

STEPS = 4
"""Of a whole episode."""


@term
def pace(x):
    return x


@term(weight=0.5)
def surface(road):
    return 1 if road == "open" else -1


@term(terminal=True)
def arrival(left):
    return 1 - left


FIELDS = [
    Field("x", low=0, high=1, unit="m"),
    Field("road", values=("open", "shut")),
    Field("left", low=0, high=1, doc="Read at the end alone."),
]
WALKING = Reward("walking", version="1", terms=[pace, surface, arrival], fields=FIELDS)
SLOWER = WALKING.with_params({"pace.weight": 0.5}).with_version("2")


class Walk(gymnasium.Env):
    """Counts its steps; what the environment itself pays is 0.25 a step."""

    observation_space = gymnasium.spaces.Box(0, 100, (1,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self._taken = 0
        return np.zeros(1), {}

    def step(self, action):
        self._taken += 1
        return np.full(1, float(self._taken)), 0.25, self._taken == STEPS, False, {}


class Walker:
    """An environment in a wrapper of its own, whose steps go where they are told."""

    def __init__(self, ledger, run):
        self._given = {}
        self._env = RewardWrapper(Walk(), WALKING, self._read, ledger=ledger, run=run, max_masked=1.0)
        self._done = True

    def _read(self, obs, action, next_obs, info):
        return self._given | ({"left": 0.5} if next_obs[0] == STEPS else {})

    def walk(self, x=0.5, road="open"):
        """Take a step that gives these features; how much of the way is left is given at the end alone."""
        if self._done:
            self._env.reset()
        self._given = {"x": x, "road": road}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a step that cannot be scored is told of
            _, _, self._done, _, _ = self._env.step(0)

    def walk_episode(self, x=0.5, **odd):
        """Walk a whole episode at a pace; `odd` names what another step number gives."""
        for number in range(1, STEPS + 1):
            self.walk(**{"x": x, **odd.get(f"at_{number}", {})})

    def close(self):
        self._env.close()


def record_night(path, run="night"):
    """Record two actors, three whole episodes of each, and a fourth of each that was cut off after one step.

    Of the second episode of env0, step 2 is out of its range, and step 3 is on no road that is known.
    """
    with Ledger(path) as ledger:
        walkers = [Walker(ledger, run) for _ in range(2)]
        for at, walker in enumerate(walkers):
            for number in range(3):
                odd = {"at_2": {"x": 7.0}, "at_3": {"road": "wet"}} if (at, number) == (0, 1) else {}
                walker.walk_episode(0.1 * (1 + number + 3 * at), **odd)
            walker.walk(1.0)
        for walker in walkers:
            walker.close()
