"""The reward of a tactical game on a 6 × 6 board: fifteen components over what a step changed."""

from plaudit.systems.hackmatrix.playthrough import episode
from plaudit.systems.hackmatrix.rewards import (
    ACTION_PROGRAM_START,
    ACTION_SIPHON,
    PROGRAM_RESET,
    STAGE_COMPLETION_REWARDS,
    reward,
)
from plaudit.systems.hackmatrix.versions import VERSIONS, version

__all__ = [
    "ACTION_PROGRAM_START",
    "ACTION_SIPHON",
    "PROGRAM_RESET",
    "STAGE_COMPLETION_REWARDS",
    "VERSIONS",
    "episode",
    "reward",
    "version",
]
