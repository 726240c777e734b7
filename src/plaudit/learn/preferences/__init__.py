"""Fit knobs and weights of a reward to human preferences."""

from plaudit.learn.preferences.choices import Steps
from plaudit.learn.preferences.fit import Fitted, FittedParameter, fit_preferences

__all__ = ["Fitted", "FittedParameter", "Steps", "fit_preferences"]
