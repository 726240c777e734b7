"""Analysis: how far apart rewards are, what is different between two versions, and what earned a reward."""

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
    "compare",
    "diff",
    "nearest_branches",
]
