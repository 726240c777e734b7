"""The loop over missions that never happened: it learns which model is good at what, and a report says how well."""

from plaudit.systems.deepthinker.simulated.report import Report, build_report
from plaudit.systems.deepthinker.simulated.run import simulate, validate_store
from plaudit.systems.deepthinker.simulated.world import World

__all__ = ["Report", "World", "build_report", "simulate", "validate_store"]
