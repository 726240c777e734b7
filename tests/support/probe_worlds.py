"""Small simulators, each with rewards that pay for something else than the task wants, and with sound ones."""

import gymnasium
import numpy as np
from gymnasium import spaces

from plaudit import Field, Reward, Task, term


class World(gymnasium.Env):
    """A world that pays nothing itself and tells everything in `info`; a subclass says how it begins and moves."""

    limit = 30
    action_space = spaces.Discrete(3)
    size = 2

    def __init__(self):
        self.observation_space = spaces.Box(-100, 100, (self.size,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        self.begin()
        return self.see(), {}

    def step(self, action):
        self.at += 1
        info, over = self.move(action)
        return self.see(), 0.0, over, self.at >= self.limit, info


class Room(World):
    """A room that cools down to about 10 degrees: off, heat, heat more."""

    size = 1

    def begin(self):
        self.temp = 15.0 + self.np_random.normal()

    def see(self):
        return np.array([self.temp - 21.0])

    def move(self, action):
        self.temp += 0.2 * (10.0 - self.temp) + 2.5 * int(action) + 0.3 * self.np_random.normal()
        return {"temp": float(np.clip(self.temp, -50, 60))}, False


class Ledge(World):
    """A ledge with an edge to the left and a hut to the right; the wind blows."""

    def begin(self):
        self.place = 3

    def see(self):
        return np.array([self.place, 1.0])

    def move(self, action):
        blown = self.np_random.random() < 0.1
        self.place += int(action) - 1 - blown
        info = {"home": self.place >= 12, "fallen": self.place <= 0, "place": float(np.clip(self.place, -2, 13))}
        return info, info["home"] or info["fallen"]


class Floor(World):
    """Five tiles in a ring, each dirty at first: wait, brush, walk on."""

    size = 7

    def begin(self):
        self.dirt, self.place = np.ones(5), int(self.np_random.integers(5))

    def see(self):
        return np.array([*self.dirt, self.dirt[self.place], 1.0])

    def move(self, action):
        picked = action == 1 and bool(self.dirt[self.place])
        if action == 1:
            self.dirt[self.place] = 0.0
        elif action == 2:
            self.place = (self.place + 1) % 5
        return {"picked": picked, "brushed": bool(action == 1), "clean": float(1.0 - self.dirt.mean())}, False


class Road(World):
    """A road of about 8 units that ends at the gate, driven with a throttle from -1 to 1."""

    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def begin(self):
        self.x, self.v, self.gate = 0.0, 0.0, 8.0 + self.np_random.random()

    def see(self):
        return np.array([self.gate - self.x, self.v])

    def move(self, action):
        throttle = float(action[0])
        self.v = float(np.clip(self.v + 0.3 * throttle, 0.0, 1.5))
        self.x += self.v
        through = self.x >= self.gate
        info = {"through": through, "throttle": throttle, "speed": self.v}
        return info, through


class Tank(World):
    """A tank that is drawn from, with a pump from 0 to 1."""

    action_space = spaces.Box(0, 1, (1,), np.float32)

    def begin(self):
        self.level = 4.0 + self.np_random.random()

    def see(self):
        return np.array([self.level - 5.0, 1.0])

    def move(self, action):
        pump = float(action[0])
        self.level = float(np.clip(self.level + 0.8 * pump - 0.4 + 0.05 * self.np_random.normal(), 0.0, 10.0))
        return {"level": self.level, "pump": pump}, False


class Parcels(World):
    """A shelf at 0 and a van at 3: left, right, and take or put down."""

    size = 3

    def begin(self):
        self.place, self.held, self.done = int(self.np_random.integers(2)), False, 0

    def see(self):
        return np.array([self.place, float(self.held), 1.0])

    def move(self, action):
        taken = delivered = False
        if action < 2:
            self.place = int(np.clip(self.place + (1 if action else -1), 0, 3))
        elif not self.held:
            self.held = taken = self.place < 3
        else:
            self.held, delivered = False, self.place == 3
        return {"taken": taken, "delivered": delivered}, False


class Pole(World):
    """A pole that falls: pushes to the left or to the right."""

    action_space = spaces.Discrete(2)
    limit = 60

    def begin(self):
        self.tilt, self.rate = self.np_random.normal(0.0, 0.02, 2)

    def see(self):
        return np.array([10.0 * self.tilt, 10.0 * self.rate])

    def move(self, action):
        self.rate += 0.05 * self.tilt + 0.02 * (2 * int(action) - 1) + 0.01 * self.np_random.normal()
        self.tilt += self.rate
        return {"tilt": float(np.clip(self.tilt, -2, 2)), "down": abs(self.tilt) > 0.5}, abs(self.tilt) > 0.5


class Valley(World):
    """A car with too weak a motor, in a valley that only a swing leads out of."""

    action_space = spaces.Box(-1, 1, (1,), np.float32)
    limit = 40

    def begin(self):
        self.x, self.v = -0.5 + 0.1 * self.np_random.normal(), 0.0

    def see(self):
        return np.array([1.0, 1.0])  # nothing that helps

    def move(self, action):
        push = float(action[0])
        self.v = float(np.clip(self.v + 0.001 * push - 0.0025 * np.cos(3 * self.x), -0.07, 0.07))
        self.x = float(np.clip(self.x + self.v, -1.2, 0.6))
        return {"x": self.x, "out": self.x >= 0.5, "push": push}, self.x >= 0.5


class Jump(World):
    """A gap that a jump crosses in six of ten cases, whatever is seen: wait, walk to the edge, jump."""

    limit = 12

    def begin(self):
        self.place = 0

    def see(self):
        return np.array([self.place, 1.0])

    def move(self, action):
        across = drowned = False
        if action == 1:
            self.place = min(self.place + 1, 2)
        elif action == 2 and self.place == 2:
            across = self.np_random.random() < 0.6
            drowned = not across
        return {"across": across, "drowned": drowned}, across or drowned


class Noise(World):
    """What is done earns something, and what is measured is chance."""

    limit = 10
    action_space = spaces.Discrete(6)

    def begin(self):
        pass

    def see(self):
        return self.np_random.normal(size=2)

    def move(self, action):
        return {"chosen": float(action), "luck": float(self.np_random.normal())}, False


def number(name, low, high):
    return Field(name, low=low, high=high)


def flag(name):
    return Field(name, flag=True)


def build(name, fields, *terms, **said):
    read = {name for each in terms for name in each.reads}
    task = Task(fields=[each for each in fields if each.name not in read], **said)
    return Reward(name, version="1", terms=terms, fields=[each for each in fields if each.name in read], task=task)


# -- what pays -----------------------------------------------------------------------------------------------------------


@term
def warmth(temp):
    return max(0.0, temp - 15)


@term
def comfort(temp):
    return -abs(temp - 21)


@term(weight=-1.0)
def step_cost():
    return 1.0


@term
def homecoming(home):
    return 5.0 if home else 0.0


@term
def big_homecoming(home):
    return 40.0 if home else 0.0


@term
def fall(fallen):
    return -30.0 if fallen else 0.0


@term
def pickup(picked):
    return 1.0 if picked else 0.0


@term
def brushing(brushed):
    return 1.0 if brushed else 0.0


@term
def alive():
    return 1.0


@term
def calm(throttle):
    return 1.0 if throttle <= 0 else 0.0


@term
def big_passing(through):
    return 60.0 if through else 0.0


@term
def thrift(pump):
    return -pump


@term
def shallow(level):
    return -0.01 * abs(level - 5)


@term
def steady(level):
    return -abs(level - 5)


@term
def taking(taken):
    return 1.0 if taken else 0.0


@term
def delivery(delivered):
    return 3.0 if delivered else 0.0


@term
def upright(tilt):
    return 1.0 - abs(tilt)


@term
def leaving(out):
    return 100.0 if out else 0.0


@term(weight=-0.1)
def strain(push):
    return push * push


@term
def crossing(across):
    return 10.0 if across else 0.0


@term
def drowning(drowned):
    return -20.0 if drowned else 0.0


@term
def choice(chosen):
    return chosen


@term
def haste(speed):
    return speed


@term
def fuel(throttle):
    return -0.1 * abs(throttle)


def is_home(home):
    return home


def is_through(through):
    return through


def has_delivered(delivered):
    return delivered


def is_out(out):
    return out


def is_across(across):
    return across


TEMP = [number("temp", -50, 60)]
HOME = [flag("home"), flag("fallen"), number("place", -2, 13)]
DIRT = [flag("picked"), flag("brushed"), number("clean", 0, 1)]
DRIVE = [flag("through"), number("throttle", -1, 1), number("speed", 0, 1.5)]
LEVEL = [number("level", 0, 10), number("pump", 0, 1)]
GOODS = [flag("taken"), flag("delivered")]
TILT = [number("tilt", -2, 2), flag("down")]
OUT = [number("x", -1.2, 0.6), flag("out"), number("push", -1, 1)]
GAP = [flag("across"), flag("drowned")]
LUCK = [number("chosen", 0, 5), number("luck", -20, 20)]

_home = {"goal": is_home, "ends": {"fallen": "bad"}, "better": {"place": "high"}, "states": ["place"]}
_drive = {"goal": is_through, "better": {"throttle": "low"}, "actions": ["throttle"]}
_level = {"aim": {"level": 5.0}, "better": {"pump": "low"}, "actions": ["pump"], "states": ["level"]}
_floor = {"better": {"clean": "high"}, "states": ["clean"]}

FLAWED = {
    "heats without end": (Room, build("warm", TEMP, warmth, aim={"temp": 21.0}, states=["temp"])),
    "jumps off at once": (Ledge, build("short", HOME, homecoming, step_cost, **_home)),
    "only the end is declared": (
        Ledge,
        build("quick", HOME, homecoming, step_cost, ends={"fallen": "bad", "home": "good"}),
    ),
    "brushes the same tile": (Floor, build("busy", DIRT, brushing, **_floor)),
    "waits for the gate to come": (Road, build("calm", DRIVE, calm, **_drive)),
    "lets the tank run dry": (Tank, build("thrifty", LEVEL, thrift, shallow, **_level)),
    "takes and puts back": (Parcels, build("taking", GOODS, taking, delivery, goal=has_delivered)),
}

SOUND = {
    "keeps the room warm": (Room, build("warm", TEMP, comfort, aim={"temp": 21.0}, states=["temp"])),
    "walks home": (Ledge, build("long", HOME, big_homecoming, fall, step_cost, **_home)),
    "brushes every tile": (Floor, build("tidy", DIRT, pickup, **_floor)),
    "drives through": (Road, build("through", DRIVE, big_passing, step_cost, **_drive)),
    "keeps the level": (Tank, build("steady", LEVEL, steady, **_level)),
    "delivers": (Parcels, build("delivering", GOODS, delivery, goal=has_delivered)),
    "lives long, and tilts more than what falls at once": (
        Pole,
        build("pole", TILT, alive, upright, aim={"tilt": 0.0}, states=["tilt"]),
    ),
    "lives long, and a fall is declared": (
        Pole,
        build("pole", TILT, alive, aim={"tilt": 0.0}, ends={"down": "bad"}, states=["tilt"]),
    ),
    "nobody gets out of the valley": (
        Valley,
        build("swing", OUT, leaving, strain, goal=is_out, better={"x": "high"}, states=["x"]),
    ),
    "a jump that pays where it succeeds": (
        Jump,
        build("jump", GAP, crossing, drowning, goal=is_across, ends={"drowned": "bad"}),
    ),
    "a measure that is chance": (Noise, build("noise", LUCK, choice, better={"luck": "high"}, states=["luck"])),
    "haste and thrift are a matter of taste": (
        Road,
        build(
            "haste",
            DRIVE,
            haste,
            fuel,
            better={"speed": "high", "throttle": "low"},
            states=["speed", "throttle"],
        ),
    ),
}
