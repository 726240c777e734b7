"""Why an action is not allowed, in words for the person who asked for it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

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

if TYPE_CHECKING:
    from plaudit.systems.hackmatrix.state import EnvState

Numbers = np.ndarray[Any, np.dtype[Any]]


def refusal(state: "EnvState", action: int) -> str | None:
    """Return why `action` is not allowed in one state, None where it is.

    >>> from plaudit.systems.hackmatrix.state import EnvState
    >>> refusal(EnvState(), 1)
    'the board ends there'
    """
    if action < ACTION_SIPHON:
        return _direction(state, action)
    if action == ACTION_SIPHON:
        return None if state.player.data_siphons > 0 else "there is no data siphon left"
    return _program(state, action - ACTION_PROGRAM_START)


def _direction(state: "EnvState", action: int) -> str | None:
    row, col = int(state.player.row) + DIRECTIONS[action][0], int(state.player.col) + DIRECTIONS[action][1]
    if not (0 <= row < SIZE and 0 <= col < SIZE):
        return "the board ends there"
    if state.grid.block_kind[row, col] == NO_BLOCK:
        return None
    _, rows, cols = _enemies(state)
    return None if ((rows == row) & (cols == col)).any() else "a block is in the way, and no enemy on it"


def _program(state: "EnvState", slot: int) -> str | None:
    name, credits, energy = PROGRAMS[slot], int(state.player.credits), int(state.player.energy)
    if not state.owned[slot]:
        return f"you do not own {name}; programs are siphoned from blocks"
    if credits < PROGRAM_CREDITS[slot] or energy < PROGRAM_ENERGY[slot]:
        costs = ((PROGRAM_CREDITS[slot], "credits"), (PROGRAM_ENERGY[slot], "energy"))
        price = " and ".join(f"{amount} {what}" for amount, what in costs if amount)
        return f"{name} costs {price}, and you have {credits} credits and {energy} energy"
    applies, otherwise = _CONDITIONS.get(name, (_always, ""))
    return None if applies(state) else otherwise


# -- when a program can be run ----------------------------------------------------------------------------------------


def _enemies(state: "EnvState") -> tuple[Numbers, Numbers, Numbers]:
    count = int(state.enemies.count)
    listed = state.enemies.type, state.enemies.row, state.enemies.col
    kinds, rows, cols = (np.asarray(column)[:count] for column in listed)
    return kinds, rows, cols


def _always(state: "EnvState") -> bool:
    return True


def _any_enemy(state: "EnvState") -> bool:
    return bool(state.enemies.count > 0)


def _any_transmission(state: "EnvState") -> bool:
    return bool(state.transmissions.count > 0)


def _of_kind(kind: int) -> Callable[["EnvState"], bool]:
    return lambda state: bool((_enemies(state)[0] == kind).any())


def _in_row(state: "EnvState") -> bool:
    return bool((_enemies(state)[1] == int(state.player.row)).any())


def _in_column(state: "EnvState") -> bool:
    return bool((_enemies(state)[2] == int(state.player.col)).any())


def _on_block(state: "EnvState") -> bool:
    _, rows, cols = _enemies(state)
    return bool((np.asarray(state.grid.block_kind)[rows, cols] != NO_BLOCK).any())


def _around(state: "EnvState") -> bool:
    """Return whether a block, an enemy or a transmission is next to the player, diagonals included."""
    taken = np.array(state.grid.block_kind) != NO_BLOCK
    for listed in (state.enemies, state.transmissions):
        count = int(listed.count)
        taken[np.asarray(listed.row)[:count], np.asarray(listed.col)[:count]] = True
    row, col = int(state.player.row), int(state.player.col)
    taken[row, col] = False
    return bool(taken[max(0, row - 1) : row + 2, max(0, col - 1) : col + 2].any())


def _reducible(state: "EnvState") -> bool:
    grid = state.grid
    blocks = (np.asarray(grid.block_kind) != NO_BLOCK) & ~np.asarray(grid.siphoned)
    return bool((blocks & (np.asarray(grid.block_spawn) > 0)).any())


_CONDITIONS: dict[str, tuple[Callable[["EnvState"], bool], str]] = {
    "PUSH": (_any_enemy, "there is no enemy to push"),
    "PULL": (_any_enemy, "there is no enemy to pull"),
    "CRASH": (_around, "nothing next to you can be crashed"),
    "WARP": (lambda state: _any_enemy(state) or _any_transmission(state), "there is nothing to warp to"),
    "POLY": (_any_enemy, "there is no enemy to change"),
    "DEBUG": (_on_block, "no enemy stands on a block"),
    "ROW": (_in_row, "no enemy is in your row"),
    "COL": (_in_column, "no enemy is in your column"),
    "UNDO": (lambda state: bool(state.history.count > 0), "there is no turn to undo"),
    "SHOW": (lambda state: not state.show, "SHOW is on already"),
    "RESET": (lambda state: bool(state.player.hp < MAX_HP), "you have all your hit points"),
    "CALM": (lambda state: not state.calm, "CALM is on already"),
    "D_BOM": (_of_kind(DAEMON), "there is no daemon"),
    "DELAY": (_any_transmission, "there is no transmission to delay"),
    "ANTI-V": (_of_kind(VIRUS), "there is no virus"),
    "SCORE": (lambda state: bool(state.stage < STAGES), "it gives nothing on the last stage"),
    "REDUC": (_reducible, "no block is left that lets anything in"),
    "ATK+": (lambda state: bool(state.atk_uses < ATTACK_UPGRADES), "it was run twice on this stage"),
    "HACK": (lambda state: bool(np.asarray(state.grid.siphoned).any()), "no cell was siphoned yet"),
}
