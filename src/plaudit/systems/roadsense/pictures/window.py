"""The window of a view from above: it follows one car, which drives from left to right."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import atan2, cos, degrees, hypot, radians, sin
from typing import Self

import numpy as np
from numpy.typing import NDArray

from plaudit.systems.roadsense.world import CarState

Points = NDArray[np.float64]
"""A row `x, y` for each point."""

EGO_AT = 0.13
"""Where the front of the followed car is, as a share of the width."""
_MARGIN = 2.5
"""How far from the upper and lower edge cars are kept, in meters."""


@dataclass(frozen=True)
class Window:
    """Where a point of the world lies in a picture of `width` × `height` pixels, which shows `width / scale` meters.

    >>> east = CarState(x=100.0, y=0.0, speed=15.0, acceleration=0.0, heading=90.0)
    >>> window = Window.follow(east, 1000, 200, 100.0)
    >>> window.pixels(np.array([[100.0, 0.0], [110.0, 0.0], [110.0, -2.0]])).round(6).tolist()
    [[130.0, 100.0], [230.0, 100.0], [230.0, 120.0]]
    """

    x: float
    y: float
    sine: float
    cosine: float
    scale: float
    width: int
    height: int

    tilt: float = 0.0
    """Degrees by which the followed car heads further to the right than the picture looks."""
    aside: float = 0.0
    """How far to the right of the followed car the middle of the picture is, in meters."""

    @classmethod
    def follow(cls, car: CarState, width: int, height: int, span: float, *, others: Iterable[CarState] = ()) -> Self:
        """Return the window that shows `span` meters around a car, most of them ahead of it.

        It looks where the car heads or, in a bend, to where the others are, and moves aside for the nearest two.
        """
        turn = radians(car.heading)
        near = sorted((hypot(other.x - car.x, other.y - car.y), other.x - car.x, other.y - car.y) for other in others)
        pulls = [(10.0 / max(away, 1.0) ** 2, east, north) for away, east, north in near if away < span]
        way = atan2(
            0.1 * sin(turn) + sum(pull * east for pull, east, _ in pulls),
            0.1 * cos(turn) + sum(pull * north for pull, _, north in pulls),
        )
        sine, cosine = sin(way), cos(way)
        sides = [east * cosine - north * sine for _, east, north in near[:2]]
        scale = width / span
        aside = _compute_aside(sides, height / 2 / scale - _MARGIN) if sides else 0.0
        return cls(car.x, car.y, sine, cosine, scale, width, height, degrees(turn - way), aside)

    def pixels(self, points: Points) -> Points:
        """Return where points of the world are in the picture."""
        ahead, right = self._rotate(points[:, 0] - self.x, points[:, 1] - self.y)
        return np.stack(
            [EGO_AT * self.width + self.scale * ahead, self.height / 2 + self.scale * (right - self.aside)], axis=1
        )

    def measure_ahead(self, car: CarState) -> float:
        """Return how far ahead a car is in the direction in which the followed one heads, in meters."""
        return (car.x - self.x) * self.sine + (car.y - self.y) * self.cosine

    def shows(self, at: Sequence[float]) -> bool:
        """Return whether a pixel lies inside."""
        return 0 <= at[0] < self.width and 0 <= at[1] < self.height

    def _rotate(self, east: Points, north: Points) -> tuple[Points, Points]:
        return east * self.sine + north * self.cosine, east * self.cosine - north * self.sine


def _compute_aside(sides: Sequence[float], reach: float) -> float:
    """Return how far to move for others beside a car that is at 0: no more than needed, for the first before the rest.

    >>> [_compute_aside([4.0, other], reach=6.0) for other in (5.0, 9.0, 20.0)]
    [0.0, 3.0, 6.0]
    """
    seen = 0.0
    for low, high in ((min(0.0, *sides), max(0.0, *sides)), (min(0.0, sides[0]), max(0.0, sides[0]))):
        seen = (low + high) / 2 if high - low > 2 * reach else min(max(seen, high - reach), low + reach)
    return seen
