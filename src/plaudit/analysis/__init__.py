"""Analysis: how rewards and their versions differ, what that did to recorded steps, what earns most and where."""

from plaudit.analysis.compare import compare
from plaudit.analysis.comparison import Comparison, Estimate, Measure
from plaudit.analysis.definitions import DefinitionChanges
from plaudit.analysis.diff import Diff, diff
from plaudit.analysis.effect import Effect
from plaudit.analysis.probe import probe
from plaudit.analysis.probe_result import PolicyOutcome, Probe

__all__ = [
    "Comparison",
    "DefinitionChanges",
    "Diff",
    "Effect",
    "Estimate",
    "Measure",
    "PolicyOutcome",
    "Probe",
    "compare",
    "diff",
    "probe",
]
