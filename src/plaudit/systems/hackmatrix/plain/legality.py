"""Which actions are allowed in a game, and why another one is not."""

from collections.abc import Callable

from plaudit.systems.hackmatrix.plain.cells import RING, add
from plaudit.systems.hackmatrix.plain.state import State
from plaudit.systems.hackmatrix.rules import (
    ACTION_NAMES,
    ACTION_PROGRAM_START,
    ACTION_SIPHON,
    ATTACK_UPGRADES,
    DIRECTIONS,
    MAX_HP,
    PROGRAM_CREDITS,
    PROGRAM_ENERGY,
    PROGRAMS,
    STAGES,
)


def find_allowed(state: State) -> list[bool]:
    """Return for each of the 28 actions whether it is allowed.

    >>> [action for action, allowed in enumerate(find_allowed(State())) if allowed]
    [0, 3]
    """
    return [is_allowed(state, action) for action in range(len(ACTION_NAMES))]


def is_allowed(state: State, action: int) -> bool:
    """Return whether an action is allowed."""
    if action >= ACTION_PROGRAM_START and PROGRAMS[action - ACTION_PROGRAM_START] not in state.owned:
        return False  # nearly all actions, and no reason has to be found
    return explain_refusal(state, action) is None


def explain_refusal(state: State, action: int) -> str | None:
    """Return why an action is not allowed, None where it is.

    >>> explain_refusal(State(), 1)
    'that is off the board'
    """
    if action < ACTION_SIPHON:
        return _explain_direction(state, action)
    if action == ACTION_SIPHON:
        return None if state.player.data_siphons > 0 else "there are no data siphons left"
    return _explain_program(state, action - ACTION_PROGRAM_START)


def _explain_direction(state: State, action: int) -> str | None:
    place = add(state.player.place, DIRECTIONS[action])
    if place not in state.cells:
        return "that is off the board"
    if state.cells[place].block is None or any(enemy.place == place for enemy in state.enemies):
        return None
    return "a block is in the way, and no enemy on it"


def _explain_program(state: State, slot: int) -> str | None:
    name, player = PROGRAMS[slot], state.player
    if name not in state.owned:
        return f"you do not own {name}; siphon programs from blocks"
    if player.credits < PROGRAM_CREDITS[slot] or player.energy < PROGRAM_ENERGY[slot]:
        costs = ((PROGRAM_CREDITS[slot], "credits"), (PROGRAM_ENERGY[slot], "energy"))
        price = " and ".join(f"{amount} {what}" for amount, what in costs if amount)
        return f"{name} costs {price}, and you have {player.credits} credits and {player.energy} energy"
    if name not in _CONDITIONS:
        return None
    applies, otherwise = _CONDITIONS[name]
    return None if applies(state) else otherwise


def _has_enemy(state: State) -> bool:
    return bool(state.enemies)


def _has_enemy_of_type(kind: str) -> Callable[[State], bool]:
    return lambda state: any(enemy.type == kind for enemy in state.enemies)


def _has_enemy_on_block(state: State) -> bool:
    return any(state.cells[enemy.place].block is not None for enemy in state.enemies)


def _is_anything_around(state: State) -> bool:
    near = RING[state.player.place]
    if any(state.cells[place].block is not None for place in near):
        return True
    return any(each.place in near for each in state.entities)


def _has_reducible_block(state: State) -> bool:
    return any(cell.block is not None and not cell.siphoned and cell.block.spawn > 0 for cell in state.cells.values())


_CONDITIONS: dict[str, tuple[Callable[[State], bool], str]] = {
    "PUSH": (_has_enemy, "there is no enemy to push"),
    "PULL": (_has_enemy, "there is no enemy to pull"),
    "CRASH": (_is_anything_around, "nothing next to you can be crashed"),
    "WARP": (lambda state: bool(state.enemies or state.transmissions), "there is nothing to warp to"),
    "POLY": (_has_enemy, "there is no enemy to change"),
    "DEBUG": (_has_enemy_on_block, "no enemy stands on a block"),
    "ROW": (lambda state: any(enemy.row == state.player.row for enemy in state.enemies), "no enemy is in your row"),
    "COL": (lambda state: any(enemy.col == state.player.col for enemy in state.enemies), "no enemy is in your column"),
    "UNDO": (lambda state: bool(state.history), "there is no turn to undo"),
    "SHOW": (lambda state: not state.show, "SHOW is already on"),
    "RESET": (lambda state: state.player.hp < MAX_HP, "your hit points are full"),
    "CALM": (lambda state: not state.calm, "CALM is already on"),
    "D_BOM": (_has_enemy_of_type("daemon"), "there is no daemon"),
    "DELAY": (lambda state: bool(state.transmissions), "there is no transmission to delay"),
    "ANTI-V": (_has_enemy_of_type("virus"), "there is no virus"),
    "SCORE": (lambda state: state.stage < STAGES, "it gives nothing on the last stage"),
    "REDUC": (_has_reducible_block, "no block is left that lets anything in"),
    "ATK+": (lambda state: state.atk_uses < ATTACK_UPGRADES, "it has already run twice on this stage"),
    "HACK": (lambda state: any(cell.siphoned for cell in state.cells.values()), "no cell has been siphoned yet"),
}
"""When a program would do something, its cost apart, and what is said otherwise; the others always would."""
