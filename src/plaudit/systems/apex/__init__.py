"""The step reward of a runtime of several agents that switches between topologies, and its controller."""

from plaudit.systems.apex.chooser import Chooser
from plaudit.systems.apex.controller import Controller
from plaudit.systems.apex.features import FEATURES, FeatureSource
from plaudit.systems.apex.logs.artifacts import Artifacts, read_decisions, read_latencies, read_rewards
from plaudit.systems.apex.logs.log_reward import logged
from plaudit.systems.apex.logs.recorded import Imported, export_artifacts, import_artifacts
from plaudit.systems.apex.logs.records import all_tests_pass, reward_rows, write_rewards
from plaudit.systems.apex.logs.rows import DecisionRow, LatencyRow, RewardRow, Switch
from plaudit.systems.apex.logs.values import ACTIONS
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
from plaudit.systems.apex.probing.budget import Denial, TokenBudget, TokenMeter, Usage
from plaudit.systems.apex.probing.junit import Failure, PytestRun
from plaudit.systems.apex.probing.phase_guess import PhaseGuess, guess_phase
from plaudit.systems.apex.probing.probes import PytestProbe
from plaudit.systems.apex.reward import DETECTORS, VERSIONS, RewardAccumulator, reward, version
from plaudit.systems.apex.scenario import episode, scenario
from plaudit.systems.apex.switching import Coordinator, Message, Router, SwitchEngine, SwitchResult

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
