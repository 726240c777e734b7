"""Analysis: audit, attribute, compare, diff, observe, probe and sweep rewards."""

import sys
import typing
from importlib import import_module
from types import ModuleType

if typing.TYPE_CHECKING:
    from plaudit.analysis.audit.audit import audit
    from plaudit.analysis.audit.context import Thresholds
    from plaudit.analysis.check_in_environment import EnvironmentCheck, check_in_environment
    from plaudit.analysis.compare.compare import compare
    from plaudit.analysis.compare.comparison import Comparison, Estimate, Measure
    from plaudit.analysis.compare.transitions import Transitions
    from plaudit.analysis.diff.definitions import DefinitionChanges
    from plaudit.analysis.diff.diff import Diff, diff
    from plaudit.analysis.diff.effect import Effect
    from plaudit.analysis.explain.attribution import Attribution, EpisodeBin, TermShare, attribute
    from plaudit.analysis.explain.branches import nearest_branches
    from plaudit.analysis.explain.episode_gap import EpisodeGap, StepGap, TermGap, compare_episodes
    from plaudit.analysis.explain.step_branches import NearestBranch, StepBranches, TermBranches
    from plaudit.analysis.explain.sweep import Sweep, sweep
    from plaudit.analysis.observe.observe import Observation, observe, observe_file, observe_ledger
    from plaudit.analysis.probe.probe import probe
    from plaudit.analysis.probe.result import PolicyOutcome, Probe
    from plaudit.checks.branches import Condition

__all__ = [
    "Attribution",
    "Comparison",
    "Condition",
    "DefinitionChanges",
    "Diff",
    "Effect",
    "EnvironmentCheck",
    "EpisodeBin",
    "EpisodeGap",
    "Estimate",
    "Measure",
    "NearestBranch",
    "Observation",
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
    "check_in_environment",
    "compare",
    "compare_episodes",
    "diff",
    "nearest_branches",
    "observe",
    "observe_file",
    "observe_ledger",
    "probe",
    "sweep",
]

_HOMES = {
    "audit.audit": "audit",
    "audit.context": "Thresholds",
    "check_in_environment": "EnvironmentCheck check_in_environment",
    "compare.compare": "compare",
    "compare.comparison": "Comparison Estimate Measure",
    "diff.definitions": "DefinitionChanges",
    "diff.diff": "Diff diff",
    "diff.effect": "Effect",
    "explain.attribution": "Attribution EpisodeBin TermShare attribute",
    "explain.branches": "nearest_branches",
    "explain.episode_gap": "EpisodeGap StepGap TermGap compare_episodes",
    "explain.step_branches": "Condition NearestBranch StepBranches TermBranches",
    "explain.sweep": "Sweep sweep",
    "observe.observe": "Observation observe observe_file observe_ledger",
    "probe.probe": "probe",
    "probe.result": "PolicyOutcome Probe",
    "compare.transitions": "Transitions",
}
"""Where the public names are; each module is imported when one of its names is first asked for."""


class _Analysis(ModuleType):
    """Loads what is asked for, and no more; `diff` is the function, though a folder has the same name."""

    def __getattr__(self, name: str) -> object:
        for module, names in _HOMES.items():
            if name in names.split():
                vars(self)[name] = getattr(import_module(f"{__name__}.{module}"), name)
                return vars(self)[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return [*__all__, *vars(self)]

    def __setattr__(self, name: str, value: object) -> None:
        if name not in __all__ or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Analysis
