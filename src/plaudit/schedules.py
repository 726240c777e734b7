"""Schedules: numbers that follow a counter of steps, such as a weight that grows while an agent trains."""

from plaudit.language.schedule import Schedule, cosine, exponential, linear, piecewise

__all__ = ["Schedule", "cosine", "exponential", "linear", "piecewise"]
