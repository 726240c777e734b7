"""The observation as the player sees it: the board around the player, instead of the player somewhere on the board.

What matters most in the game is relative: an enemy in line, a block beside, the exit up and to the left. On a board
with fixed cells a network has to learn that anew for each of the 36 cells the player can be on. Nothing is added here
that the observation does not say, and nothing is left out but the programs of blocks too far away to be siphoned.
"""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.observation import GRID_FEATURES, OBSERVATION_SIZE, PLAYER_FEATURES
from plaudit.systems.hackmatrix.rules import DIRECTIONS, PROGRAMS, SIZE

Array = jax.Array

_NUMBERS = len(PLAYER_FEATURES) + len(PROGRAMS)
_ZERO, _ONE = OBSERVATION_SIZE, OBSERVATION_SIZE + 1
"""Where two constants stand, behind the observation."""
_THINGS = tuple(at for at, name in enumerate(GRID_FEATURES) if name not in PROGRAMS)
_PROGRAMS = tuple(GRID_FEATURES.index(name) for name in PROGRAMS)
_REACH = range(1 - SIZE, SIZE)
_CROSS = ((0, 0), *DIRECTIONS)
"""The cells that a siphon reaches."""


def around_player(observation: Array) -> Array:
    """Return flat observations, in the last axis, with the player in the middle.

    Its own numbers and programs come first; then, for each of the 11 × 11 cells around it, whether the board is there
    and what lies on it; then the programs of the blocks within reach of a siphon.

    >>> around_player(jnp.zeros(1545)).shape
    (2568,)
    """
    row, col = (jnp.round(observation[..., at] * (SIZE - 1)).astype(jnp.int32) for at in range(2))
    constants = jnp.broadcast_to(jnp.array([0, 1], observation.dtype), (*observation.shape[:-1], 2))
    source = jnp.asarray(_sources())[row * SIZE + col]
    return jnp.take_along_axis(jnp.concatenate([observation, constants], axis=-1), source, axis=-1)


@lru_cache(maxsize=1)
def _sources() -> np.ndarray[Any, np.dtype[np.int32]]:
    """Return, for each cell that the player can be on, where each number of its view stands in the observation."""
    return np.array([_source(row, col) for row in range(SIZE) for col in range(SIZE)], np.int32)


def _source(row: int, col: int) -> list[int]:
    def cell(up: int, right: int, features: tuple[int, ...], *before: int) -> list[int]:
        inside = 0 <= row + up < SIZE and 0 <= col + right < SIZE
        start = _NUMBERS + ((row + up) * SIZE + col + right) * len(GRID_FEATURES)
        seen = [start + feature if inside else _ZERO for feature in features]
        return [*(there if inside else _ZERO for there in before), *seen]

    things = [number for up in _REACH for right in _REACH for number in cell(up, right, _THINGS, _ONE)]
    programs = [number for up, right in _CROSS for number in cell(up, right, _PROGRAMS)]
    return [*range(_NUMBERS), *things, *programs]
