"""The game's rules in plain loops, written from their text alone; whatever is random is asked of `Draws`."""

import random
from collections import Counter
from dataclasses import dataclass, field, replace

from hackmatrix_model.game import (
    ACTIONS,
    COMPONENTS,
    CORNERS,
    DIRECTIONS,
    MAX_HP,
    PLACES,
    PROGRAMS,
    ROOM,
    SNAPSHOTS,
    STAGE_REWARDS,
    TYPES,
    Block,
    Cell,
    Enemy,
    Game,
    Place,
    Player,
    Transmission,
    adjacent,
    block_places,
    cross,
    direct,
    empty_board,
    first_path,
    neighbours,
    restorable,
    ring,
    snapshot_of,
    steps_to_exit,
)
from plaudit.systems.hackmatrix.rules import Rules

REFERENCE = Rules.reference()


class Draws:
    """Everything that is random in the game."""

    def __init__(self, seed: int = 0):
        self.random = random.Random(seed)

    def corner(self) -> Place:
        return self.random.choice(CORNERS)

    def bonus(self) -> dict[str, int]:
        return self.random.choice([{"credits": 10}, {"energy": 11}, {"siphons": 1}])

    def orders(self, game: Game) -> list[list[int]]:
        """Return the orders in which the two rounds of an enemy turn visit the enemies."""
        everyone = range(len(game.enemies))
        return [self.random.sample(everyone, len(everyone)) for _ in range(2)]

    def warp(self, game: Game) -> int:
        """Return the place of WARP's target in the list of enemies and transmissions."""
        return self.random.randrange(len(game.enemies) + len(game.transmissions))

    def poly(self, enemy: Enemy) -> str:
        return self.random.choice([kind for kind in TYPES if kind != enemy.type])

    def transmission(self, game: Game, eligible: list[Place]) -> tuple[Place, str]:
        return self.random.choice(eligible), self.random.choice(TYPES)

    def board(self, game: Game) -> tuple[Place, dict[Place, Cell]]:
        """Return the exit and the cells of a new stage."""
        exit_ = self.random.choice([corner for corner in CORNERS if corner != game.player.place])
        cells = empty_board()
        for corner in CORNERS:
            cells[corner].siphon = corner not in (exit_, game.player.place)
        programs = set(PROGRAMS)
        for place in self._layout(game, exit_):
            cells[place].block = block = self._block(programs)
            programs.discard(block.program or "")
        for place, cell in cells.items():
            if not cell.block and place != exit_:
                setattr(
                    cell, self.random.choice(["credits", "energy"]), self.random.choices([1, 2, 3], [45, 45, 10])[0]
                )
        return exit_, cells

    def _layout(self, game: Game, exit_: Place) -> list[Place]:
        taken = {each.place for each in [*game.enemies, *game.transmissions]}
        eligible = [place for place in PLACES if place not in CORNERS and place not in taken]
        count = self.random.randint(5, 11)
        for _ in range(100):
            blocks = self.random.sample(eligible, count)
            if connected(set(blocks), exit_) and siphonable(set(blocks)):
                return blocks
        return []

    def _block(self, programs: set[str]) -> Block:
        hidden = self.random.choice(["data", "program"])
        kind = "question" if self.random.random() < 0.1 else hidden
        if hidden == "data":
            points = self.random.randint(1, 9)
            return Block(kind, hidden, points=points, spawn=points)
        program = self.random.choice(sorted(programs))
        return Block(kind, hidden, program=program, spawn=PROGRAMS[program][2])


def connected(blocks: set[Place], exit_: Place) -> bool:
    """Return whether a flood from the first free cell reaches all; it does not go on from the exit."""
    free = [place for place in PLACES if place not in blocks]
    reached, waiting = {free[0]}, [free[0]]
    while waiting:
        for step in neighbours(waiting.pop()):
            if step not in blocks and step not in reached:
                reached.add(step)
                if step != exit_:
                    waiting.append(step)
    return len(reached) == len(free)


def siphonable(blocks: set[Place]) -> bool:
    return all(any(step not in blocks for step in neighbours(block)) for block in blocks)


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


@dataclass(slots=True)
class Happened:
    """What a step did, besides what it changed."""

    legal: bool = True
    kills: int = 0
    picked_up: bool = False
    stage_completed: bool = False
    won: bool = False
    died: bool = False
    missed: tuple[int, int] = (0, 0)
    reward: dict[str, float] = field(default_factory=lambda: dict.fromkeys(COMPONENTS, 0.0))

    @property
    def done(self) -> bool:
        return not self.legal or self.won or self.died

    @property
    def total(self) -> float:
        return sum(self.reward.values())


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


def missed_by_siphon(game: Game, *, rules: Rules = REFERENCE) -> tuple[int, int]:
    """Return the credits and the energy that a siphon elsewhere would have given besides the same blocks."""
    here = game.player.place
    credits, energy, points, programs = siphon_yield(game, here, rules=rules)
    must_reach = set()
    if rules.siphon_candidates == "same_blocks" and (points or programs):
        must_reach = {place for place in cross(here) if game.cells[place].block and not game.cells[place].siphoned}
    best_credits, best_energy = credits, energy
    for place in PLACES:
        if game.cells[place].block or not must_reach <= set(cross(place)):
            continue
        more_credits, more_energy, *content = siphon_yield(game, place, rules=rules)
        if (
            content == [points, programs]
            and more_credits >= credits
            and more_energy >= energy
            and (more_credits, more_energy) != (credits, energy)
        ):
            best_credits, best_energy = max(best_credits, more_credits), max(best_energy, more_energy)
    return best_credits - credits, best_energy - energy


def siphon_yield(game: Game, place: Place, *, rules: Rules = REFERENCE) -> tuple[int, int, Counter[int], set[str]]:
    """Return the credits, energy, points and new programs that a siphon from a cell would give."""
    credits, energy, points, programs = 0, 0, Counter(), set()
    if game.cells[place].block:
        return credits, energy, points, programs
    for each in cross(place):
        cell, block = game.cells[each], game.cells[each].block
        if block is None:
            if not cell.siphoned or rules.siphoned_cells == "counted":
                credits += cell.credits
                energy += cell.energy
        elif cell.siphoned or (block.kind == "question" and rules.question_blocks == "ignored"):
            continue
        elif block.hidden == "data":
            points[block.points] += 1
        elif block.program not in game.owned:
            programs.add(block.program)
    return credits, energy, points, programs


def exit_distance(game: Game, *, rules: Rules = REFERENCE) -> int:
    steps = steps_to_exit(game)
    if steps is None:
        return direct(game.player.place, game.exit) if rules.no_path == "manhattan" else 0
    return steps


def reward(before: Game, after: Game, action: str, happened: Happened, *, rules: Rules) -> dict[str, float]:
    """Return the components of a legal step's reward."""
    was, now = before.player, after.player
    far = exit_distance(before, rules=rules)
    closer = far - exit_distance(after, rules=rules)
    if happened.stage_completed:
        closer = far
    if happened.died:
        closer = 0
    credits, energy = happened.missed
    by_siphon = any(enemy.from_siphon and adjacent(enemy.place, now.place) for enemy in after.enemies)
    completed, died = happened.stage_completed, happened.died
    return {
        "step_penalty": -0.01,
        "stage_completion": float(STAGE_REWARDS[before.stage - 1]) if completed else 0.0,
        "score_gain": 0.5 * (now.score - was.score),
        "kills": 0.3 * happened.kills,
        "data_siphon": 1.0 if happened.picked_up else 0.0,
        "distance_shaping": 0.05 * max(0, closer),
        "victory": 500.0 + 100.0 * now.score if happened.won else 0.0,
        "death_penalty": -0.5 * sum(STAGE_REWARDS[: before.stage - 1]) if died else 0.0,
        "resource_gain": 0.05 * (now.credits - was.credits) + 0.05 * (now.energy - was.energy),
        "resource_holding": 0.01 * now.credits + 0.01 * now.energy if completed else 0.0,
        "damage_penalty": -1.0 * max(0, was.hp - now.hp),
        "hp_recovery": 1.0 * max(0, now.hp - was.hp),
        "siphon_quality": -0.5 * (0.05 * credits + 0.05 * energy),
        "program_waste": -0.3 if action == "reset" and was.hp == 2 else 0.0,
        "siphon_death_penalty": -10.0 if died and by_siphon else 0.0,
    }


def scripted(game: Game) -> str:
    """Return what a simple script does: shoot at the first target in line, else walk to the exit."""
    for direction in DIRECTIONS:
        if target_along(game, direction):
            return direction
    path = first_path(game.player.place, game.exit, block_places(game) - {game.exit})
    return next(direction for direction in DIRECTIONS if _next(game.player.place, direction) == path[0])


def observed(game: Game) -> tuple[list[float], list[int], dict[tuple[int, int, int], float]]:
    """Return what a player sees: of itself, of its programs, and what is not 0 on the board by row, column, feature."""
    player = game.player
    own = [
        player.row / 5,
        player.col / 5,
        player.hp / 3,
        min(player.credits / 50, 1),
        min(player.energy / 50, 1),
        (game.stage - 1) / 7,
        player.siphons / 10,
        (player.attack - 1) / 2,
        float(game.show),
        float(game.calm),
    ]
    grid = {(*place, feature): value for place in PLACES for feature, value in _features(game, place).items() if value}
    return own, [int(name in game.owned) for name in PROGRAMS], grid


def _features(game: Game, place: Place) -> dict[int, float]:
    cell, block = game.cells[place], game.cells[place].block
    seen: dict[int, float] = {39: cell.siphon, 40: place == game.exit, 41: cell.center}
    enemy = next((each for each in game.enemies if each.place == place), None)
    if enemy and _visible(game, enemy):
        seen |= {TYPES.index(enemy.type): 1, 4: enemy.hp / 3, 5: enemy.stunned, 6: enemy.from_siphon}
    if block:
        seen |= {7 + ["data", "program", "question"].index(block.kind): 1, 11: cell.siphoned}
        if block.kind != "question":
            seen |= {10: block.points / 9, 35: block.spawn / 9}
            if block.program:
                seen[12 + list(PROGRAMS).index(block.program)] = 1
    if coming := next((each for each in game.transmissions if each.place == place), None):
        seen[36] = min(coming.turns / 4, 1)
    if not block or cell.siphoned:
        seen |= {37: cell.credits / 3, 38: cell.energy / 3}
    return seen


def _visible(game: Game, enemy: Enemy) -> bool:
    in_line = enemy.row == game.player.row or enemy.col == game.player.col
    return enemy.type != "cryptog" or in_line or game.show
