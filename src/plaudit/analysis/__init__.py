"""Analysis: what happened under a reward, what earned it, what earns most, and how versions differ."""

from plaudit.analysis.audit import Thresholds, audit
from plaudit.analysis.compare.compare import compare
from plaudit.analysis.compare.comparison import Comparison, Estimate, Measure
from plaudit.analysis.diff.definitions import DefinitionChanges
from plaudit.analysis.diff.diff import Diff, diff
from plaudit.analysis.diff.effect import Effect
from plaudit.analysis.explain.attribution import Attribution, EpisodeBin, TermShare, attribute
from plaudit.analysis.explain.branches import nearest_branches
from plaudit.analysis.explain.episode_gap import EpisodeGap, StepGap, TermGap, compare_episodes
from plaudit.analysis.explain.step_branches import NearestBranch, StepBranches, TermBranches
from plaudit.analysis.explain.sweep import Sweep, sweep
from plaudit.analysis.probe import PolicyOutcome, Probe, probe
from plaudit.analysis.transitions import Transitions
from plaudit.checks.branches import Condition

__all__ = [
    "Attribution",
    "Comparison",
    "Condition",
    "DefinitionChanges",
    "Diff",
    "Effect",
    "EpisodeBin",
    "EpisodeGap",
    "Estimate",
    "Measure",
    "NearestBranch",
    "PolicyOutcome",
    "Probe",
    "StepBranches",
    "StepGap",
    "Sweep",
    "TermBranches",
    "TermGap",
    "TermShare",
    "Thresholds",
    "Transitions",
    "attribute",
    "audit",
    "compare",
    "compare_episodes",
    "diff",
    "nearest_branches",
    "probe",
    "sweep",
]
