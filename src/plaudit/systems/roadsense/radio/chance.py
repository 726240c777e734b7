"""The random numbers of a radio, drawn many at a time: one by one they would take longer than all else."""

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.systems.roadsense.radio.channel import SAID, Channel

MANY = 256
"""How many are drawn at a time: few enough to stay near at hand."""
LEAST = 1.0
"""No packet takes less than this, in milliseconds."""


class Chance:
    """What is left to chance on a channel, all of it from one generator."""

    __slots__ = ("jitter", "noise", "uniform")

    uniform: Callable[[], float]
    """Returns the next number from 0 to 1."""
    jitter: Callable[[], float]
    """Returns the milliseconds by which the next packet is late, or early."""
    noise: Callable[[], list[float]]
    """Returns what the next sender adds to a message: to x, y, speed, acceleration and heading."""

    def __init__(self, rng: np.random.Generator, channel: Channel) -> None:
        jitter, spread = channel.episode.jitter, np.array(channel.spread)
        self.uniform = _each(lambda: rng.random(MANY))
        self.jitter = _each(lambda: jitter * rng.standard_normal(MANY))
        self.noise = _each(lambda: spread * rng.standard_normal((MANY, SAID)))

    def taken(self, latency: float) -> float:
        """Return the milliseconds that the next packet takes, which has this latency give or take the jitter."""
        taken = latency + self.jitter()
        return taken if taken > LEAST else LEAST


def _each(draw: Callable[[], NDArray[Any]]) -> Callable[[], Any]:
    """Return what gives one number after the other, or one row, of all that is drawn."""
    return chain.from_iterable(iter(lambda: draw().tolist(), None)).__next__
