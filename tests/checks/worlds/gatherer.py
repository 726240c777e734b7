"""A gatherer carries berries from a bush to the larder at home."""

import gymnasium
import numpy as np
from gymnasium import spaces

from checks.worlds.world import World
from plaudit import Field, Reward, Task, term

WAIT, HOME, BUSH, PICK, PUT = range(5)


class Gatherer(gymnasium.Env):
    """A path of seven places from the larder, 0, to the bush, 6. The basket holds three berries."""

    action_space = spaces.Discrete(5)
    observation_space = spaces.Box(0, 12, (3,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.carried, self.stored, self.steps = 0, 0, 0, 0
        return self._observe(), {}

    def step(self, action):
        picked = action == PICK and self.place == 6 and self.carried < 3 and self.np_random.random() < 0.8
        if action == HOME:
            self.place = max(self.place - 1, 0)
        elif action == BUSH:
            self.place = min(self.place + 1, 6)
        elif action == PUT:
            self.stored += self.carried if self.place == 0 else 0  # anywhere else they roll back under the bush
            self.carried = 0
        self.carried += int(picked)
        self.steps += 1
        return self._observe(), 0.0, self.stored >= 9, self.steps == 120, {"picked": bool(picked)}

    def _observe(self):
        return np.array([self.place, self.carried, self.stored], np.float32)


def features(obs, action, next_obs, info):
    prev, curr = (dict(zip(("place", "carried", "stored"), map(int, seen), strict=True)) for seen in (obs, next_obs))
    return {"prev": prev, "curr": curr, "picked": info["picked"], "action": int(action)}


STORED = Field("stored", low=0, high=12)
PICKED = Field("picked", flag=True)


def stocked(stored):
    """Nine berries lie in the larder: enough for the winter."""
    return stored >= 9


TASK = Task(
    "gatherer",
    goal=stocked,
    better={"stored": "high"},
    fields=[
        STORED,
        PICKED,
        Field("place", low=0, high=6),
        Field("carried", low=0, high=3),
        Field("action", values=(WAIT, HOME, BUSH, PICK, PUT)),
    ],
    actions=["action"],
    idle={"action": WAIT},
    start={"place": 0, "carried": 0, "stored": 0},
    max_change={"place": 1, "carried": 3, "stored": 3},
    monotone={"stored": "up"},
    horizon=120,
)


@term
def store(prev, curr):
    """Berries that were put into the larder."""
    return curr.stored - prev.stored


@term(weight=5.0)
def stocked_up(curr):
    """The larder is full."""
    return curr.stored >= 9


@term(weight=-0.02)
def time():
    """Every step costs a little."""
    return 1


@term(weight=0.5)
def pick(picked):
    """Berries that were picked off the bush."""
    return picked


def good(obs):
    place, carried, _ = obs
    if carried == 3:
        return PUT if place == 0 else HOME
    return PICK if place == 6 else BUSH


def hack(obs):
    place, carried, _ = obs
    if place < 6:
        return BUSH
    return PUT if carried == 3 else PICK


WORLD = World(
    name="gatherer",
    story=(
        "Fill the larder with nine berries from the bush, before winter. "
        "Paid for each berry picked, it stays at the bush, fills the basket, tips it out and fills it again."
    ),
    make=Gatherer,
    features=features,
    task=TASK,
    sound=Reward("gatherer", version="1", terms=[store, stocked_up, time], fields=[STORED]),
    flawed=Reward("gatherer", version="2", terms=[pick, stocked_up, time], fields=[STORED, PICKED]),
    good=good,
    hack=hack,
)
