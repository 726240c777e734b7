"""Which actions are legal, and why another one is not."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.arrays.bitboard import MOVES, Board, ring
from plaudit.systems.hackmatrix.entity_lists import find_occupied_cells, is_in_use
from plaudit.systems.hackmatrix.rules import (
    ACTION_PROGRAM_START,
    ACTION_SIPHON,
    ATTACK_UPGRADES,
    DAEMON,
    DIRECTIONS,
    MAX_HP,
    NO_BLOCK,
    PROGRAM_CREDITS,
    PROGRAM_ENERGY,
    PROGRAMS,
    SIZE,
    STAGES,
    VIRUS,
)
from plaudit.systems.hackmatrix.state import EnvState
from plaudit.systems.hackmatrix.validation import validate_state

Array = jax.Array


def action_mask(state: EnvState) -> Array:
    """Return which of the 28 actions are legal.

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
    """Return for each program whether it would do something, its cost apart."""
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


Numbers = np.ndarray[Any, np.dtype[Any]]


def explain_refusal(state: EnvState, action: int) -> str | None:
    """Return why `action` is not allowed in one state, None where it is.

    >>> explain_refusal(EnvState(), 1)
    'the board ends there'
    """
    if action < ACTION_SIPHON:
        return _explain_direction(state, action)
    if action == ACTION_SIPHON:
        return None if state.player.data_siphons > 0 else "there is no data siphon left"
    return _explain_program(state, action - ACTION_PROGRAM_START)


def _explain_direction(state: EnvState, action: int) -> str | None:
    row, col = int(state.player.row) + DIRECTIONS[action][0], int(state.player.col) + DIRECTIONS[action][1]
    if not (0 <= row < SIZE and 0 <= col < SIZE):
        return "the board ends there"
    if state.grid.block_kind[row, col] == NO_BLOCK:
        return None
    _, rows, cols = _list_enemies(state)
    return None if ((rows == row) & (cols == col)).any() else "a block is in the way, and no enemy on it"


def _explain_program(state: EnvState, slot: int) -> str | None:
    name, credits, energy = PROGRAMS[slot], int(state.player.credits), int(state.player.energy)
    if not state.owned[slot]:
        return f"you do not own {name}; programs are siphoned from blocks"
    if credits < PROGRAM_CREDITS[slot] or energy < PROGRAM_ENERGY[slot]:
        costs = ((PROGRAM_CREDITS[slot], "credits"), (PROGRAM_ENERGY[slot], "energy"))
        price = " and ".join(f"{amount} {what}" for amount, what in costs if amount)
        return f"{name} costs {price}, and you have {credits} credits and {energy} energy"
    applies, otherwise = _CONDITIONS.get(name, (_is_always_useful, ""))
    return None if applies(state) else otherwise


def _list_enemies(state: EnvState) -> tuple[Numbers, Numbers, Numbers]:
    count = int(state.enemies.count)
    listed = state.enemies.type, state.enemies.row, state.enemies.col
    kinds, rows, cols = (np.asarray(column)[:count] for column in listed)
    return kinds, rows, cols


def _is_always_useful(state: EnvState) -> bool:
    return True


def _has_enemy(state: EnvState) -> bool:
    return bool(state.enemies.count > 0)


def _has_transmission(state: EnvState) -> bool:
    return bool(state.transmissions.count > 0)


def _has_enemy_of_kind(kind: int) -> Callable[[EnvState], bool]:
    return lambda state: bool((_list_enemies(state)[0] == kind).any())


def _has_enemy_in_row(state: EnvState) -> bool:
    return bool((_list_enemies(state)[1] == int(state.player.row)).any())


def _has_enemy_in_column(state: EnvState) -> bool:
    return bool((_list_enemies(state)[2] == int(state.player.col)).any())


def _has_enemy_on_block(state: EnvState) -> bool:
    _, rows, cols = _list_enemies(state)
    return bool((np.asarray(state.grid.block_kind)[rows, cols] != NO_BLOCK).any())


def _is_anything_around(state: EnvState) -> bool:
    """Return whether a block, an enemy or a transmission is next to the player, diagonals included."""
    taken = np.array(state.grid.block_kind) != NO_BLOCK
    for listed in (state.enemies, state.transmissions):
        count = int(listed.count)
        taken[np.asarray(listed.row)[:count], np.asarray(listed.col)[:count]] = True
    row, col = int(state.player.row), int(state.player.col)
    taken[row, col] = False
    return bool(taken[max(0, row - 1) : row + 2, max(0, col - 1) : col + 2].any())


def _has_reducible_block(state: EnvState) -> bool:
    grid = state.grid
    blocks = (np.asarray(grid.block_kind) != NO_BLOCK) & ~np.asarray(grid.siphoned)
    return bool((blocks & (np.asarray(grid.block_spawn) > 0)).any())


_CONDITIONS: dict[str, tuple[Callable[[EnvState], bool], str]] = {
    "PUSH": (_has_enemy, "there is no enemy to push"),
    "PULL": (_has_enemy, "there is no enemy to pull"),
    "CRASH": (_is_anything_around, "nothing next to you can be crashed"),
    "WARP": (lambda state: _has_enemy(state) or _has_transmission(state), "there is nothing to warp to"),
    "POLY": (_has_enemy, "there is no enemy to change"),
    "DEBUG": (_has_enemy_on_block, "no enemy stands on a block"),
    "ROW": (_has_enemy_in_row, "no enemy is in your row"),
    "COL": (_has_enemy_in_column, "no enemy is in your column"),
    "UNDO": (lambda state: bool(state.history.count > 0), "there is no turn to undo"),
    "SHOW": (lambda state: not state.show, "SHOW is on already"),
    "RESET": (lambda state: bool(state.player.hp < MAX_HP), "you have all your hit points"),
    "CALM": (lambda state: not state.calm, "CALM is on already"),
    "D_BOM": (_has_enemy_of_kind(DAEMON), "there is no daemon"),
    "DELAY": (_has_transmission, "there is no transmission to delay"),
    "ANTI-V": (_has_enemy_of_kind(VIRUS), "there is no virus"),
    "SCORE": (lambda state: bool(state.stage < STAGES), "it gives nothing on the last stage"),
    "REDUC": (_has_reducible_block, "no block is left that lets anything in"),
    "ATK+": (lambda state: bool(state.atk_uses < ATTACK_UPGRADES), "it was run twice on this stage"),
    "HACK": (lambda state: bool(np.asarray(state.grid.siphoned).any()), "no cell was siphoned yet"),
}
