"""A drive from above: one step as an array of pixels, many as a GIF."""

import operator
from collections.abc import Sequence
from math import hypot
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import DefinitionError, MissingField
from plaudit.systems.roadsense.pictures import colors
from plaudit.systems.roadsense.pictures.frame import ZONES, Frame, Zones
from plaudit.systems.roadsense.pictures.labels import (
    GAUGE_HEIGHT,
    build_measure_gauges,
    build_reward_gauges,
    draw_gauges,
    draw_labels,
)
from plaudit.systems.roadsense.pictures.picture_file import PicturePath, validate_kind, write_picture
from plaudit.systems.roadsense.pictures.pillow import Image, make_pen
from plaudit.systems.roadsense.pictures.scene import draw_scene, find_lane_parts, guess_road, to_points
from plaudit.systems.roadsense.pictures.window import Window
from plaudit.systems.roadsense.world import EGO, CarState

SMALLEST = (480, 200)
"""Minimum size in pixels; text would be illegible below it."""
COLORS = 64
"""How many colours a film has: few make a small file."""
_SAMPLES = 12
_LAST = 1500
"""Milliseconds for which the last picture stays, before the film starts again."""
_FASTEST = 50
"""A GIF counts in hundredths of a second, and most programs show none that last only one."""


def draw_top_view(
    frame: Frame,
    *,
    ego: str = EGO,
    road: Sequence[tuple[float, float]] = (),
    size: tuple[int, int] = (960, 240),
    zones: Zones | None = ZONES,
    span: float = 120.0,
) -> NDArray[np.uint8]:
    """Return a picture (height, width, 3) of a step: the road around the ego, its measures, and what each term paid.

    The window follows the ego, which drives to the right, and is `span` meters wide. `road` is the middle of the
    lane; without one, the lane is drawn through the cars. The lane is tinted in the zones of the reward.
    """
    return np.asarray(draw_picture(frame, ego=ego, road=road, size=size, zones=zones, span=span)).copy()


def draw_picture(
    frame: Frame,
    *,
    ego: str,
    road: Sequence[tuple[float, float]],
    size: tuple[int, int],
    zones: Zones | None,
    span: float,
) -> Image.Image:
    """Return the picture of a step as an image of Pillow."""
    width, height = _validate_size(size, span)
    own = _find_followed(frame, ego)
    others = [car for name, car in frame.cars.items() if name != ego]
    window = Window.follow(own, width, height - 2 * GAUGE_HEIGHT, span, others=others)
    shape = to_points(road) if len(road) > 1 else guess_road(frame.cars, own, window)
    lane = find_lane_parts(shape, window)
    gap = _find_gap(own, others, window)

    picture = draw_scene(window, lane, frame.cars, ego=ego, zones=zones, gap=gap)
    draw_labels(picture, frame, window, lane, ego=ego, zones=zones, gap=gap)
    whole = Image.new("RGB", (width, height), colors.PAPER)
    whole.paste(picture, (0, GAUGE_HEIGHT))
    draw = make_pen(whole)
    draw_gauges(draw, build_measure_gauges(frame), top=0, width=width)
    draw_gauges(draw, build_reward_gauges(frame), top=height - GAUGE_HEIGHT, width=width)
    return whole


def _validate_size(size: tuple[int, int], span: float) -> tuple[int, int]:
    width, height = map(operator.index, size)
    if width < SMALLEST[0] or height < SMALLEST[1]:
        raise DefinitionError(f"size={size!r} is too small to be read: at least {SMALLEST[0]} × {SMALLEST[1]} pixels")
    if not 10 <= span <= 1000:
        raise DefinitionError(f"span={span!r} must be between 10 and 1000 meters")
    return width, height


def _find_followed(frame: Frame, ego: str) -> CarState:
    try:
        return frame.cars[ego]
    except KeyError:
        found = ", ".join(frame.cars) or "none"
        raise MissingField(f"step {frame.step}: there is no car {ego!r} to follow; on the road: {found}") from None


def _find_gap(own: CarState, others: list[CarState], window: Window) -> tuple[CarState, CarState] | None:
    ahead = [car for car in others if window.measure_ahead(car) > 0]
    nearest = min(ahead, key=lambda car: hypot(car.x - own.x, car.y - own.y), default=None)
    return None if nearest is None else (own, nearest)


def save_film(
    frames: Sequence[Frame],
    path: PicturePath,
    *,
    fps: int = 10,
    every: int = 2,
    ego: str = EGO,
    road: Sequence[tuple[float, float]] = (),
    size: tuple[int, int] = (960, 240),
    zones: Zones | None = ZONES,
    span: float = 120.0,
) -> None:
    """Write a GIF of every `every`-th step, `fps` of them a second: at 10 and 2, a drive at twice its speed.

    The rest are the options of `draw_top_view`. The same frames give the same bytes.
    """
    validate_kind(path, ["gif"], what="a film")
    _validate_frames(frames, fps, every)
    pictures = [
        draw_picture(frame, ego=ego, road=road, size=size, zones=zones, span=span) for frame in frames[:: int(every)]
    ]
    palette = _build_palette(pictures)
    reduced = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    durations = [round(100 / fps) * 10] * (len(reduced) - 1) + [_LAST]

    def write(file: BinaryIO) -> None:
        reduced[0].save(
            file, format="GIF", save_all=True, append_images=reduced[1:], duration=durations, loop=0, optimize=True
        )

    write_picture(path, write)


def _validate_frames(frames: Sequence[Frame], fps: int, every: int) -> None:
    if not frames:
        raise DefinitionError("a film needs at least one frame, and there are none")
    if not 1 <= fps <= _FASTEST:
        raise DefinitionError(f"fps={fps!r} must be from 1 to {_FASTEST}")
    if every % 1 or every < 1:
        raise DefinitionError(f"every={every!r} must be an integer of at least 1")


def _build_palette(pictures: Sequence[Image.Image]) -> Image.Image:
    """Return the colours of a film: those that things are drawn in, and the commonest shades at their edges."""
    chosen = pictures[:: -(-len(pictures) // _SAMPLES)]
    width, height = chosen[0].size
    sheet = Image.new("RGB", (width, height * len(chosen)))
    for at, picture in enumerate(chosen):
        sheet.paste(picture, (0, at * height))
    drawn_in = bytes.fromhex("".join(color.removeprefix("#") for color in colors.DRAWN))
    shades = sheet.quantize(COLORS - len(colors.DRAWN), method=Image.Quantize.MEDIANCUT).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*drawn_in, *shades])
    return palette
