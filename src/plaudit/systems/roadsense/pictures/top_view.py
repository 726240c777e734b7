"""One step from above, as an array of pixels."""

import operator
from collections.abc import Sequence
from math import hypot

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import DefinitionError, MissingField
from plaudit.systems.roadsense.pictures import colors
from plaudit.systems.roadsense.pictures.frame import Frame
from plaudit.systems.roadsense.pictures.gauges import HEIGHT as GAUGES
from plaudit.systems.roadsense.pictures.gauges import draw_row, earnings, measures
from plaudit.systems.roadsense.pictures.labels import draw_labels
from plaudit.systems.roadsense.pictures.lane import polyline, road_through, stretches
from plaudit.systems.roadsense.pictures.pillow import Image, pen
from plaudit.systems.roadsense.pictures.scene import scene
from plaudit.systems.roadsense.pictures.window import Window
from plaudit.systems.roadsense.pictures.zones import ZONES, Zones
from plaudit.systems.roadsense.world import EGO, CarState

SMALLEST = (480, 200)


def top_view(
    frame: Frame,
    *,
    ego: str = EGO,
    road: Sequence[tuple[float, float]] = (),
    size: tuple[int, int] = (960, 240),
    zones: Zones | None = ZONES,
    span: float = 120.0,
) -> NDArray[np.uint8]:
    """Return a picture (height, width, 3) of a step: the road around the ego, its measures, and what each term paid.

    The window follows the ego, which drives to the right, and is `span` metres wide. `road` is the middle of the
    lane; without one, the lane is drawn through the cars. The lane is tinted in the zones of the reward.
    """
    return np.asarray(drawn(frame, ego=ego, road=road, size=size, zones=zones, span=span)).copy()


def drawn(
    frame: Frame,
    *,
    ego: str,
    road: Sequence[tuple[float, float]],
    size: tuple[int, int],
    zones: Zones | None,
    span: float,
) -> Image.Image:
    """Return the picture of a step, for those who have Pillow."""
    width, height = _checked(size, span)
    own = _followed(frame, ego)
    others = [car for name, car in frame.cars.items() if name != ego]
    window = Window.following(own, width, height - 2 * GAUGES, span, others=others)
    shape = polyline(road) if len(road) > 1 else road_through(frame.cars, own, window)
    lane = stretches(shape, window)
    gap = _gap(own, others, window)

    picture = scene(window, lane, frame.cars, ego=ego, zones=zones, gap=gap)
    draw_labels(picture, frame, window, lane, ego=ego, zones=zones, gap=gap)
    whole = Image.new("RGB", (width, height), colors.PAPER)
    whole.paste(picture, (0, GAUGES))
    draw = pen(whole)
    draw_row(draw, measures(frame), top=0, width=width)
    draw_row(draw, earnings(frame), top=height - GAUGES, width=width)
    return whole


def _checked(size: tuple[int, int], span: float) -> tuple[int, int]:
    width, height = map(operator.index, size)
    if width < SMALLEST[0] or height < SMALLEST[1]:
        raise DefinitionError(f"size={size!r} is too small to be read: at least {SMALLEST[0]} × {SMALLEST[1]} pixels")
    if not 10 <= span <= 1000:
        raise DefinitionError(f"span={span!r} must be between 10 and 1000 metres")
    return width, height


def _followed(frame: Frame, ego: str) -> CarState:
    try:
        return frame.cars[ego]
    except KeyError:
        found = ", ".join(frame.cars) or "none"
        raise MissingField(f"step {frame.step}: there is no car {ego!r} to follow; on the road: {found}") from None


def _gap(own: CarState, others: list[CarState], window: Window) -> tuple[CarState, CarState] | None:
    """Return the ego and the nearest car ahead of it."""
    ahead = [car for car in others if window.ahead(car) > 0]
    nearest = min(ahead, key=lambda car: hypot(car.x - own.x, car.y - own.y), default=None)
    return None if nearest is None else (own, nearest)
