"""A tactical game on a 6 × 6 board, and its reward: fifteen components over what a step changed.

The reward needs nothing but the core, and neither does one game at a time (`plain`, `playing`). The game as functions
for many at once is written in JAX, and imported when it is first asked for.
"""

import importlib
import typing

from plaudit.errors import MissingExtra
from plaudit.systems.hackmatrix.features import Observation
from plaudit.systems.hackmatrix.plain.state import Enemy, Transmission
from plaudit.systems.hackmatrix.rewards import STAGE_COMPLETION_REWARDS, VERSIONS, episode, reward, version
from plaudit.systems.hackmatrix.rules import (
    ACTION_NAMES,
    ACTION_PROGRAM_START,
    ACTION_SIPHON,
    PROGRAM_RESET,
    PROGRAMS,
    Rules,
    action_of,
)
from plaudit.systems.hackmatrix.step_picture import draw_step

if typing.TYPE_CHECKING:
    from plaudit.systems.hackmatrix.calculate import calculate_reward, remember
    from plaudit.systems.hackmatrix.env import auto_reset_step, reset, step
    from plaudit.systems.hackmatrix.observation import observe
    from plaudit.systems.hackmatrix.pathfinding import bfs_distance
    from plaudit.systems.hackmatrix.siphon_quality import check_siphon_optimality, compute_siphon_yield
    from plaudit.systems.hackmatrix.state import (
        Before,
        Enemies,
        EnvState,
        Grid,
        Player,
        Transmissions,
        data_block,
        program_block,
    )
    from plaudit.systems.hackmatrix.turns.legality import action_mask

__all__ = [
    "ACTION_NAMES",
    "ACTION_PROGRAM_START",
    "ACTION_SIPHON",
    "PROGRAMS",
    "PROGRAM_RESET",
    "STAGE_COMPLETION_REWARDS",
    "VERSIONS",
    "Before",
    "Enemies",
    "Enemy",
    "EnvState",
    "Grid",
    "Observation",
    "Player",
    "Rules",
    "Transmission",
    "Transmissions",
    "action_mask",
    "action_of",
    "auto_reset_step",
    "bfs_distance",
    "calculate_reward",
    "check_siphon_optimality",
    "compute_siphon_yield",
    "data_block",
    "draw_step",
    "episode",
    "observe",
    "program_block",
    "remember",
    "reset",
    "reward",
    "step",
    "version",
]

_STATE = ("Before", "Enemies", "EnvState", "Grid", "Player", "Transmissions", "data_block", "program_block")
_GAME = {
    "action_mask": "turns.legality",
    "auto_reset_step": "env",
    "bfs_distance": "pathfinding",
    "calculate_reward": "calculate",
    "check_siphon_optimality": "siphon_quality",
    "compute_siphon_yield": "siphon_quality",
    "observe": "observation",
    "remember": "calculate",
    "reset": "env",
    "step": "env",
} | dict.fromkeys(_STATE, "state")
"""What needs JAX, by the module it is in."""


def __getattr__(name: str) -> typing.Any:
    if name not in _GAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{_GAME[name]}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("jax", "jaxlib"):
            raise
        raise MissingExtra("the game needs JAX. Install it: pip install 'plaudit[jax]'") from error
    return getattr(module, name)
