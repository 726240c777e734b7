"""The siphon: points, programs, credits and energy of a cross of cells, and what it lets in."""

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.arrays.bitboard import Board, around
from plaudit.systems.hackmatrix.rules import DATA, NO_BLOCK, PROGRAM, PROGRAMS
from plaudit.systems.hackmatrix.state import EnvState

Array = jax.Array

SHORTEST_INTERVAL = 4
POSTPONED = 5
"""Turns by which a siphon puts the scheduled task off."""


def siphoned(state: EnvState, when: Array) -> EnvState:
    """Return the state after siphoning from where the player stands, where `when` holds."""
    player, grid = state.player, state.grid
    here = Board.at(player.row, player.col)
    cross = (here | around(here)).cells() & ~grid.siphoned & when
    block, data = grid.block_kind != NO_BLOCK, grid.block_is_data
    opened, bare = cross & block, cross & ~block
    programs = jnp.where(opened & ~data, grid.block_program, -1).reshape(-1)

    def taken(layer: Array, where: Array) -> Array:
        return jnp.where(where, layer, 0).sum(dtype=jnp.int32)

    return state.replace(
        player=player.replace(
            score=player.score + taken(grid.block_points, opened & data),
            credits=player.credits + taken(grid.credits, bare),
            energy=player.energy + taken(grid.energy, bare),
            data_siphons=player.data_siphons - when,
        ),
        grid=grid.replace(
            block_kind=jnp.where(opened, jnp.where(data, DATA, PROGRAM), grid.block_kind).astype(jnp.int8),
            block_spawn=jnp.where(opened, 0, grid.block_spawn),
            credits=jnp.where(bare, 0, grid.credits),
            energy=jnp.where(bare, 0, grid.energy),
            siphoned=grid.siphoned | cross,
            siphon_center=grid.siphon_center | (here.cells() & when),
        ),
        owned=state.owned | (programs == jnp.arange(len(PROGRAMS))[:, None]).any(axis=1),
        pending=state.pending + taken(grid.block_spawn, opened),
        interval=jnp.where(when, jnp.maximum(SHORTEST_INTERVAL, state.interval - 1), state.interval),
        next_task=state.next_task + POSTPONED * when,
    )
