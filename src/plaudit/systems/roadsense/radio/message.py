"""What one car hears of another, and the radio that it is heard by."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from plaudit.systems.roadsense.world import CarState

STALE = 500.0
"""From this age on, in milliseconds, a message counts for nothing."""


def valid(message: CarState) -> bool:
    """Return whether a message is fresh enough to count: younger than half a second.

    >>> [valid(CarState(0.0, 30.0, 15.0, 0.0, 0.0, age=age)) for age in (499.9, 500.0)]
    [True, False]
    """
    return message.age < STALE


class Radio(Protocol):
    """How messages get from car to car."""

    def reset(self, rng: np.random.Generator) -> None:
        """Begin an episode: forget what was heard, and take all chance from `rng` from now on."""

    def exchange(self, now: float, cars: Mapping[str, CarState], ego: str) -> Mapping[str, CarState]:
        """Let every car broadcast once, at `now` milliseconds; return the newest message of each source at `ego`."""
