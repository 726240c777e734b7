"""Pictures of a drive for people: a view from above, a film of it, and a chart of the whole episode.

The view and the film are drawn with Pillow; the chart is drawn with matplotlib, which is imported when it is.
"""

from plaudit.systems.roadsense.pictures.frame import ZONES, Frame, Zones, find_zones
from plaudit.systems.roadsense.pictures.strip_chart import save_strip_chart
from plaudit.systems.roadsense.pictures.top_view import draw_top_view, save_film

__all__ = ["ZONES", "Frame", "Zones", "draw_top_view", "find_zones", "save_film", "save_strip_chart"]
