"""A task that says something of every kind."""

import math

import numpy as np

from plaudit import Event, Field, Rate, Seen, Task, fact, prefer


def landed(height, speed, *, slow=1.0):
    """It stands on its legs."""
    return height <= 0 and speed < slow


def tilted(angle):
    return abs(angle) > 1


@fact
def sinks(prev, curr):
    return curr.fuel <= prev.fuel


@fact
def light(fuel):
    return fuel <= 10


NEAR = prefer({"height": 1}, over=[{"height": math.inf}, {"mode": "inf"}], because="near the ground")
TASK = Task(
    "landing",
    version="3",
    doc="Land.",
    goal=landed,
    goal_ends=False,
    better={"fuel": "high"},
    aim={"angle": 0},
    prefer=[NEAR],
    ends={"crashed": "bad", "landed": "good", "limit": "time", "tilted": ("bad", tilted), "gone": None},
    discount=0.99,
    fields=[Field("fuel", low=0, high=10, unit="kg", doc="What is left."), Field("legs", flag=True, length=2)],
    states=["height", "speed", "angle"],
    actions=["thrust"],
    events={"touch": Event(renews=3, rate=0.25), "crashed": 1, "blink": None},
    idle={"thrust": 0, "prev": {"speed": 1.5}, "wind": np.array([0.0, math.inf]), "mode": "off"},
    start={"height": (5, 8.5), "speed": 0.0, "mode": "off"},
    horizon=500,
    rates={"height": "speed", "angle": ("spin", 0.02), "fuel": Rate("thrust", -0.5)},
    max_change={"speed": 2},
    monotone={"fuel": "down"},
    still=["fuel"],
    facts=[sinks, light],
    seen={"rates.angle": Seen(9975, 9975), "facts.light": Seen(10_000, 10_000), "horizon": Seen(3, 3, "episodes")},
    source="LunarLander-v3",
)
