"""The step reward of a runtime of several agents that switches between topologies."""

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
from plaudit.systems.apex.records import all_tests_pass, reward_rows, write_rewards
from plaudit.systems.apex.reward import DETECTORS, VERSIONS, RewardAccumulator, reward, version
from plaudit.systems.apex.scenario import episode, scenario

__all__ = [
    "ALIASES",
    "DETECTORS",
    "PHASES",
    "ROLES",
    "VERSIONS",
    "PhaseCounts",
    "RewardAccumulator",
    "all_tests_pass",
    "count_phases",
    "detect_phase_advance",
    "detect_role_transition",
    "dominant_role",
    "episode",
    "furthest_phases",
    "reward",
    "reward_rows",
    "scenario",
    "version",
    "write_rewards",
]
