"""The player's turn: shots, steps and siphons."""

from plaudit.systems.hackmatrix.plain.cells import CROSS, add
from plaudit.systems.hackmatrix.plain.draws import Key, draw_seed
from plaudit.systems.hackmatrix.plain.programs import hit_enemies, run_program
from plaudit.systems.hackmatrix.plain.state import Enemy, State, Transmission
from plaudit.systems.hackmatrix.rules import (
    ACTION_NAMES,
    ACTION_PROGRAM_START,
    ACTION_SIPHON,
    DIRECTIONS,
    POSTPONED_TURNS,
    PROGRAM_CREDITS,
    PROGRAM_ENERGY,
    SHORTEST_INTERVAL,
)


def act(state: State, action: int, key: Key) -> int:
    """Do what an action that is allowed does, up to the enemies' turn; return how many kills that was."""
    if action < ACTION_SIPHON:
        return _shoot_or_walk(state, action)
    if action == ACTION_SIPHON:
        _siphon(state)
        return 0
    slot = action - ACTION_PROGRAM_START
    state.player.credits -= PROGRAM_CREDITS[slot]
    state.player.energy -= PROGRAM_ENERGY[slot]
    return run_program(state, ACTION_NAMES[action], draw_seed(key, 0))


def ends_turn(action: int) -> bool:
    """Return whether the enemies' turn comes after an action."""
    return action <= ACTION_SIPHON or ACTION_NAMES[action] == "WAIT"


def find_target(state: State, direction: int) -> Enemy | Transmission | None:
    """Return what the first cell in a line holds that holds something; a block ends the line, and what is on it is hit.

    A transmission is hit before an enemy on the same cell.
    """
    place = add(state.player.place, DIRECTIONS[direction])
    while place in state.cells:
        there = [each for each in state.entities if each.place == place]
        if there:
            return next((each for each in there if isinstance(each, Transmission)), there[0])
        if state.cells[place].block:
            return None
        place = add(place, DIRECTIONS[direction])
    return None


def _shoot_or_walk(state: State, direction: int) -> int:
    target = find_target(state, direction)
    if isinstance(target, Enemy):
        return hit_enemies(state, [target], state.player.attack)
    if isinstance(target, Transmission):
        state.transmissions = [each for each in state.transmissions if each is not target]
        return int(not target.from_task)
    player = state.player
    player.row, player.col = add(player.place, DIRECTIONS[direction])
    cell = state.cells[player.place]
    if cell.data_siphon:
        state.cells[player.place] = cell._replace(data_siphon=False)
        player.data_siphons += 1
    return 0


def _siphon(state: State) -> None:
    player, cells = state.player, state.cells
    cells[player.place] = cells[player.place]._replace(siphon_center=True)
    for place in CROSS[player.place]:
        cell = cells[place]
        if cell.siphoned:
            continue
        if block := cell.block:
            if block.program is None:
                player.score += block.points
            else:
                state.owned.add(block.program)
            state.pending += block.spawn
            cells[place] = cell._replace(block=block._replace(spawn=0, question=False), siphoned=True)
        else:
            player.credits += cell.credits
            player.energy += cell.energy
            cells[place] = cell._replace(credits=0, energy=0, siphoned=True)
    player.data_siphons -= 1
    state.interval = max(SHORTEST_INTERVAL, state.interval - 1)
    state.next_task += POSTPONED_TURNS
