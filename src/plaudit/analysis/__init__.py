"""Analysis: what really happened under a reward, what is different between two, and how far apart rewards are."""

from plaudit.analysis.audit import Thresholds, audit
from plaudit.analysis.compare import compare
from plaudit.analysis.comparison import Comparison, Estimate, Measure
from plaudit.analysis.definitions import DefinitionChanges
from plaudit.analysis.diff import Diff, diff
from plaudit.analysis.effect import Effect

__all__ = [
    "Comparison",
    "DefinitionChanges",
    "Diff",
    "Effect",
    "Estimate",
    "Measure",
    "Thresholds",
    "audit",
    "compare",
    "diff",
]
