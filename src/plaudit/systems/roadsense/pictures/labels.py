"""What is written beside the road: names, the hazard, who is heard, the gap and the zones."""

from math import hypot

import numpy as np

from plaudit.systems.roadsense.pictures import colors
from plaudit.systems.roadsense.pictures.frame import Frame
from plaudit.systems.roadsense.pictures.lane import WIDTH, Stretch, crossing
from plaudit.systems.roadsense.pictures.pillow import Image, Pen, pen, width_of, write
from plaudit.systems.roadsense.pictures.scene import LENGTH, gap_line
from plaudit.systems.roadsense.pictures.window import Window
from plaudit.systems.roadsense.pictures.zones import Zones
from plaudit.systems.roadsense.world import CarState

SMALL, NAME = 12, 13
_SIGN = 21

_LEGEND = (("collision", colors.COLLISION_LANE), ("unsafe", colors.UNSAFE_LANE), ("safe", colors.SAFE_LANE))


def draw_labels(
    picture: Image.Image,
    frame: Frame,
    window: Window,
    lane: list[Stretch],
    *,
    ego: str,
    zones: Zones | None,
    gap: tuple[CarState, CarState] | None,
) -> None:
    """Write beside the road of a scene."""
    draw = pen(picture)
    if zones is not None:
        _draw_legend(draw, window)
        for stretch in lane:
            _label_zones(draw, window, stretch, zones)
    outside = []
    for name, car in frame.cars.items():
        x, y = window.pixels(np.array([[car.x, car.y]]))[0].tolist()
        if window.shows((x, y)):
            _label_car(draw, window, frame, name, car)
        elif name != ego:
            outside.append((name, car))
    for row, (name, car) in enumerate(outside):
        _point_to(draw, window, name, car, row)
    if gap is not None:
        _label_gap(draw, window, *gap)


def _label_zones(draw: Pen, window: Window, stretch: Stretch, zones: tuple[float, ...]) -> None:
    for metres in zones:
        found = crossing(stretch, metres, window)
        if found is not None:
            x, y = found[0] + found[1] * (WIDTH / 2 * window.scale + 11)
            write(draw, (x, y), f"{metres:g}", size=SMALL, color=colors.FAINT, anchor="mm")


def _label_gap(draw: Pen, window: Window, behind: CarState, ahead: CarState) -> None:
    start, end = gap_line(window, behind, ahead)
    length = hypot(*(end - start))
    along = (end - start) / max(length, 1e-9)
    seen = min(length, 0.8 * window.width)
    x, y = start + along * seen / 2 + np.array([-along[1], along[0]]) * 11
    metres = hypot(ahead.x - behind.x, ahead.y - behind.y)
    write(draw, (x, y), f"{metres:.1f} m", size=NAME, color=colors.INK, anchor="mm")


def _label_car(draw: Pen, window: Window, frame: Frame, name: str, car: CarState) -> None:
    turn = np.radians(car.heading)
    middle = np.array([[car.x - LENGTH / 2 * np.sin(turn), car.y - LENGTH / 2 * np.cos(turn)]])
    x, y = window.pixels(middle)[0].tolist()
    y = max(y - WIDTH / 2 * window.scale - 9, 14.0)
    write(draw, (x, y), name, size=NAME, color=colors.INK, anchor="ms")
    if name in frame.heard:
        _draw_waves(draw, x + width_of(name, size=NAME) / 2 + 4, y - 4)
    if name == frame.hazard:
        room = y - 15 > _SIGN
        _draw_warning(draw, *((x, y - 15) if room else (x - width_of(name, size=NAME) / 2 - 16, y + 3)))


def _point_to(draw: Pen, window: Window, name: str, car: CarState, row: int) -> None:
    """Say at the edge that a car is outside, and how far away."""
    ahead = window.ahead(car) > 0
    x, y = (window.width - 12, 20 + 16 * row) if ahead else (12, 20 + 16 * row)
    text = f"{name}  {hypot(car.x - window.x, car.y - window.y):.0f} m"
    write(draw, (x - 8 if ahead else x + 8, y), text, size=NAME, color=colors.INK, anchor="rs" if ahead else "ls")
    tip = 6 if ahead else -6
    draw.polygon(((x, y - 9), (x + tip, y - 5), (x, y - 1)), fill=colors.INK)


def _draw_legend(draw: Pen, window: Window) -> None:
    """Name the zones in the corner behind the ego, where the road seldom leads."""
    x, y = 14.0, window.height - 10
    for word, color in _LEGEND:
        draw.rectangle((x, y - 5, x + 10, y + 5), fill=color)
        write(draw, (x + 15, y), word, size=SMALL, color=colors.FAINT, anchor="lm")
        x += width_of(word, size=SMALL) + 28


def _draw_waves(draw: Pen, x: float, y: float) -> None:
    """Draw the sign of a radio that is heard."""
    draw.ellipse((x - 1.5, y - 1.5, x + 1.5, y + 1.5), fill=colors.HEARD)
    for radius in (5, 9):
        draw.arc((x - radius, y - radius, x + radius, y + radius), -50, 50, fill=colors.HEARD, width=2)


def _draw_warning(draw: Pen, x: float, y: float) -> None:
    """Draw a warning triangle that stands on a point."""
    draw.polygon(((x - 12, y), (x + 12, y), (x, y - _SIGN)), fill=colors.HAZARD)
    write(draw, (x, y - 3), "!", size=15, color=colors.PAPER, anchor="ms")
