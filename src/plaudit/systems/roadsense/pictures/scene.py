"""The road and the cars from above, to scale: the lane as points two meters apart, and the cars on it."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import cos, hypot, radians, sin
from typing import NamedTuple

import numpy as np

from plaudit.systems.roadsense.pictures import colors
from plaudit.systems.roadsense.pictures.frame import Zones
from plaudit.systems.roadsense.pictures.pillow import Image, Pen, make_pen
from plaudit.systems.roadsense.pictures.window import Points, Window
from plaudit.systems.roadsense.world import CarModel, CarState

FINE = 2
"""Shapes are drawn this much larger and then made smaller, which smooths their edges."""
LANE_WIDTH = 3.2
"""Metres, as SUMO has it."""
CAR_LENGTH = CarModel().length
BRAKING = -0.5
"""The acceleration in m/s² at which brake lights come on."""
POINTS_APART = 2.0
"""Metres between two points of the lane."""
POST_EVERY = 5
"""A post stands at every fifth point: ten meters apart, so that one sees the road go by."""
Corners = list[tuple[float, float]]
# The parts of a car seen from above: meters behind its front bumper, and to its right.
_PARTS = (
    ((4.7, -0.95), (6.1, -1.35), (6.1, 1.35), (4.7, 0.95)),  # the glow of brake lights
    ((0.0, -0.55), (0.35, -0.9), (4.7, -0.95), (5.0, -0.7), (5.0, 0.7), (4.7, 0.95), (0.35, 0.9), (0.0, 0.55)),
    ((1.35, -0.72), (2.05, -0.62), (2.05, 0.62), (1.35, 0.72)),  # the windscreen
    ((3.95, -0.6), (4.4, -0.66), (4.4, 0.66), (3.95, 0.6)),
    ((4.72, -0.95), (5.08, -0.95), (5.08, -0.35), (4.72, -0.35)),  # the rear lights
    ((4.72, 0.35), (5.08, 0.35), (5.08, 0.95), (4.72, 0.95)),
)
_CORNERS = np.array([corner for part in _PARTS for corner in part]).T
_STARTS = (0, *accumulate(map(len, _PARTS)))


class LanePart(NamedTuple):
    """A stretch of the lane without a gap: its middle in pixels, the way to its right, and where posts stand."""

    middle: Points
    right: Points
    posts: np.ndarray

    def edge(self, metres: float, scale: float) -> Points:
        """Return the line that runs beside the middle, to the right where `metres` is above 0."""
        return self.middle + self.right * (metres * scale)

    def outline(self, metres: float, scale: float) -> list[tuple[float, float]]:
        """Return the corners of a strip that reaches `metres` to both sides of the middle."""
        return to_corners(np.concatenate([self.edge(-metres, scale), self.edge(metres, scale)[::-1]]))


def find_lane_parts(road: Points, window: Window) -> list[LanePart]:
    """Return the parts of a road that come near the window; a winding one may come by more than once."""
    points = _space_evenly(road)
    reach = 1.2 * window.width / window.scale
    near = np.hypot(points[:, 0] - window.x, points[:, 1] - window.y) <= reach
    seen = np.flatnonzero(near)
    runs = np.split(seen, np.flatnonzero(np.diff(seen) > 1) + 1)
    return [_build_lane_part(points[run], run, window) for run in runs if len(run) > 1]


def guess_road(cars: Mapping[str, CarState], ego: CarState, window: Window) -> Points:
    """Return a road for a drive whose road is not known: from behind the ego through the cars ahead."""
    ahead = sorted((car for car in cars.values() if window.measure_ahead(car) >= 0), key=window.measure_ahead)
    far = 1.2 * window.width / window.scale
    along = ego.x * window.sine + ego.y * window.cosine
    behind = far + along % (POINTS_APART * POST_EVERY)  # so that the posts of a straight road stand still
    last = ahead[-1] if ahead else ego
    ends = [(ego, -behind), *((car, 0.0) for car in ahead), (last, far)]
    return np.array([_move_along(car, metres) for car, metres in ends])


def find_crossing(part: LanePart, metres: float, window: Window) -> tuple[Points, Points] | None:
    """Return where a part of the lane leaves the circle of `metres` around the ego, and the way to its right, or None.

    A part that does not pass the ego, such as the other side of a hairpin, does not count.
    """
    start = window.pixels(np.array([[window.x, window.y]]))[0]
    away = np.hypot(*(part.middle - start).T) / window.scale
    nearest = int(away.argmin())
    beyond = np.flatnonzero(away[nearest:] >= metres)
    if not len(beyond) or away[nearest] > POINTS_APART:
        return None
    to = max(nearest + int(beyond[0]), 1)
    share = np.clip((metres - away[to - 1]) / max(away[to] - away[to - 1], 1e-9), 0.0, 1.0)
    return part.middle[to - 1] + share * (part.middle[to] - part.middle[to - 1]), part.right[to]


def to_points(road: Sequence[tuple[float, float]]) -> Points:
    """Return a road's shape as an array."""
    return np.asarray(road, dtype=np.float64).reshape(-1, 2)


def _space_evenly(road: Points) -> Points:
    lengths = np.hypot(*np.diff(road, axis=0).T)
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    wanted = np.arange(0.0, at[-1] + POINTS_APART / 2, POINTS_APART)
    return np.stack([np.interp(wanted, at, road[:, 0]), np.interp(wanted, at, road[:, 1])], axis=1)


def _build_lane_part(points: Points, places: np.ndarray, window: Window) -> LanePart:
    middle = window.pixels(points)
    along = np.gradient(middle, axis=0)
    along /= np.maximum(np.hypot(*along.T), 1e-9)[:, None]
    right = np.stack([-along[:, 1], along[:, 0]], axis=1)
    return LanePart(middle, right, np.flatnonzero(places % POST_EVERY == 0))


def _move_along(car: CarState, metres: float) -> tuple[float, float]:
    turn = np.radians(car.heading)
    return car.x + metres * float(np.sin(turn)), car.y + metres * float(np.cos(turn))


def to_corners(points: Points) -> list[tuple[float, float]]:
    """Return points as Pillow takes them."""
    return [(x, y) for x, y in points.tolist()]


def draw_scene(
    window: Window,
    parts: list[LanePart],
    cars: Mapping[str, CarState],
    *,
    ego: str,
    zones: Zones | None,
    gap: tuple[CarState, CarState] | None,
) -> Image.Image:
    """Return the picture of a window, without any text; `gap` are two cars whose distance is marked."""
    picture = Image.new("RGB", (window.width * FINE, window.height * FINE), colors.GROUND)
    _draw_lane(picture, window, parts, zones)
    draw = make_pen(picture)
    if gap is not None:
        _draw_gap(draw, window, *gap)
    for name, car in cars.items():
        _draw_car(draw, window, car, colors.EGO if name == ego else colors.PEER)
    return picture.reduce(FINE)


def find_gap_line(window: Window, behind: CarState, ahead: CarState) -> np.ndarray:
    """Return the ends, in pixels, of the line beside the lane that measures from one front bumper to the other."""
    ends = window.pixels(np.array([[behind.x, behind.y], [ahead.x, ahead.y]]))
    along = ends[1] - ends[0]
    right = np.array([-along[1], along[0]]) / max(hypot(*along), 1e-9)
    return ends + right * ((LANE_WIDTH / 2 + 2.6) * window.scale)


def _draw_lane(picture: Image.Image, window: Window, parts: list[LanePart], zones: Zones | None) -> None:
    draw = make_pen(picture)
    for part in parts:
        for side in (-1, 1):
            posts = np.hstack([part.edge(side * metres, window.scale)[part.posts] for metres in (1.85, 2.4)])
            for post in (posts * FINE).tolist():
                draw.line(post, fill=colors.POST, width=FINE)
        draw.polygon(_enlarge(part.outline(LANE_WIDTH / 2 + 0.2, window.scale)), fill=colors.MARKING)
    outlines = [_enlarge(part.outline(LANE_WIDTH / 2, window.scale)) for part in parts]
    heights = [y for outline in outlines for _, y in outline]
    top = max(0, int(min(heights, default=0)))
    rows = min(picture.height, int(max(heights, default=0)) + 1) - top
    if rows > 0:  # only the rows that the lane passes: most of a picture is ground
        mask = Image.new("L", (picture.width, rows))
        for outline in outlines:
            make_pen(mask).polygon([(x, y - top) for x, y in outline], fill=255)
        picture.paste(_tint_zones(window, mask.size, top, zones), (0, top), mask)


def _tint_zones(window: Window, size: tuple[int, int], top: int, zones: Zones | None) -> Image.Image:
    """Return asphalt, tinted by how far from the ego's front it lies ahead of it; it begins at the row `top`."""
    ground = Image.new("RGB", size, colors.ASPHALT)
    if zones is None:
        return ground
    draw = make_pen(ground)
    x, y = (window.pixels(np.array([[window.x, window.y]]))[0] * FINE).tolist()
    bands = [
        (zones.safe_to, colors.SAFE_LANE),
        (zones.safe_from, colors.ASPHALT),
        (zones.unsafe, colors.UNSAFE_LANE),
        (zones.collision, colors.COLLISION_LANE),
    ]
    for metres, color in bands:
        radius = metres * window.scale * FINE
        box = (x - radius, y - top - radius, x + radius, y - top + radius)
        draw.chord(box, window.tilt - 90, window.tilt + 90, fill=color)
    return ground


def _draw_gap(draw: Pen, window: Window, behind: CarState, ahead: CarState) -> None:
    start, end = find_gap_line(window, behind, ahead) * FINE
    along = (end - start) / max(hypot(*(end - start)), 1e-9)
    tick = np.array([-along[1], along[0]]) * 4 * FINE
    for line in ((start, end), (start - tick, start + tick), (end - tick, end + tick)):
        draw.line([tuple(point.tolist()) for point in line], fill=colors.FAINT, width=FINE)


def _draw_car(draw: Pen, window: Window, car: CarState, color: str) -> None:
    glow, body, *panes, left, right = _place_parts(window, car)
    braking = car.acceleration <= BRAKING
    if braking:
        draw.polygon(glow, fill=colors.GLOW)
    draw.polygon(body, fill=color, outline=colors.GLASS, width=FINE)
    for pane in panes:
        draw.polygon(pane, fill=colors.GLASS)
    for lamp in (left, right):
        draw.polygon(lamp, fill=colors.BRAKE_LIGHT if braking else colors.REAR_LIGHT)


def _place_parts(window: Window, car: CarState) -> list[Corners]:
    turn = radians(car.heading)
    behind, right = _CORNERS
    x = car.x - behind * sin(turn) + right * cos(turn)
    y = car.y - behind * cos(turn) - right * sin(turn)
    points = _enlarge(to_corners(window.pixels(np.stack([x, y], axis=1))))
    return [points[start:end] for start, end in pairwise(_STARTS)]


def _enlarge(points: Corners) -> Corners:
    return [(x * FINE, y * FINE) for x, y in points]
