"""The loop over missions that never happened: it learns which model is good at what, and a report says how well."""

from plaudit.systems.deepthinker.simulated.report import Report, reported
from plaudit.systems.deepthinker.simulated.run import check_one_run, simulate
from plaudit.systems.deepthinker.simulated.world import World

__all__ = ["Report", "World", "check_one_run", "reported", "simulate"]
