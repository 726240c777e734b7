"""The step reward of a runtime of several agents that switches between topologies, and its controller."""

from plaudit.systems.apex.artifacts import Artifacts, read_decisions, read_latencies, read_rewards
from plaudit.systems.apex.budget import Denial, TokenBudget, TokenMeter, Usage
from plaudit.systems.apex.chooser import Chooser
from plaudit.systems.apex.controller import Controller
from plaudit.systems.apex.features import FEATURES, FeatureSource
from plaudit.systems.apex.junit import Failure, PytestRun
from plaudit.systems.apex.log_reward import logged
from plaudit.systems.apex.phase_guess import PhaseGuess, guess_phase
from plaudit.systems.apex.phases import (
    ALIASES,
    PHASES,
    ROLES,
    PhaseCounts,
    count_phases,
    detect_phase_advance,
    detect_role_transition,
    dominant_role,
    furthest_phases,
)
from plaudit.systems.apex.probes import PytestProbe
from plaudit.systems.apex.recorded import Imported, export_artifacts, import_artifacts
from plaudit.systems.apex.records import all_tests_pass, reward_rows, write_rewards
from plaudit.systems.apex.reward import DETECTORS, VERSIONS, RewardAccumulator, reward, version
from plaudit.systems.apex.rows import DecisionRow, LatencyRow, RewardRow, Switch
from plaudit.systems.apex.scenario import episode, scenario
from plaudit.systems.apex.switching import Coordinator, Message, Router, SwitchEngine, SwitchResult
from plaudit.systems.apex.values import ACTIONS

__all__ = [
    "ACTIONS",
    "ALIASES",
    "DETECTORS",
    "FEATURES",
    "PHASES",
    "ROLES",
    "VERSIONS",
    "Artifacts",
    "Chooser",
    "Controller",
    "Coordinator",
    "DecisionRow",
    "Denial",
    "Failure",
    "FeatureSource",
    "Imported",
    "LatencyRow",
    "Message",
    "PhaseCounts",
    "PhaseGuess",
    "PytestProbe",
    "PytestRun",
    "RewardAccumulator",
    "RewardRow",
    "Router",
    "Switch",
    "SwitchEngine",
    "SwitchResult",
    "TokenBudget",
    "TokenMeter",
    "Usage",
    "all_tests_pass",
    "count_phases",
    "detect_phase_advance",
    "detect_role_transition",
    "dominant_role",
    "episode",
    "export_artifacts",
    "furthest_phases",
    "guess_phase",
    "import_artifacts",
    "logged",
    "read_decisions",
    "read_latencies",
    "read_rewards",
    "reward",
    "reward_rows",
    "scenario",
    "version",
    "write_rewards",
]
