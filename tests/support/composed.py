"""Rewards whose total is more than a sum, as robotics writes them, and steps for them."""

import numpy as np

from plaudit import Field, Reward, term
from plaudit.functions import tolerance
from plaudit.schedules import linear

FIELDS = (
    Field("speed", low=-5, high=5, unit="m/s"),
    Field("torque", low=-20, high=20),
    Field("height", low=0, high=2, unit="m"),
    Field("fallen", flag=True),
)


@term(weight=2.0)
def forward(speed):
    """Walk."""
    return speed


@term(weight=-0.5, gated=False)
def effort(torque, *, gain=0.125):
    """Spend little."""
    return gain * torque * torque


@term(weight=-10.0, after_clamp=True)
def termination(fallen):
    """Do not fall, whatever the rest adds up to."""
    return fallen


def upright(height, *, reach=0.5):
    """Stand."""
    return 1.0 if height > reach else height / reach


def fell(height, *, floor=0.125):
    """Lie on the ground."""
    return height < floor


def ran(speed):
    """Run away."""
    return speed > 4


def walking(**changes):
    """Return a reward that uses every part of a composition."""
    parts = {
        "terms": [forward, effort, termination],
        "fields": FIELDS,
        "shared": {"dt": 0.25},
        "scale": "dt",
        "gate": upright,
        "override": [(fell, -1.0), (ran, -2.0)],
        "low": 0.0,
    }
    return Reward("walking", version="1", **{**parts, **changes})


def training(**changes):
    """Return the same with a weight that follows `step`, and a knob that follows `epoch`."""
    return walking(**changes).with_params(
        {"forward.weight": linear(0, 2, over=100), "effort.gain": linear(0.5, 0.125, over=8, counter="epoch")}
    )


STEP = {"speed": 1.0, "torque": 2.0, "height": 1.0, "fallen": False}
STEPS = {
    "speed": np.array([1.0, 1.0, -2.0, 3.0, 5.0, 5.0, 0.5]),
    "torque": np.array([2.0, 2.0, 8.0, -3.0, 0.0, 1.0, 0.0]),
    "height": np.array([1.0, 0.25, 1.5, 0.75, 0.0625, 1.0, 2.0]),
    "fallen": np.array([False, False, False, True, True, False, True]),
}
COUNTS = {"step": np.array([0, 25, 50, 99, 100, 500, 3]), "epoch": np.array([0, 1, 2, 3, 4, 8, 9])}


def by_hand(row, *, weight=2.0, gain=0.125):
    """Return the total of a row of `walking`, worked out without plaudit."""
    dt = 0.25
    gated = row["speed"] * weight * dt
    opened = gated * (1.0 if row["height"] > 0.5 else row["height"] / 0.5)
    total = max(opened + gain * row["torque"] * row["torque"] * -0.5 * dt, 0.0) + float(row["fallen"]) * -10.0 * dt
    if row["height"] < 0.125:
        return -1.0
    return -2.0 if row["speed"] > 4 else total


def rows():
    """Return the steps one by one."""
    return [{name: column[at].item() for name, column in STEPS.items()} for at in range(7)]


@term(weight=1.0)
def standing(height):
    """Stand, as the walker of dm_control does: a product of tolerances is a gate."""
    return tolerance(height, bounds=(1.2, 10.0), margin=0.6)


def moving(speed):
    """Move: (5 + tolerance) / 6 as a factor."""
    return (5 * tolerance(speed, bounds=(1.0, 10.0), margin=0.5, value_at_margin=0.5, sigmoid="linear") + 1) / 6


walker = Reward("walker", version="1", terms=[standing], fields=FIELDS[::2], gate=moving)
