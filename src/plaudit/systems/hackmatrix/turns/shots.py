"""Directions: what stands in the line of one, and where it leads when nothing does."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.lists import first, in_use
from plaudit.systems.hackmatrix.rules import DIRECTIONS, NO_BLOCK, SIZE
from plaudit.systems.hackmatrix.state import EnvState, Player

Array = jax.Array


class Aim(NamedTuple):
    """What a shot hits: at most one slot is true."""

    enemy: Array
    transmission: Array

    def any(self) -> Array:
        """Return whether something is hit."""
        return self.enemy.any() | self.transmission.any()


def stride(direction: Array) -> tuple[Array, Array]:
    """Return the row and column step of a direction, 0 and 0 for what is none."""
    row, col = (sum(jnp.where(direction == n, step[axis], 0) for n, step in enumerate(DIRECTIONS)) for axis in (0, 1))
    return jnp.asarray(row), jnp.asarray(col)


def aim(state: EnvState, direction: Array) -> Aim:
    """Return what the first cell in a line holds that holds something; a block ends the line, and what is on it is hit.

    A transmission is hit before an enemy on the same cell.
    """
    row, col = jnp.indices((SIZE, SIZE))
    block = _range(state.player, direction, row, col, state.grid.block_kind != NO_BLOCK).min()
    enemy = _range(state.player, direction, state.enemies.row, state.enemies.col, in_use(state.enemies))
    waiting = state.transmissions
    transmission = _range(state.player, direction, waiting.row, waiting.col, in_use(waiting))
    nearest = jnp.minimum(jnp.minimum(enemy.min(), transmission.min()), block)
    at_transmission = (transmission == nearest) & (nearest < SIZE)
    at_enemy = (enemy == nearest) & (nearest < SIZE) & ~at_transmission.any()
    return Aim(first(at_enemy), first(at_transmission))


def _range(player: Player, direction: Array, row: Array, col: Array, there: Array) -> Array:
    """Return how far along a direction things are, `SIZE` for what is not there or not in line."""
    over, beside = stride(direction)
    rows, cols = row.astype(jnp.int32) - player.row, col.astype(jnp.int32) - player.col
    along, off = rows * over + cols * beside, rows * beside + cols * over
    return jnp.where(there & (off == 0) & (along > 0), along, SIZE)
