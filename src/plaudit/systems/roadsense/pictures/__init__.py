"""Pictures of a drive for people: a view from above, a film of it, and a chart of the whole episode.

The view and the film are drawn with Pillow; the chart is drawn with matplotlib, which is imported when it is.
"""

from plaudit.systems.roadsense.pictures.film import film
from plaudit.systems.roadsense.pictures.frame import Frame
from plaudit.systems.roadsense.pictures.strip_chart import strip_chart
from plaudit.systems.roadsense.pictures.top_view import top_view
from plaudit.systems.roadsense.pictures.zones import ZONES, Zones, zones_of

__all__ = ["ZONES", "Frame", "Zones", "film", "strip_chart", "top_view", "zones_of"]
