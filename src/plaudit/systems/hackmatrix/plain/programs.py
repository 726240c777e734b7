"""What each program does."""

from collections.abc import Callable, Iterable

from plaudit.systems.hackmatrix.plain.cells import PLACES, RING, Place, manhattan_distance
from plaudit.systems.hackmatrix.plain.draws import Seed, draw_below, draw_word
from plaudit.systems.hackmatrix.plain.state import FULL_HP, Enemy, State, copy_restorable
from plaudit.systems.hackmatrix.rules import DELAYED_TURNS, ENEMIES, EXCHANGED_ENERGY, MAX_HP, STAGES


def run_program(state: State, name: str, seed: Seed) -> int:
    """Run a program that is paid for; return how many kills that was."""
    if name in _TARGETS:
        damage = 1 if name == "ANTI-V" else state.player.attack
        return hit_enemies(state, [enemy for enemy in state.enemies if _TARGETS[name](state, enemy)], damage)
    if name in _WITH_DRAWS:
        return _WITH_DRAWS[name](state, seed)
    if name in _WITH_KILLS:
        return _WITH_KILLS[name](state)
    if name in _CHANGES:
        _CHANGES[name](state)
    return 0  # WAIT does nothing


def hit_enemies(state: State, targets: Iterable[Enemy], damage: int) -> int:
    """Take hit points from enemies; those that survive are stunned, the others are gone."""
    for enemy in targets:
        enemy.hp = max(0, enemy.hp - damage)
        enemy.stunned = enemy.hp > 0
    return _remove_dead(state)


def _remove_dead(state: State) -> int:
    kills = sum(enemy.hp <= 0 and not enemy.from_task for enemy in state.enemies)
    state.enemies = [enemy for enemy in state.enemies if enemy.hp > 0]
    return kills


_TARGETS: dict[str, Callable[[State, Enemy], bool]] = {
    "DEBUG": lambda state, enemy: state.cells[enemy.place].block is not None,
    "ROW": lambda state, enemy: enemy.row == state.player.row,
    "COL": lambda state, enemy: enemy.col == state.player.col,
    "HACK": lambda state, enemy: state.cells[enemy.place].siphoned,
    "ANTI-V": lambda state, enemy: enemy.type == "virus",
}
"""The enemies that a program hits."""


def _bomb(state: State) -> int:
    daemons = [enemy for enemy in state.enemies if enemy.type == "daemon"]
    nearest = min(daemons, key=lambda enemy: manhattan_distance(enemy.place, state.player.place))  # the first of equals
    nearest.hp = 0
    return hit_enemies(state, [enemy for enemy in state.enemies if enemy.place in RING[nearest.place]], 1)


def _crash(state: State) -> int:
    kills = 0
    for place in RING[state.player.place]:
        state.cells[place] = state.cells[place]._replace(block=None)
        kills += _clear_enemies(state, place) + _clear_transmissions(state, place)
    return kills


def _clear_enemies(state: State, place: Place) -> int:
    """Remove all enemies on a cell, which is one kill at most, and none if the first came from a task."""
    gone = [enemy for enemy in state.enemies if enemy.place == place]
    state.enemies = [enemy for enemy in state.enemies if enemy.place != place]
    return int(bool(gone) and not gone[0].from_task)


def _clear_transmissions(state: State, place: Place) -> int:
    gone = [each for each in state.transmissions if each.place == place]
    state.transmissions = [each for each in state.transmissions if each.place != place]
    return int(bool(gone) and not gone[0].from_task)


_WITH_KILLS: dict[str, Callable[[State], int]] = {"CRASH": _crash, "D_BOM": _bomb}


def _warp(state: State, seed: Seed) -> int:
    targets = state.entities
    number, _ = draw_below(draw_word(seed, 0), len(targets))
    place = state.player.row, state.player.col = targets[number].place
    clear = _clear_enemies if number < len(state.enemies) else _clear_transmissions
    return clear(state, place)


def _change_types(state: State, seed: Seed) -> int:
    """Make another type of each enemy; the damage it has taken stays, and may be its end."""
    for number, enemy in enumerate(state.enemies):
        lost = FULL_HP[enemy.type] - enemy.hp
        other, _ = draw_below(draw_word(seed, number), len(ENEMIES) - 1)
        enemy.type = ENEMIES[(ENEMIES.index(enemy.type) + 1 + other) % len(ENEMIES)]
        enemy.hp = FULL_HP[enemy.type] - lost
    return _remove_dead(state)


_WITH_DRAWS: dict[str, Callable[[State, Seed], int]] = {"WARP": _warp, "POLY": _change_types}


def _push(state: State) -> None:
    _shove(state, away=True)


def _pull(state: State) -> None:
    _shove(state, away=False)


def _shove(state: State, *, away: bool) -> None:
    """Move each enemy one cell, but not to where another, before it in the list, has just gone."""
    wishes = [_find_wish(state.player.place, enemy.place, away=away) for enemy in state.enemies]
    moved_to: set[Place] = set()
    for enemy, wish in zip(state.enemies, wishes, strict=True):
        if wish is not None and wish not in moved_to:
            enemy.row, enemy.col = wish
            moved_to.add(wish)


def _find_wish(player: Place, place: Place, *, away: bool) -> Place | None:
    way = 1 if away else -1
    over, beside = (way * ((mine > its) - (mine < its)) for mine, its in zip(place, player, strict=True))
    row, col = place
    wanted = [(row + over, col + beside)]
    wanted += [(row + over, col)] if over else []
    wanted += [(row, col + beside)] if beside else []
    possible = [each for each in wanted if each in PLACES and (away or each != player)]
    # max takes the first of equals, as the rules do
    return max(possible, key=lambda each: way * manhattan_distance(each, player), default=None)


def _undo(state: State) -> None:
    for name, value in copy_restorable(state.history.pop()).items():
        setattr(state, name, value)


def _reduce(state: State) -> None:
    for place, cell in state.cells.items():
        if cell.block and not cell.siphoned:
            state.cells[place] = cell._replace(block=cell.block._replace(spawn=max(0, cell.block.spawn - 1)))


def _delay(state: State) -> None:
    for each in state.transmissions:
        each.turns += DELAYED_TURNS


def _arm_step(state: State) -> None:
    state.step_active = True


def _buy_siphon(state: State) -> None:
    state.player.data_siphons += 1


def _exchange(state: State) -> None:
    state.player.energy += EXCHANGED_ENERGY


def _show(state: State) -> None:
    state.show = True


def _reset_hp(state: State) -> None:
    state.player.hp = MAX_HP


def _calm(state: State) -> None:
    state.calm = True


def _score(state: State) -> None:
    state.player.score += STAGES - state.stage


def _upgrade_attack(state: State) -> None:
    state.player.attack += 1
    state.atk_uses += 1


_CHANGES: dict[str, Callable[[State], None]] = {
    "PUSH": _push,
    "PULL": _pull,
    "UNDO": _undo,
    "STEP": _arm_step,
    "SIPH+": _buy_siphon,
    "EXCH": _exchange,
    "SHOW": _show,
    "RESET": _reset_hp,
    "CALM": _calm,
    "DELAY": _delay,
    "SCORE": _score,
    "REDUC": _reduce,
    "ATK+": _upgrade_attack,
}
