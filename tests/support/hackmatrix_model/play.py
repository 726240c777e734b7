"""The game's rules in plain loops, written from their text alone; whatever is random is asked of `Draws`."""

from dataclasses import replace

from plaudit.systems.hackmatrix.rules import Rules
from support.hackmatrix_model.draws import Draws
from support.hackmatrix_model.game import (
    ACTIONS,
    DIRECTIONS,
    MAX_HP,
    PLACES,
    PROGRAMS,
    ROOM,
    SNAPSHOTS,
    Enemy,
    Game,
    Happened,
    Place,
    Player,
    Transmission,
    adjacent,
    block_places,
    cross,
    direct,
    first_path,
    neighbours,
    restorable,
    ring,
    snapshot_of,
)
from support.hackmatrix_model.scoring import REFERENCE, missed_by_siphon, reward


def new_game(draws: Draws) -> Game:
    row, col = draws.corner()
    game = Game(player=Player(row=row, col=col, **draws.bonus()))
    new_stage(game, draws)
    return game


def new_stage(game: Game, draws: Draws) -> None:
    """Generate the board of the game's stage; enemies and transmissions stay."""
    game.interval = 13 - game.stage
    game.turn, game.next_task = 0, game.interval
    game.show = game.calm = game.step_active = False
    game.atk_uses = 0
    game.history = []
    game.exit, game.cells = draws.board(game)
    for _ in range(game.stage):
        place_transmission(game, draws)


def place_transmission(game: Game, draws: Draws, **origin: bool) -> None:
    eligible = eligible_places(game)
    if eligible and len(game.transmissions) < ROOM:
        (row, col), kind = draws.transmission(game, eligible)
        game.transmissions.append(Transmission(kind, row, col, **origin))


def eligible_places(game: Game) -> list[Place]:
    """Return the empty cells out of the line of fire; if there are none, the empty cells."""
    enemies, blocks = {enemy.place for enemy in game.enemies}, block_places(game)
    taken = {game.player.place} | enemies | blocks | {each.place for each in game.transmissions}
    empty = [place for place in PLACES if place not in taken]
    safe = [place for place in empty if not _in_fire(game.player.place, place, enemies | blocks)]
    return safe or empty


def _in_fire(player: Place, place: Place, shields: set[Place]) -> bool:
    (row, col), (to_row, to_col) = player, place
    if row == to_row:
        between = {(row, each) for each in range(min(col, to_col) + 1, max(col, to_col))}
    elif col == to_col:
        between = {(each, col) for each in range(min(row, to_row) + 1, max(row, to_row))}
    else:
        return False
    return not between & shields


def legal_actions(game: Game) -> list[str]:
    return [action for action in ACTIONS if _legal(game, action)]


def _legal(game: Game, action: str) -> bool:
    player = game.player
    if action in DIRECTIONS:
        place = _next(player.place, action)
        cell = game.cells.get(place)
        return cell is not None and (not cell.block or any(enemy.place == place for enemy in game.enemies))
    if action == "siphon":
        return player.siphons > 0
    credits, energy, _ = PROGRAMS[action]
    return action in game.owned and player.credits >= credits and player.energy >= energy and _applicable(game, action)


def _next(place: Place, direction: str) -> Place:
    return place[0] + DIRECTIONS[direction][0], place[1] + DIRECTIONS[direction][1]


def _applicable(game: Game, program: str) -> bool:
    player, enemies, transmissions = game.player, game.enemies, game.transmissions
    if program in ("push", "pull", "poly"):
        return bool(enemies)
    if program == "crash":
        near = ring(player.place)
        return any(game.cells[place].block for place in near) or any(
            each.place in near for each in [*enemies, *transmissions]
        )
    if program == "warp":
        return bool(enemies or transmissions)
    if program == "debug":
        return any(game.cells[enemy.place].block for enemy in enemies)
    if program == "row":
        return any(enemy.row == player.row for enemy in enemies)
    if program == "col":
        return any(enemy.col == player.col for enemy in enemies)
    if program == "undo":
        return bool(game.history)
    if program == "show":
        return not game.show
    if program == "reset":
        return player.hp < 3
    if program == "calm":
        return not game.calm
    if program == "d_bom":
        return any(enemy.type == "daemon" for enemy in enemies)
    if program == "delay":
        return bool(transmissions)
    if program == "anti-v":
        return any(enemy.type == "virus" for enemy in enemies)
    if program == "score":
        return game.stage < 8
    if program == "reduc":
        return any(cell.block and not cell.siphoned and cell.block.spawn > 0 for cell in game.cells.values())
    if program == "atk+":
        return game.atk_uses < 2
    if program == "hack":
        return any(cell.siphoned for cell in game.cells.values())
    return True  # wait, step, siph+, and exch, which asks for no more than it costs


def step(game: Game, action: str, draws: Draws, *, rules: Rules = REFERENCE) -> tuple[Game, Happened]:
    """Return the game after an action, and what happened; the given game does not change."""
    before, game, happened = game, game.copy(), Happened()
    if not _legal(game, action):
        happened.legal = False
        return game, happened
    if action == "siphon":
        happened.missed = missed_by_siphon(game, rules=rules)
    reached_exit, turn_ends = _apply(game, action, draws, happened)
    if reached_exit:
        happened.stage_completed = True
        game.player.hp = min(3, game.player.hp + 1)
        if game.stage < 8:
            game.stage += 1
            new_stage(game, draws)
        else:
            happened.won = True
    elif turn_ends:
        enemy_turn(game, draws)
    happened.died = game.player.hp == 0
    happened.reward = reward(before, game, action, happened, rules=rules)
    return game, happened


def _apply(game: Game, action: str, draws: Draws, happened: Happened) -> tuple[bool, bool]:
    """Do what an action does; return whether it reached the exit, and whether it ends the player's turn."""
    if action in DIRECTIONS:
        target = target_along(game, action)
        if target is None:
            return _move(game, action, happened), True
        if isinstance(target, Transmission):
            game.transmissions = [each for each in game.transmissions if each is not target]
            happened.kills += not target.from_task
        else:
            _hit(game, [target], game.player.attack, happened)
        return False, True
    if action == "siphon":
        _siphon(game)
        return False, True
    credits, energy, _ = PROGRAMS[action]
    game.player.credits -= credits
    game.player.energy -= energy
    _run(game, action, draws, happened)
    return action == "warp" and game.player.place == game.exit, action == "wait"


def target_along(game: Game, direction: str) -> Enemy | Transmission | None:
    place = _next(game.player.place, direction)
    while place in game.cells:
        for each in [*game.transmissions, *game.enemies]:
            if each.place == place:
                return each
        if game.cells[place].block:
            return None
        place = _next(place, direction)
    return None


def _move(game: Game, direction: str, happened: Happened) -> bool:
    player = game.player
    player.row, player.col = _next(player.place, direction)
    cell = game.cells[player.place]
    if cell.siphon:
        cell.siphon = False
        player.siphons += 1
        happened.picked_up = True
    return player.place == game.exit


def _hit(game: Game, targets: list[Enemy], damage: int, happened: Happened) -> None:
    """Take hit points from enemies; those that survive are stunned, the others are gone."""
    for enemy in targets:
        enemy.hp = max(0, enemy.hp - damage)
        enemy.stunned = enemy.hp > 0
    _bury(game, happened)


def _bury(game: Game, happened: Happened) -> None:
    happened.kills += sum(enemy.hp <= 0 and not enemy.from_task for enemy in game.enemies)
    game.enemies = [enemy for enemy in game.enemies if enemy.hp > 0]


def _siphon(game: Game) -> None:
    player = game.player
    game.cells[player.place].center = True
    for place in cross(player.place):
        cell = game.cells[place]
        if cell.siphoned:
            continue
        if block := cell.block:
            if block.hidden == "data":
                player.score += block.points
            else:
                game.owned.add(block.program)
            game.pending += block.spawn
            block.spawn = 0
            block.kind = block.hidden
        else:
            player.credits += cell.credits
            player.energy += cell.energy
            cell.credits = cell.energy = 0
        cell.siphoned = True
    player.siphons -= 1
    game.interval = max(4, game.interval - 1)
    game.next_task += 5


def _run(game: Game, program: str, draws: Draws, happened: Happened) -> None:
    player, enemies = game.player, game.enemies
    if program in ("push", "pull"):
        _shove(game, away=program == "push")
    elif program == "crash":
        for place in ring(player.place):
            game.cells[place].block = None
            _clear_enemies(game, place, happened)
            _clear_transmissions(game, place, happened)
    elif program == "warp":
        number = draws.warp(game)
        is_enemy = number < len(enemies)
        place = [*enemies, *game.transmissions][number].place
        player.row, player.col = place
        (_clear_enemies if is_enemy else _clear_transmissions)(game, place, happened)
    elif program == "poly":
        for enemy in enemies:
            lost = MAX_HP[enemy.type] - enemy.hp
            enemy.type = draws.poly(enemy)
            enemy.hp = MAX_HP[enemy.type] - lost
        _bury(game, happened)
    elif program == "debug":
        _hit(game, [enemy for enemy in enemies if game.cells[enemy.place].block], player.attack, happened)
    elif program == "row":
        _hit(game, [enemy for enemy in enemies if enemy.row == player.row], player.attack, happened)
    elif program == "col":
        _hit(game, [enemy for enemy in enemies if enemy.col == player.col], player.attack, happened)
    elif program == "hack":
        _hit(game, [enemy for enemy in enemies if game.cells[enemy.place].siphoned], player.attack, happened)
    elif program == "anti-v":
        _hit(game, [enemy for enemy in enemies if enemy.type == "virus"], 1, happened)
    elif program == "d_bom":
        daemons = [enemy for enemy in enemies if enemy.type == "daemon"]
        nearest = min(daemons, key=lambda enemy: direct(enemy.place, player.place))  # the first of equals
        nearest.hp = 0
        _hit(game, [enemy for enemy in enemies if enemy.place in ring(nearest.place)], 1, happened)
    elif program == "undo":
        snapshot = game.history.pop()
        for name, value in restorable(snapshot).items():
            setattr(game, name, value)
    elif program == "step":
        game.step_active = True
    elif program == "siph+":
        player.siphons += 1
    elif program == "exch":
        player.energy += 4
    elif program == "show":
        game.show = True
    elif program == "reset":
        player.hp = 3
    elif program == "calm":
        game.calm = True
    elif program == "delay":
        for each in game.transmissions:
            each.turns += 3
    elif program == "score":
        player.score += 8 - game.stage
    elif program == "reduc":
        for cell in game.cells.values():
            if cell.block and not cell.siphoned:
                cell.block.spawn = max(0, cell.block.spawn - 1)
    elif program == "atk+":
        player.attack += 1
        game.atk_uses += 1


def _clear_enemies(game: Game, place: Place, happened: Happened) -> None:
    """Remove all enemies on a cell, which is one kill at most, and none if the first came from a task."""
    gone = [enemy for enemy in game.enemies if enemy.place == place]
    game.enemies = [enemy for enemy in game.enemies if enemy.place != place]
    happened.kills += bool(gone) and not gone[0].from_task


def _clear_transmissions(game: Game, place: Place, happened: Happened) -> None:
    gone = [each for each in game.transmissions if each.place == place]
    game.transmissions = [each for each in game.transmissions if each.place != place]
    happened.kills += bool(gone) and not gone[0].from_task


def _shove(game: Game, *, away: bool) -> None:
    wishes = [_wish(game.player.place, enemy.place, away=away) for enemy in game.enemies]
    moved_to: set[Place] = set()
    for enemy, wish in zip(game.enemies, wishes, strict=True):
        if wish is not None and wish not in moved_to:
            enemy.row, enemy.col = wish
            moved_to.add(wish)


def _wish(player: Place, place: Place, *, away: bool) -> Place | None:
    way = 1 if away else -1
    down, along = (way * ((mine > its) - (mine < its)) for mine, its in zip(place, player, strict=True))
    row, col = place
    wanted = [(row + down, col + along)]
    wanted += [(row + down, col)] if down else []
    wanted += [(row, col + along)] if along else []
    possible = [each for each in wanted if each in PLACES and (away or each != player)]
    if not possible:
        return None
    return (max if away else min)(possible, key=lambda each: direct(each, player))  # the first of equals


def enemy_turn(game: Game, draws: Draws) -> None:
    if game.step_active:
        game.step_active = False
        return
    game.turn += 1
    hatch(game)
    act(game, draws.orders(game))
    if not game.calm and game.interval > 0 and game.turn >= game.next_task:
        place_transmission(game, draws, from_task=True)
        game.next_task = game.turn + game.interval
    for _ in range(game.pending):
        place_transmission(game, draws, from_siphon=True)
    game.pending = 0
    for enemy in game.enemies:
        enemy.disabled = max(0, enemy.disabled - 1)
        enemy.stunned = False
    game.history = [*game.history, snapshot_of(game)][-SNAPSHOTS:]


def hatch(game: Game) -> None:
    for each in game.transmissions:
        if each.turns <= 1 and len(game.enemies) < ROOM:
            flags = {"from_siphon": each.from_siphon, "from_task": each.from_task}
            game.enemies.append(Enemy(each.type, each.row, each.col, MAX_HP[each.type], disabled=1, **flags))
    game.transmissions = [replace(each, turns=each.turns - 1) for each in game.transmissions if each.turns > 1]


def act(game: Game, orders: list[list[int]]) -> None:
    """Let the enemies move or attack, in the given order of each round."""
    attacked: set[int] = set()
    rounds = 2 if any(enemy.type == "virus" for enemy in game.enemies) else 1
    for number in range(rounds):
        for index in orders[number]:
            if index not in attacked and acts(game.enemies[index], number) and visit(game, index):
                attacked.add(index)


def acts(enemy: Enemy, number: int) -> bool:
    """Return whether an enemy does something in a round, if it has not attacked before."""
    speed = 2 if enemy.type == "virus" else 1
    return not enemy.disabled and not enemy.stunned and speed > number


def visit(game: Game, index: int) -> bool:
    """Let one enemy attack or move; return whether it attacked."""
    enemy, player = game.enemies[index], game.player
    if adjacent(enemy.place, player.place):
        player.hp = max(0, player.hp - 1)
        return True
    enemy.row, enemy.col = destination(game, index)
    return False


def destination(game: Game, index: int) -> Place:
    """Return where an enemy steps that is not next to the player."""
    enemy, goal = game.enemies[index], game.player.place
    others = {other.place for number, other in enumerate(game.enemies) if number != index}
    occupied = others | {each.place for each in game.transmissions}
    walls = set() if enemy.type == "glitch" else block_places(game)
    if enemy.place != goal:
        if path := first_path(enemy.place, goal, walls | (occupied - {goal})):
            return path[0]
        if (path := first_path(enemy.place, goal, walls)) and path[0] not in occupied:
            return path[0]
    free = [place for place in neighbours(enemy.place) if place not in walls and place not in occupied]
    return min(free, key=lambda place: direct(place, goal), default=enemy.place)


def scripted(game: Game) -> str:
    """Return what a simple script does: shoot at the first target in line, else walk to the exit."""
    for direction in DIRECTIONS:
        if target_along(game, direction):
            return direction
    path = first_path(game.player.place, game.exit, block_places(game) - {game.exit})
    return next(direction for direction in DIRECTIONS if _next(game.player.place, direction) == path[0])
