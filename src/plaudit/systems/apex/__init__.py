"""The step reward of a runtime of several agents that switches between topologies."""

from plaudit.systems.apex.artifacts import Artifacts, read_decisions, read_latencies, read_rewards
from plaudit.systems.apex.log_reward import logged
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
from plaudit.systems.apex.recorded import Imported, export_artifacts, import_artifacts
from plaudit.systems.apex.records import all_tests_pass, reward_rows, write_rewards
from plaudit.systems.apex.reward import DETECTORS, VERSIONS, RewardAccumulator, reward, version
from plaudit.systems.apex.rows import DecisionRow, LatencyRow, RewardRow, Switch
from plaudit.systems.apex.scenario import episode, scenario

__all__ = [
    "ALIASES",
    "DETECTORS",
    "PHASES",
    "ROLES",
    "VERSIONS",
    "Artifacts",
    "DecisionRow",
    "Imported",
    "LatencyRow",
    "PhaseCounts",
    "RewardAccumulator",
    "RewardRow",
    "Switch",
    "all_tests_pass",
    "count_phases",
    "detect_phase_advance",
    "detect_role_transition",
    "dominant_role",
    "episode",
    "export_artifacts",
    "furthest_phases",
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
