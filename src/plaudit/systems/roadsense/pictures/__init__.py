"""Pictures of a drive for people: a view from above, a film of it, and a chart of the whole episode.

The view and the film are drawn with Pillow, the chart with matplotlib; they are imported when they are asked for. The
page's picture of a recorded step is text, and needs neither.
"""

import importlib
import typing

from plaudit.systems.roadsense.pictures.frame import ZONES, Frame, Zones, find_zones

if typing.TYPE_CHECKING:
    from plaudit.systems.roadsense.pictures.strip_chart import save_strip_chart
    from plaudit.systems.roadsense.pictures.top_view import draw_top_view, save_film

__all__ = ["ZONES", "Frame", "Zones", "draw_top_view", "find_zones", "save_film", "save_strip_chart"]

_DRAWN = {"draw_top_view": "top_view", "save_film": "top_view", "save_strip_chart": "strip_chart"}


def __getattr__(name: str) -> typing.Any:
    if name not in _DRAWN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_DRAWN[name]}"), name)
