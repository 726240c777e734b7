"""Analysis: how far apart rewards are."""

from plaudit.analysis.compare import compare
from plaudit.analysis.comparison import Comparison, Estimate, Measure

__all__ = ["Comparison", "Estimate", "Measure", "compare"]
