"""The road and the cars from above, to scale."""

from collections.abc import Mapping
from itertools import accumulate, pairwise
from math import cos, hypot, radians, sin

import numpy as np

from plaudit.systems.roadsense.pictures import colors
from plaudit.systems.roadsense.pictures.lane import WIDTH, Stretch, corners
from plaudit.systems.roadsense.pictures.pillow import Image, Pen, pen
from plaudit.systems.roadsense.pictures.window import Window
from plaudit.systems.roadsense.pictures.zones import Zones
from plaudit.systems.roadsense.world import CarModel, CarState

FINE = 2
"""Shapes are drawn this much larger and then made smaller, which smooths their edges."""
LENGTH = CarModel().length
BRAKING = -0.5
"""The acceleration in m/s² at which brake lights come on."""

Corners = list[tuple[float, float]]

# The parts of a car seen from above: metres behind its front bumper, and to its right.
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


def scene(
    window: Window,
    stretches: list[Stretch],
    cars: Mapping[str, CarState],
    *,
    ego: str,
    zones: Zones | None,
    gap: tuple[CarState, CarState] | None,
) -> Image.Image:
    """Return the picture of a window, without any text; `gap` are two cars whose distance is marked."""
    picture = Image.new("RGB", (window.width * FINE, window.height * FINE), colors.GROUND)
    _draw_lane(picture, window, stretches, zones)
    draw = pen(picture)
    if gap is not None:
        _draw_gap(draw, window, *gap)
    for name, car in cars.items():
        _draw_car(draw, window, car, colors.EGO if name == ego else colors.PEER)
    return picture.reduce(FINE)


def gap_line(window: Window, behind: CarState, ahead: CarState) -> np.ndarray:
    """Return the ends, in pixels, of the line beside the lane that measures from one front bumper to the other."""
    ends = window.pixels(np.array([[behind.x, behind.y], [ahead.x, ahead.y]]))
    along = ends[1] - ends[0]
    right = np.array([-along[1], along[0]]) / max(hypot(*along), 1e-9)
    return ends + right * ((WIDTH / 2 + 2.6) * window.scale)


def _draw_lane(picture: Image.Image, window: Window, stretches: list[Stretch], zones: Zones | None) -> None:
    draw = pen(picture)
    for stretch in stretches:
        for side in (-1, 1):
            posts = np.hstack([stretch.edge(side * metres, window.scale)[stretch.posts] for metres in (1.85, 2.4)])
            for post in (posts * FINE).tolist():
                draw.line(post, fill=colors.POST, width=FINE)
        draw.polygon(_fine(stretch.outline(WIDTH / 2 + 0.2, window.scale)), fill=colors.MARKING)
    outlines = [_fine(stretch.outline(WIDTH / 2, window.scale)) for stretch in stretches]
    heights = [y for outline in outlines for _, y in outline]
    top = max(0, int(min(heights, default=0)))
    rows = min(picture.height, int(max(heights, default=0)) + 1) - top
    if rows > 0:  # only the rows that the lane passes: most of a picture is ground
        mask = Image.new("L", (picture.width, rows))
        for outline in outlines:
            pen(mask).polygon([(x, y - top) for x, y in outline], fill=255)
        picture.paste(_zoned(window, mask.size, top, zones), (0, top), mask)


def _zoned(window: Window, size: tuple[int, int], top: int, zones: Zones | None) -> Image.Image:
    """Return asphalt, tinted by how far from the ego's front it lies ahead of it; it begins at the row `top`."""
    ground = Image.new("RGB", size, colors.ASPHALT)
    if zones is None:
        return ground
    draw = pen(ground)
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
    start, end = gap_line(window, behind, ahead) * FINE
    along = (end - start) / max(hypot(*(end - start)), 1e-9)
    tick = np.array([-along[1], along[0]]) * 4 * FINE
    for line in ((start, end), (start - tick, start + tick), (end - tick, end + tick)):
        draw.line([tuple(point.tolist()) for point in line], fill=colors.FAINT, width=FINE)


def _draw_car(draw: Pen, window: Window, car: CarState, color: str) -> None:
    glow, body, *panes, left, right = _placed(window, car)
    braking = car.acceleration <= BRAKING
    if braking:
        draw.polygon(glow, fill=colors.GLOW)
    draw.polygon(body, fill=color, outline=colors.GLASS, width=FINE)
    for pane in panes:
        draw.polygon(pane, fill=colors.GLASS)
    for lamp in (left, right):
        draw.polygon(lamp, fill=colors.BRAKE_LIGHT if braking else colors.REAR_LIGHT)


def _placed(window: Window, car: CarState) -> list[Corners]:
    """Return the corners of each part of a car, in fine pixels."""
    turn = radians(car.heading)
    behind, right = _CORNERS
    x = car.x - behind * sin(turn) + right * cos(turn)
    y = car.y - behind * cos(turn) - right * sin(turn)
    points = _fine(corners(window.pixels(np.stack([x, y], axis=1))))
    return [points[start:end] for start, end in pairwise(_STARTS)]


def _fine(points: Corners) -> Corners:
    return [(x * FINE, y * FINE) for x, y in points]
