"""What happens after the player's turn: transmissions hatch, enemies act, new transmissions appear."""

from collections.abc import Callable

from plaudit.systems.hackmatrix.plain.board_generation import place_transmissions
from plaudit.systems.hackmatrix.plain.cells import NEIGHBOURS, Place, find_path, manhattan_distance
from plaudit.systems.hackmatrix.plain.draws import Key, draw_seed, make_chooser
from plaudit.systems.hackmatrix.plain.state import Enemy, State
from plaudit.systems.hackmatrix.rules import SLOTS, SNAPSHOTS


def take_enemy_turn(state: State, key: Key) -> None:
    """Let the enemies have their turn; STEP, when it is armed, is used up instead."""
    if state.step_active:
        state.step_active = False
        return
    state.turn += 1
    _hatch(state)
    if any(_may_act(enemy) for enemy in state.enemies):
        move_enemies(state, make_chooser(draw_seed(key, 1)))
    due = not state.calm and state.interval > 0 and state.turn >= state.next_task
    if due or state.pending:
        place_transmissions(state, draw_seed(key, 2), tasks=int(due), siphons=state.pending)
    if due:
        state.next_task = state.turn + state.interval
    state.pending = 0
    for enemy in state.enemies:
        enemy.disabled = max(0, enemy.disabled - 1)
        enemy.stunned = False
    state.history = [*state.history, state.take_snapshot()][-SNAPSHOTS:]


def _hatch(state: State) -> None:
    """Let the transmissions whose time has come become enemies, which do nothing in this turn."""
    for each in state.transmissions:
        if each.turns > 1:
            each.turns -= 1
            continue
        each.turns = 0
        if len(state.enemies) < SLOTS:
            born = Enemy(each.type, each.row, each.col, disabled=1)
            born.from_siphon, born.from_task = each.from_siphon, each.from_task
            state.enemies.append(born)
    state.transmissions = [each for each in state.transmissions if each.turns > 0]


def _may_act(enemy: Enemy) -> bool:
    return not enemy.disabled and not enemy.stunned


def move_enemies(state: State, choose: Callable[[int], int]) -> None:
    """Let every enemy attack or move, in the order that `choose` draws; then again the viruses that did not attack.

    `choose` is asked for one of the enemies that are left in a round, which stand in the order of the list.
    """
    walls, player = state.blocks, state.player
    left = [enemy for enemy in state.enemies if _may_act(enemy)]
    again = [enemy for enemy in left if enemy.type == "virus"]
    while left or again:
        if not left:
            left, again = again, []
        enemy = left.pop(choose(len(left)))
        if manhattan_distance(enemy.place, player.place) == 1:
            player.hp = max(0, player.hp - 1)
            again = [other for other in again if other is not enemy]
        else:
            enemy.row, enemy.col = _find_destination(state, enemy, walls)


def _find_destination(state: State, enemy: Enemy, blocks: set[Place]) -> Place:
    here, goal = enemy.place, state.player.place
    occupied = {other.place for other in state.enemies if other is not enemy}
    occupied |= {each.place for each in state.transmissions}
    walls = set() if enemy.type == "glitch" else blocks
    if here != goal:
        if path := find_path(here, goal, walls | (occupied - {goal})):
            return path[0]
        if (path := find_path(here, goal, walls)) and path[0] not in occupied:
            return path[0]
    free = [place for place in NEIGHBOURS[here] if place not in walls and place not in occupied]
    return min(free, key=lambda place: manhattan_distance(place, goal), default=here)
