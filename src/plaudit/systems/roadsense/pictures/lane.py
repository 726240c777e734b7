"""The lane as points two metres apart, of which a picture shows those in its window."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from plaudit.systems.roadsense.pictures.window import Points, Window
from plaudit.systems.roadsense.world import CarState

WIDTH = 3.2
"""Metres, as SUMO has it."""
APART = 2.0
POST = 5
"""A post stands at every fifth point: ten metres apart, so that one sees the road go by."""


class Stretch(NamedTuple):
    """A stretch of the lane without a gap: its middle in pixels, the way to its right, and where posts stand."""

    middle: Points
    right: Points
    posts: np.ndarray

    def edge(self, metres: float, scale: float) -> Points:
        """Return the line that runs beside the middle, to the right where `metres` is above 0."""
        return self.middle + self.right * (metres * scale)

    def outline(self, metres: float, scale: float) -> list[tuple[float, float]]:
        """Return the corners of a strip that reaches `metres` to both sides of the middle."""
        return corners(np.concatenate([self.edge(-metres, scale), self.edge(metres, scale)[::-1]]))


def stretches(road: Points, window: Window) -> list[Stretch]:
    """Return the parts of a road that come near the window; a winding one may come by more than once."""
    points = _spaced(road)
    reach = 1.2 * window.width / window.scale
    near = np.hypot(points[:, 0] - window.x, points[:, 1] - window.y) <= reach
    seen = np.flatnonzero(near)
    runs = np.split(seen, np.flatnonzero(np.diff(seen) > 1) + 1)
    return [_stretch(points[run], run, window) for run in runs if len(run) > 1]


def road_through(cars: Mapping[str, CarState], ego: CarState, window: Window) -> Points:
    """Return a road for a drive whose road is not known: from behind the ego through the cars ahead."""
    ahead = sorted((car for car in cars.values() if window.ahead(car) >= 0), key=window.ahead)
    far = 1.2 * window.width / window.scale
    along = ego.x * window.sine + ego.y * window.cosine
    behind = far + along % (APART * POST)  # so that the posts of a straight road stand still
    last = ahead[-1] if ahead else ego
    ends = [(ego, -behind), *((car, 0.0) for car in ahead), (last, far)]
    return np.array([_moved(car, metres) for car, metres in ends])


def crossing(stretch: Stretch, metres: float, window: Window) -> tuple[Points, Points] | None:
    """Return where a stretch leaves the circle of `metres` around the ego, and the way to its right; None where never.

    A stretch that does not pass the ego, such as the other side of a hairpin, is not asked.
    """
    start = window.pixels(np.array([[window.x, window.y]]))[0]
    away = np.hypot(*(stretch.middle - start).T) / window.scale
    nearest = int(away.argmin())
    beyond = np.flatnonzero(away[nearest:] >= metres)
    if not len(beyond) or away[nearest] > APART:
        return None
    to = max(nearest + int(beyond[0]), 1)
    share = np.clip((metres - away[to - 1]) / max(away[to] - away[to - 1], 1e-9), 0.0, 1.0)
    return stretch.middle[to - 1] + share * (stretch.middle[to] - stretch.middle[to - 1]), stretch.right[to]


def polyline(road: Sequence[tuple[float, float]]) -> Points:
    """Return a road's shape as an array."""
    return np.asarray(road, dtype=np.float64).reshape(-1, 2)


def _spaced(road: Points) -> Points:
    """Return points of a polyline that are evenly apart."""
    lengths = np.hypot(*np.diff(road, axis=0).T)
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    wanted = np.arange(0.0, at[-1] + APART / 2, APART)
    return np.stack([np.interp(wanted, at, road[:, 0]), np.interp(wanted, at, road[:, 1])], axis=1)


def _stretch(points: Points, places: np.ndarray, window: Window) -> Stretch:
    middle = window.pixels(points)
    along = np.gradient(middle, axis=0)
    along /= np.maximum(np.hypot(*along.T), 1e-9)[:, None]
    right = np.stack([-along[:, 1], along[:, 0]], axis=1)
    return Stretch(middle, right, np.flatnonzero(places % POST == 0))


def _moved(car: CarState, metres: float) -> tuple[float, float]:
    turn = np.radians(car.heading)
    return car.x + metres * float(np.sin(turn)), car.y + metres * float(np.cos(turn))


def corners(points: Points) -> list[tuple[float, float]]:
    """Return points as Pillow takes them."""
    return [(x, y) for x, y in points.tolist()]
