"""Analysis: what is different between two versions of a reward, what that did, and how far apart rewards are."""

from plaudit.analysis.compare import compare
from plaudit.analysis.comparison import Comparison, Estimate, Measure
from plaudit.analysis.definitions import DefinitionChanges
from plaudit.analysis.diff import Diff, diff
from plaudit.analysis.effect import Effect
from plaudit.analysis.sweep import Sweep, sweep

__all__ = [
    "Comparison",
    "DefinitionChanges",
    "Diff",
    "Effect",
    "Estimate",
    "Measure",
    "Sweep",
    "compare",
    "diff",
    "sweep",
]
