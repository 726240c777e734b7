"""Rows of figures with a caption above each."""

from collections.abc import Sequence
from functools import cache
from math import isinf, log1p
from typing import NamedTuple

from plaudit.systems.roadsense.pictures import colors
from plaudit.systems.roadsense.pictures.frame import Frame
from plaudit.systems.roadsense.pictures.pillow import Pen, width_of, write

CAPTION, FIGURE = 12, 18
HEIGHT = 50
"""Pixels of a row."""
_MARGIN, _BAR = 14, 4


class Gauge(NamedTuple):
    """A caption, a figure, its colour, and how much of a bar to draw below it (0 to 1)."""

    caption: str
    figure: str
    color: str = colors.INK
    bar: float = 0.0


def measures(frame: Frame) -> list[Gauge]:
    """Return the gauges of a step as the driver has them."""
    measured = frame.measured
    distance = "nobody" if isinf(measured.distance) else f"{measured.distance:.1f}"
    braking = colors.HAZARD if measured.deceleration > 0.5 else colors.INK
    warned = colors.HAZARD if measured.warned_fading > 0.01 else colors.INK
    return [
        Gauge("step of 0.1 s", f"{frame.step}"),
        Gauge("speed, m/s", f"{measured.ego_speed:.1f}"),
        Gauge("distance, m", distance),
        Gauge("closing, m/s", f"{_plain(measured.closing_rate):+.1f}"),
        Gauge("braking, m/s²", f"{_plain(measured.deceleration):.1f}", braking),
        Gauge("warning", f"{measured.warned_fading:.2f}", warned),
    ]


def earnings(frame: Frame) -> list[Gauge]:
    """Return the gauges of the total and of each term."""
    return [_earned("total", frame.total), *(_earned(name, value) for name, value in frame.terms.items())]


def draw_row(draw: Pen, gauges: Sequence[Gauge], *, top: int, width: int) -> None:
    """Draw gauges side by side, from the left margin on, each as wide as it needs or as there is room for."""
    room = (width - 2 * _MARGIN) / len(gauges)
    for at, gauge in enumerate(gauges):
        left = _MARGIN + at * room
        write(draw, (left, top + 17), _fitted(gauge.caption, room - 8), size=CAPTION, color=colors.FAINT)
        write(draw, (left, top + 37), gauge.figure, size=FIGURE, color=gauge.color)
        if gauge.bar > 0:
            length = max(2.0, gauge.bar * (room - 16))
            draw.rectangle((left, top + 42, left + length, top + 41 + _BAR), fill=gauge.color)


def _earned(name: str, value: float) -> Gauge:
    value = _plain(value)
    color = colors.INK if value == 0 else colors.GAIN if value > 0 else colors.LOSS
    figure = f"{value:+.2f}" if value else "0"
    return Gauge(name.replace("_", " "), figure, color, min(1.0, log1p(abs(value)) / log1p(100)))


def _plain(value: float) -> float:
    """Return a number as it will be read: what rounds to nothing has no sign."""
    return value if abs(value) >= 0.005 else 0.0


@cache
def _fitted(text: str, room: float) -> str:
    """Return a text that is no wider than there is room."""
    while len(text) > 1 and width_of(text, size=CAPTION) > room:
        text = text[:-2].rstrip() + "."
    return text
