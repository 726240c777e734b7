"""One small reward that has everything, for the tests of every target."""

import numpy as np
import pytest

from plaudit import Field, Reward, term
from support.strategies import load

SOURCE = """\
import math

PAY = (0.0, 0.5, 2.0)


def near(distance, *, reach=2.0, far):
    return 1.0 if distance < reach else -distance / far


def pays(level, lit):
    return PAY[level] if lit else 0.0


def calm(mood):
    return mood == "calm"


def effort(force, *, scale=0.5):
    return scale * sum(f * f for f in force)


def moved(prev, curr):
    return math.tanh(curr.place - prev.place)


def ends(success, *, bonus=10):
    return bonus if success else -1
"""
NAMES = ("near", "pays", "calm", "effort", "moved", "ends")
FIELDS = (
    Field("distance", low=0, unit="m"),
    Field("level", values=(0, 1, 2)),
    Field("lit", flag=True),
    Field("mood", values=("calm", "wild", "other"), other="other"),
    Field("force", length=2, low=-9, high=9),
    Field("place"),
    Field("success", flag=True),
)


@pytest.fixture(scope="session")
def reward():
    """A reward with every kind of input, knobs of both kinds, clamps, a weight of 0 and a terminal term."""
    space = load(SOURCE)
    dressed = {
        "effort": {"weight": -0.1, "high": 4.0},
        "calm": {"weight": 0.0},
        "moved": {"weight": 2},
        "ends": {"terminal": True},
    }
    terms = [term(**dressed.get(name, {}))(space[name]) for name in NAMES]
    return Reward("all", version="1", terms=terms, fields=FIELDS, shared={"far": 40.0}, low=-20.0)


@pytest.fixture
def batch():
    """Three good rows of `reward` as columns."""
    return {
        "distance": np.array([1.0, 2.0, 30.0]),
        "level": np.array([0, 1, 2]),
        "lit": np.array([True, True, False]),
        "mood": np.array([0, 1, 2]),
        "force": np.array([[1.0, 2.0], [0.0, 0.0], [9.0, -9.0]]),
        "prev.place": np.array([0.0, 1.0, 2.0]),
        "curr.place": np.array([0.5, 1.0, 0.0]),
        "terminal": np.array([False, False, True]),
        "success": np.array([False, False, True]),
    }


TOTALS = [
    1.0 + 0.0 - 0.1 * 2.5 + 2 * float(np.tanh(0.5)),
    -2.0 / 40 + 0.5,
    -30.0 / 40 - 0.1 * 4.0 + 2 * float(np.tanh(-2.0)) + 10,
]
"""What the batch scores, worked out by hand."""


@pytest.fixture
def totals():
    return TOTALS
