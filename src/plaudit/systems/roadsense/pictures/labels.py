"""What is written on a view from above: labels beside the road, and rows of gauges above and below it."""

from collections.abc import Sequence
from functools import cache
from math import hypot, isinf, log1p
from typing import NamedTuple

import numpy as np

from plaudit.systems.roadsense.pictures import colors
from plaudit.systems.roadsense.pictures.frame import Frame, Zones
from plaudit.systems.roadsense.pictures.pillow import Image, Pen, make_pen, measure_width, write_text
from plaudit.systems.roadsense.pictures.scene import CAR_LENGTH, LANE_WIDTH, LanePart, find_crossing, find_gap_line
from plaudit.systems.roadsense.pictures.window import Window
from plaudit.systems.roadsense.world import CarState

SMALL, NAME = 12, 13
CAPTION, FIGURE = 12, 18
"""Sizes of text: at zones and in the legend, of cars, of a gauge."""
GAUGE_HEIGHT = 50
"""Pixels of a row of gauges."""
_SIGN = 21
_MARGIN, _BAR = 14, 4
_LEGEND = (("collision", colors.COLLISION_LANE), ("unsafe", colors.UNSAFE_LANE), ("safe", colors.SAFE_LANE))


class Gauge(NamedTuple):
    """A caption, a figure, its colour, and how much of a bar to draw below it (0 to 1)."""

    caption: str
    figure: str
    color: str = colors.INK
    bar: float = 0.0


def draw_labels(
    picture: Image.Image,
    frame: Frame,
    window: Window,
    lane: list[LanePart],
    *,
    ego: str,
    zones: Zones | None,
    gap: tuple[CarState, CarState] | None,
) -> None:
    """Write beside the road of a scene."""
    draw = make_pen(picture)
    if zones is not None:
        _draw_legend(draw, window)
        for part in lane:
            _label_zones(draw, window, part, zones)
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


def _label_zones(draw: Pen, window: Window, part: LanePart, zones: tuple[float, ...]) -> None:
    for metres in zones:
        found = find_crossing(part, metres, window)
        if found is not None:
            x, y = found[0] + found[1] * (LANE_WIDTH / 2 * window.scale + 11)
            write_text(draw, (x, y), f"{metres:g}", size=SMALL, color=colors.FAINT, anchor="mm")


def _label_gap(draw: Pen, window: Window, behind: CarState, ahead: CarState) -> None:
    start, end = find_gap_line(window, behind, ahead)
    length = hypot(*(end - start))
    along = (end - start) / max(length, 1e-9)
    seen = min(length, 0.8 * window.width)
    x, y = start + along * seen / 2 + np.array([-along[1], along[0]]) * 11
    metres = hypot(ahead.x - behind.x, ahead.y - behind.y)
    write_text(draw, (x, y), f"{metres:.1f} m", size=NAME, color=colors.INK, anchor="mm")


def _label_car(draw: Pen, window: Window, frame: Frame, name: str, car: CarState) -> None:
    turn = np.radians(car.heading)
    middle = np.array([[car.x - CAR_LENGTH / 2 * np.sin(turn), car.y - CAR_LENGTH / 2 * np.cos(turn)]])
    x, y = window.pixels(middle)[0].tolist()
    y = max(y - LANE_WIDTH / 2 * window.scale - 9, 14.0)
    write_text(draw, (x, y), name, size=NAME, color=colors.INK, anchor="ms")
    if name in frame.heard:
        _draw_waves(draw, x + measure_width(name, size=NAME) / 2 + 4, y - 4)
    if name == frame.hazard:
        room = y - 15 > _SIGN
        _draw_warning(draw, *((x, y - 15) if room else (x - measure_width(name, size=NAME) / 2 - 16, y + 3)))


def _point_to(draw: Pen, window: Window, name: str, car: CarState, row: int) -> None:
    """Say at the edge that a car is outside, and how far away."""
    ahead = window.measure_ahead(car) > 0
    x, y = (window.width - 12, 20 + 16 * row) if ahead else (12, 20 + 16 * row)
    text = f"{name}  {hypot(car.x - window.x, car.y - window.y):.0f} m"
    write_text(draw, (x - 8 if ahead else x + 8, y), text, size=NAME, color=colors.INK, anchor="rs" if ahead else "ls")
    tip = 6 if ahead else -6
    draw.polygon(((x, y - 9), (x + tip, y - 5), (x, y - 1)), fill=colors.INK)


def _draw_legend(draw: Pen, window: Window) -> None:
    """Name the zones in the corner behind the ego, where the road seldom leads."""
    x, y = 14.0, window.height - 10
    for word, color in _LEGEND:
        draw.rectangle((x, y - 5, x + 10, y + 5), fill=color)
        write_text(draw, (x + 15, y), word, size=SMALL, color=colors.FAINT, anchor="lm")
        x += measure_width(word, size=SMALL) + 28


def _draw_waves(draw: Pen, x: float, y: float) -> None:
    draw.ellipse((x - 1.5, y - 1.5, x + 1.5, y + 1.5), fill=colors.HEARD)
    for radius in (5, 9):
        draw.arc((x - radius, y - radius, x + radius, y + radius), -50, 50, fill=colors.HEARD, width=2)


def _draw_warning(draw: Pen, x: float, y: float) -> None:
    draw.polygon(((x - 12, y), (x + 12, y), (x, y - _SIGN)), fill=colors.HAZARD)
    write_text(draw, (x, y - 3), "!", size=15, color=colors.PAPER, anchor="ms")


def build_measure_gauges(frame: Frame) -> list[Gauge]:
    """Return the gauges of a step as the driver has them."""
    measured = frame.measured
    distance = "none" if isinf(measured.distance) else f"{measured.distance:.1f}"
    braking = colors.HAZARD if measured.deceleration > 0.5 else colors.INK
    warned = colors.HAZARD if measured.warned_fading > 0.01 else colors.INK
    return [
        Gauge("step of 0.1 s", f"{frame.step}"),
        Gauge("speed, m/s", f"{measured.ego_speed:.1f}"),
        Gauge("distance, m", distance),
        Gauge("closing, m/s", f"{_drop_tiny(measured.closing_rate):+.1f}"),
        Gauge("braking, m/s²", f"{_drop_tiny(measured.deceleration):.1f}", braking),
        Gauge("warning", f"{measured.warned_fading:.2f}", warned),
    ]


def build_reward_gauges(frame: Frame) -> list[Gauge]:
    """Return the gauges of the total and of each term."""
    return [
        _build_reward_gauge("total", frame.total),
        *(_build_reward_gauge(name, value) for name, value in frame.terms.items()),
    ]


def draw_gauges(draw: Pen, gauges: Sequence[Gauge], *, top: int, width: int) -> None:
    """Draw gauges side by side, from the left margin on, each as wide as it needs or as there is room for."""
    room = (width - 2 * _MARGIN) / len(gauges)
    for at, gauge in enumerate(gauges):
        left = _MARGIN + at * room
        write_text(draw, (left, top + 17), _shorten(gauge.caption, room - 8), size=CAPTION, color=colors.FAINT)
        write_text(draw, (left, top + 37), gauge.figure, size=FIGURE, color=gauge.color)
        if gauge.bar > 0:
            length = max(2.0, gauge.bar * (room - 16))
            draw.rectangle((left, top + 42, left + length, top + 41 + _BAR), fill=gauge.color)


def _build_reward_gauge(name: str, value: float) -> Gauge:
    value = _drop_tiny(value)
    color = colors.INK if value == 0 else colors.GAIN if value > 0 else colors.LOSS
    figure = f"{value:+.2f}" if value else "0"
    return Gauge(name.replace("_", " "), figure, color, min(1.0, log1p(abs(value)) / log1p(100)))


def _drop_tiny(value: float) -> float:
    """Return a number as it will be read: what rounds to nothing has no sign."""
    return value if abs(value) >= 0.005 else 0.0


@cache
def _shorten(text: str, room: float) -> str:
    while len(text) > 1 and measure_width(text, size=CAPTION) > room:
        text = text[:-2].rstrip() + "."
    return text
