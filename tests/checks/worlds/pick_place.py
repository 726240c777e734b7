"""A robot arm carries a part past a glass into a bin.

The gripper moves in the plane: along the bench and up and down. It is wanted to put the part into the bin, soon, and
to leave the glass that stands between them upright.
"""

import gymnasium
import numpy as np
from gymnasium import spaces

from checks.worlds.world import World
from plaudit import Field, Reward, Task, term

STAY, LEFT, RIGHT, UP, DOWN, GRIP, RELEASE = range(7)
GLASS = 5


class PickPlace(gymnasium.Env):
    """Cells of 10 cm: gripper, part, bin, whether the part is held and whether the glass stands."""

    action_space = spaces.Discrete(7)
    observation_space = spaces.Box(0, 10, (7,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.z, self.held, self.standing, self.steps = 3, 3, False, True, 0
        self.part, self.lift, self.bin = int(self.np_random.integers(0, 3)), 0, int(self.np_random.integers(8, 11))
        return self._observe(), {}

    def _observe(self):
        return np.array([self.x, self.z, self.part, self.lift, self.bin, self.held, self.standing], dtype=np.float64)

    def step(self, action):
        self.x = min(max(self.x + (action == RIGHT) - (action == LEFT), 0), 10)
        self.z = min(max(self.z + (action == UP) - (action == DOWN), 0), 4)
        if action == GRIP and (self.x, self.z) == (self.part, self.lift):
            self.held = True
        if action == RELEASE:
            self.held, self.lift = False, 0
        if self.held:
            self.part, self.lift = self.x, self.z
        knocked = self.standing and self.x == GLASS and self.z <= 1
        self.standing = self.standing and not knocked
        self.steps += 1
        placed = self.part == self.bin and not self.held
        info = {"knocked": bool(knocked), "placed": bool(placed)}
        return self._observe(), 0.0, bool(placed), self.steps >= 120, info


def _features(obs, action, next_obs, info):
    before, after = (
        {"reach": abs(x - part) + abs(z - lift), "carry": abs(part - goal)}
        for x, z, part, lift, goal, *_ in (obs, next_obs)
    )
    return {"prev": before, "curr": after, **info, "action": action}


def _in_the_bin(placed):
    """The part lies in the bin."""
    return placed


@term(weight=0.2)
def reaching(prev, curr):
    """Cells by which the gripper came closer to the part."""
    return prev.reach - curr.reach


@term(weight=0.5)
def carrying(prev, curr):
    """Cells by which the part came closer to the bin."""
    return prev.carry - curr.carry


@term(weight=10.0)
def finish(placed):
    """The part lies in the bin."""
    return placed


@term(weight=-0.1)
def cycle_time():
    """The next part is waiting."""
    return 1


@term(weight=-5.0)
def breakage(knocked):
    """A glass that is knocked over."""
    return knocked


KNOCKED = Field("knocked", flag=True)
FIELDS = [Field("reach", low=0, high=14), Field("carry", low=0, high=10), Field("placed", flag=True)]
MOVES = [reaching, carrying, finish, cycle_time]


def _carry(height):
    def choose(obs):
        x, z, part, lift, goal, held, _ = obs
        if not held:
            if (x, z) == (part, lift):
                return GRIP
            return LEFT if x > part else RIGHT if x < part else DOWN
        if x == goal:
            return RELEASE
        return UP if z < height else RIGHT if x < goal else LEFT

    return choose


WORLD = World(
    "pick and place",
    "Put the part into the bin and leave the glass standing; where only the part is paid for, an arm sweeps the glass off the bench.",
    make=PickPlace,
    features=_features,
    task=Task(
        "part into the bin",
        goal=_in_the_bin,
        better={"knocked": "low"},
        discount=0.99,
        fields=[KNOCKED, Field("action", values=tuple(range(7)))],
        actions=["action"],
        events={"knocked": 1, "placed": 1},
        idle={"action": STAY, "knocked": False, "placed": False},
        max_change={"carry": 1},
        horizon=120,
    ),
    sound=Reward("pick_place", version="sound", terms=[*MOVES, breakage], fields=[*FIELDS, KNOCKED]),
    flawed=Reward("pick_place", version="flawed", terms=MOVES, fields=FIELDS),
    good=_carry(2),
    hack=_carry(0),
)
