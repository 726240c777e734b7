"""Preferences: the knobs and weights of a reward, fitted to what people preferred."""

from plaudit.learn.preferences.choices import Steps
from plaudit.learn.preferences.fit import Estimate, Fitted, fit_preferences

__all__ = ["Estimate", "Fitted", "Steps", "fit_preferences"]
