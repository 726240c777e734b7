"""Alignment: which correction brings a drifting mission back, and what an event of drift should cost."""

from plaudit.learn.alignment.corrections import ACTIONS, CAPS, Parts, capped, correction
from plaudit.learn.alignment.per_event import PerEvent, fit_per_event

__all__ = ["ACTIONS", "CAPS", "Parts", "PerEvent", "capped", "correction", "fit_per_event"]
