"""Which actions are legal."""

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.arrays.bitboard import MOVES, Board, ring
from plaudit.systems.hackmatrix.entity_lists import find_occupied_cells, is_in_use
from plaudit.systems.hackmatrix.rules import (
    ATTACK_UPGRADES,
    DAEMON,
    MAX_HP,
    NO_BLOCK,
    PROGRAM_CREDITS,
    PROGRAM_ENERGY,
    PROGRAMS,
    STAGES,
    VIRUS,
)
from plaudit.systems.hackmatrix.state import EnvState
from plaudit.systems.hackmatrix.validation import validate_state

Array = jax.Array


def action_mask(state: EnvState) -> Array:
    """Return which of the 28 actions are legal.

    Args:
        state: The state of the game.

    Returns:
        A bool array.

    >>> action_mask(EnvState()).nonzero()[0].tolist()
    [0, 3]
    """
    legal: Array = _find_legal(validate_state(state))
    return legal


@jax.jit  # traced once for all that ask
def _find_legal(state: EnvState) -> Array:
    player, blocks = state.player, Board.of(state.grid.block_kind != NO_BLOCK)
    here, enemies = Board.at(player.row, player.col), find_occupied_cells(state.enemies)
    steps = [(move(here) & (~blocks | enemies)).any() for move in MOVES]
    useful = _find_useful(state, here, blocks, enemies)
    afforded = (player.credits >= jnp.array(PROGRAM_CREDITS)) & (player.energy >= jnp.array(PROGRAM_ENERGY))
    allowed = state.owned & afforded & jnp.stack([useful[name] for name in PROGRAMS])
    return jnp.concatenate([jnp.stack([*steps, player.data_siphons > 0]), allowed])


def _find_useful(state: EnvState, here: Board, blocks: Board, enemies: Board) -> dict[str, Array]:
    player, grid, foes = state.player, state.grid, state.enemies
    used, always = is_in_use(foes), jnp.bool_(True)
    transmissions = find_occupied_cells(state.transmissions)
    any_enemy, any_transmission = foes.count > 0, state.transmissions.count > 0
    return {
        "PUSH": any_enemy,
        "PULL": any_enemy,
        "CRASH": (ring(here) & (blocks | enemies | transmissions)).any(),
        "WARP": any_enemy | any_transmission,
        "POLY": any_enemy,
        "WAIT": always,
        "DEBUG": (enemies & blocks).any(),
        "ROW": (used & (foes.row == player.row)).any(),
        "COL": (used & (foes.col == player.col)).any(),
        "UNDO": state.history.count > 0,
        "STEP": always,
        "SIPH+": always,
        "EXCH": always,
        "SHOW": ~state.show,
        "RESET": player.hp < MAX_HP,
        "CALM": ~state.calm,
        "D_BOM": (used & (foes.type == DAEMON)).any(),
        "DELAY": any_transmission,
        "ANTI-V": (used & (foes.type == VIRUS)).any(),
        "SCORE": state.stage < STAGES,
        "REDUC": ((grid.block_kind != NO_BLOCK) & ~grid.siphoned & (grid.block_spawn > 0)).any(),
        "ATK+": state.atk_uses < ATTACK_UPGRADES,
        "HACK": grid.siphoned.any(),
    }
