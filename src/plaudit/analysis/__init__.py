"""Analysis: what really happened under a reward, what earned it, what is different between two, and how far apart."""

from plaudit.analysis.audit import Thresholds, audit
from plaudit.analysis.branches import nearest_branches
from plaudit.analysis.compare import compare
from plaudit.analysis.comparison import Comparison, Estimate, Measure
from plaudit.analysis.definitions import DefinitionChanges
from plaudit.analysis.diff import Diff, diff
from plaudit.analysis.effect import Effect
from plaudit.analysis.step_branches import Condition, NearestBranch, StepBranches, TermBranches

__all__ = [
    "Comparison",
    "Condition",
    "DefinitionChanges",
    "Diff",
    "Effect",
    "Estimate",
    "Measure",
    "NearestBranch",
    "StepBranches",
    "TermBranches",
    "Thresholds",
    "audit",
    "compare",
    "diff",
    "nearest_branches",
]
