"""A car ahead that brakes: what may happen in an episode, and letting it happen."""

from plaudit.systems.roadsense.hazard.injector import HazardInjector
from plaudit.systems.roadsense.hazard.kinds import HAZARDS, Hazard, hazard_named
from plaudit.systems.roadsense.hazard.told import told

__all__ = ["HAZARDS", "Hazard", "HazardInjector", "hazard_named", "told"]
