"""What an observation holds: the player's numbers, its programs, and the features of each cell."""

from typing import Any, NamedTuple

import numpy as np

from plaudit.systems.hackmatrix.rules import CELLS, DATA, ENEMIES, MAX_HP, PROGRAM, PROGRAMS, QUESTION, SIZE, STAGES


class PlayerFeature(NamedTuple):
    """One number of the player: less `offset`, times `scale`, and at most 1 where it is capped."""

    name: str
    divisor: int = 1
    offset: int = 0
    capped: bool = False

    @property
    def scale(self) -> np.float32:
        """What the number is multiplied by: a division would be rounded otherwise by some compilers."""
        return np.float32(1 / self.divisor)


class Feature(NamedTuple):
    """One number of a cell: a part of what is seen on it, divided, or whether the part has a value."""

    name: str
    part: str
    divisor: int = 1
    equals: int = 0
    """The value asked for; 0 where the number itself is the feature."""

    @property
    def scale(self) -> np.float32:
        """What the number is multiplied by."""
        return np.float32(1 / self.divisor)


PLAYER = (
    PlayerFeature("row", SIZE - 1),
    PlayerFeature("col", SIZE - 1),
    PlayerFeature("hp", MAX_HP),
    PlayerFeature("credits", 50, capped=True),
    PlayerFeature("energy", 50, capped=True),
    PlayerFeature("stage", STAGES - 1, offset=1),
    PlayerFeature("data_siphons", 10),
    PlayerFeature("attack", 2, offset=1),
    PlayerFeature("show"),
    PlayerFeature("calm"),
)

MOST_TURNS = 4
"""Turns that a transmission is seen to take at most."""

CELL = (
    *(Feature(name, "enemy", equals=1 + kind) for kind, name in enumerate(ENEMIES)),
    Feature("enemy_hp", "hp", MAX_HP),
    Feature("enemy_stunned", "stunned"),
    Feature("enemy_from_siphon", "from_siphon"),
    Feature("data_block", "block", equals=DATA),
    Feature("program_block", "block", equals=PROGRAM),
    Feature("question_block", "block", equals=QUESTION),
    Feature("block_points", "points", 9),
    Feature("block_siphoned", "siphoned"),
    *(Feature(name, "program", equals=1 + slot) for slot, name in enumerate(PROGRAMS)),
    Feature("block_spawn", "spawn", 9),
    Feature("transmission_turns", "turns", MOST_TURNS),
    Feature("credits", "credits", 3),
    Feature("energy", "energy", 3),
    Feature("data_siphon", "data_siphon"),
    Feature("exit", "exit"),
    Feature("siphon_center", "siphon_center"),
)

PLAYER_FEATURES = tuple(feature.name for feature in PLAYER)
GRID_FEATURES = tuple(feature.name for feature in CELL)
"""What each number of a cell is."""
OBSERVATION_SIZE = len(PLAYER_FEATURES) + len(PROGRAMS) + CELLS * len(GRID_FEATURES)


class Observation(NamedTuple):
    """What the player sees: its own values, its programs and every cell, as arrays of NumPy or JAX.

    Example:
        observation, state = reset(jax.random.key(0))
        vector = observation.flat()
    """

    player: Any
    """float32 (10,), as in `PLAYER_FEATURES`."""
    programs: Any
    """int32 (23,): 1 where a program is owned."""
    grid: Any
    """float32 (6, 6, 42): by row, column and feature, as in `GRID_FEATURES`."""

    def flat(self) -> Any:
        """Return the observation as one float32 vector, or one per game of a batch.

        Returns:
            An array whose last axis has `OBSERVATION_SIZE` entries.
        """
        grid = self.grid.reshape(*self.grid.shape[:-3], -1)
        parts = [self.player, self.programs.astype("float32"), grid]
        return self.player.__array_namespace__().concat(parts, axis=-1)
