"""The step reward of a runtime of several agents that switches between topologies, and its controller."""

from plaudit.systems.apex.budget import Denial, TokenBudget, TokenMeter, Usage
from plaudit.systems.apex.controller import Controller
from plaudit.systems.apex.decision import Chooser
from plaudit.systems.apex.errors import MessageRefused, ProbeTimeout, SwitchInFlight, SwitchNotPrepared
from plaudit.systems.apex.features import FEATURES, FeatureSource
from plaudit.systems.apex.logs.artifacts import (
    Artifacts,
    all_tests_pass,
    build_reward_rows,
    read_decisions,
    read_latencies,
    read_rewards,
    write_rewards,
)
from plaudit.systems.apex.logs.exchange import ImportSummary, export_artifacts, import_artifacts
from plaudit.systems.apex.logs.rewards import logged
from plaudit.systems.apex.logs.rows import DecisionRow, LatencyRow, RewardRow, Switch
from plaudit.systems.apex.phases import (
    ALIASES,
    PHASES,
    ROLES,
    PhaseCounts,
    PhaseGuess,
    count_phases,
    detect_phase_advance,
    detect_role_transition,
    find_dominant_role,
    find_furthest_phases,
    guess_phase,
)
from plaudit.systems.apex.pytest_probe import PytestProbe
from plaudit.systems.apex.pytest_results import Failure, PytestRun
from plaudit.systems.apex.reward import DETECTORS, VERSIONS, RewardAccumulator, episode, reward, scenario, version
from plaudit.systems.apex.runtime import Switchable
from plaudit.systems.apex.switching import ACTIONS, Coordinator, Message, Router, SwitchEngine, SwitchResult

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
    "ImportSummary",
    "LatencyRow",
    "Message",
    "MessageRefused",
    "PhaseCounts",
    "PhaseGuess",
    "ProbeTimeout",
    "PytestProbe",
    "PytestRun",
    "RewardAccumulator",
    "RewardRow",
    "Router",
    "Switch",
    "SwitchEngine",
    "SwitchInFlight",
    "SwitchNotPrepared",
    "SwitchResult",
    "Switchable",
    "TokenBudget",
    "TokenMeter",
    "Usage",
    "all_tests_pass",
    "build_reward_rows",
    "count_phases",
    "detect_phase_advance",
    "detect_role_transition",
    "episode",
    "export_artifacts",
    "find_dominant_role",
    "find_furthest_phases",
    "guess_phase",
    "import_artifacts",
    "logged",
    "read_decisions",
    "read_latencies",
    "read_rewards",
    "reward",
    "scenario",
    "version",
    "write_rewards",
]
