"""A drive as a GIF of views from above."""

from collections.abc import Sequence
from typing import BinaryIO

from plaudit.errors import DefinitionError
from plaudit.systems.roadsense.pictures import colors
from plaudit.systems.roadsense.pictures.frame import Frame
from plaudit.systems.roadsense.pictures.picture_file import Place, kind_of, save
from plaudit.systems.roadsense.pictures.pillow import Image
from plaudit.systems.roadsense.pictures.top_view import drawn
from plaudit.systems.roadsense.pictures.zones import ZONES, Zones
from plaudit.systems.roadsense.world import EGO

COLORS = 64
"""How many colours a film has: few make a small file."""
_SAMPLES = 12
_LAST = 1500
"""Milliseconds for which the last picture stays, before the film begins anew."""
_FASTEST = 50
"""A GIF counts in hundredths of a second, and most programs show none that last only one."""


def film(
    frames: Sequence[Frame],
    path: Place,
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

    The rest are the options of `top_view`. The same frames give the same bytes.
    """
    kind_of(path, ["gif"], what="a film")
    _check(frames, fps, every)
    pictures = [drawn(frame, ego=ego, road=road, size=size, zones=zones, span=span) for frame in frames[:: int(every)]]
    palette = _palette(pictures)
    reduced = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    durations = [round(100 / fps) * 10] * (len(reduced) - 1) + [_LAST]

    def write(file: BinaryIO) -> None:
        reduced[0].save(
            file, format="GIF", save_all=True, append_images=reduced[1:], duration=durations, loop=0, optimize=True
        )

    save(path, write)


def _check(frames: Sequence[Frame], fps: int, every: int) -> None:
    if not frames:
        raise DefinitionError("a film needs at least one frame, and there are none")
    if not 1 <= fps <= _FASTEST:
        raise DefinitionError(f"fps={fps!r} must be from 1 to {_FASTEST}")
    if every % 1 or every < 1:
        raise DefinitionError(f"every={every!r} must be a whole number of at least 1")


def _palette(pictures: Sequence[Image.Image]) -> Image.Image:
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
