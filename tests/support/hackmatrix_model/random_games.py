"""Random games, richer than play makes them: everything that the rules speak of, often and close together."""

import random

from plaudit.systems.hackmatrix.plain.cells import NEIGHBOURS, PLACES, RING, Place, manhattan_distance
from plaudit.systems.hackmatrix.plain.state import FULL_HP, Block, Enemy, Player, State, Transmission
from plaudit.systems.hackmatrix.rules import CORNERS, ENEMIES, PROGRAM_SPAWN, PROGRAMS, SLOTS


def random_game(chance: random.Random) -> State:
    """Return a game with anything the rules allow, snapshots included."""
    game = _random_game(chance, chance.choice(CORNERS))
    if chance.random() < 0.5:
        depth = chance.choice([1, 1, 2, 3, 8])
        game.history = [_random_game(chance, game.exit).take_snapshot() for _ in range(depth)]
    return game


def _random_game(chance: random.Random, exit_: Place) -> State:
    turn = chance.randrange(30)
    game = State(
        player=_player(chance, exit_),
        exit=exit_,
        stage=chance.randint(1, 8),
        turn=turn,
        owned=set(PROGRAMS) if chance.random() < 0.7 else {name for name in PROGRAMS if chance.random() < 0.3},
        show=chance.random() < 0.2,
        calm=chance.random() < 0.2,
        step_active=chance.random() < 0.1,
        atk_uses=chance.randrange(3),
        interval=chance.randint(4, 12),
        next_task=turn + chance.randint(-1, 6),
        pending=chance.choice([0] * 8 + [1, 3, 12, 40]),
    )
    mood = chance.choice(["spread"] * 10 + ["crowd"] * 5 + ["horde"])
    _fill_board(game, chance)
    _add_enemies(game, chance, mood)
    _add_transmissions(game, chance, mood)
    return game


def _player(chance: random.Random, exit_: Place) -> Player:
    near = NEIGHBOURS[exit_]
    row, col = chance.choice(near) if chance.random() < 0.15 else chance.choice(PLACES)
    rich = chance.random() < 0.6
    return Player(
        row=row,
        col=col,
        hp=chance.choice([1, 1, 2, 3]),
        credits=chance.randint(6, 60) if rich else chance.randrange(6),
        energy=chance.randint(6, 60) if rich else chance.randrange(6),
        data_siphons=chance.randrange(4),
        score=chance.randrange(60),
        attack=chance.choice([1, 1, 2, 3, 5]),
    )


def _fill_board(game: State, chance: random.Random) -> None:
    density = chance.choice([0, 0.1, 0.25, 0.45])
    marked = chance.choice([0, 0, 0.1, 0.4])
    for place, cell in game.cells.items():
        siphoned = chance.random() < marked
        cell = cell._replace(siphoned=siphoned, siphon_center=siphoned and chance.random() < 0.3)
        shy = place in (game.player.place, game.exit)  # blocks belong neither under the player nor on the exit
        if chance.random() < (0.03 if shy else density):
            cell = cell._replace(block=_block(chance, siphoned=siphoned))
        if chance.random() < (0.05 if cell.block else 0.5) and place != game.exit:
            cell = cell._replace(**{chance.choice(["credits", "energy"]): chance.randint(1, 3)})
        if not cell.block and place != game.exit:
            cell = cell._replace(data_siphon=chance.random() < 0.1)
        game.cells[place] = cell


def _block(chance: random.Random, *, siphoned: bool) -> Block:
    program = chance.choice([None, chance.choice(PROGRAMS)])
    question = not siphoned and chance.random() < 0.3
    points = chance.choice([1, 2, chance.randint(1, 9)]) if program is None else 0
    spawn = points if program is None else PROGRAM_SPAWN[PROGRAMS.index(program)]
    return Block(points, program, 0 if siphoned else chance.choice([spawn, spawn, 0, 1]), question)


def _add_enemies(game: State, chance: random.Random, mood: str) -> None:
    blocks_too = chance.random() < 0.4
    idle = 0.9 if mood == "horde" else 0.25
    count = chance.randint(20, SLOTS) if mood == "horde" else chance.choice([0, 1, 2, 2, 3, 3, 4, 5, 7])
    for _ in range(count):
        row, col = _somewhere(game, chance, mood)
        if (row, col) == game.player.place and chance.random() < 0.5:
            continue
        kind = chance.choice(ENEMIES)
        if game.cells[row, col].block and kind != "glitch" and not blocks_too:
            continue
        enemy = Enemy(kind, row, col, chance.randint(1, FULL_HP[kind]))
        if chance.random() < idle:
            enemy.stunned, enemy.disabled = chance.choice([(True, 0), (False, 1), (False, 2), (True, 1)])
        enemy.from_siphon, enemy.from_task = chance.random() < 0.3, chance.random() < 0.3
        game.enemies.append(enemy)


def _add_transmissions(game: State, chance: random.Random, mood: str) -> None:
    shared = 0.3 if mood == "spread" else 0.9
    for _ in range(chance.choice([0, 0, 1, 2, 4]) * (3 if mood == "horde" else 1)):
        row, col = _somewhere(game, chance, mood)
        taken = [each.place for each in game.transmissions]
        if (row, col) in taken or game.cells[row, col].block:
            continue
        if (row, col) in (game.player.place, *(enemy.place for enemy in game.enemies)) and chance.random() > shared:
            continue
        flags = [chance.random() < 0.3 for _ in range(2)]
        game.transmissions.append(
            Transmission(chance.choice(ENEMIES), row, col, chance.choice([1, 1, 1, 2, 5]), *flags)
        )


def _somewhere(game: State, chance: random.Random, mood: str) -> Place:
    """Return a cell, often one near the player, in its row or column, or on an enemy; in a crowd, near an enemy."""
    row, col = game.player.place
    enemies = [enemy.place for enemy in game.enemies]
    if mood == "crowd" and enemies:
        return chance.choice([place for place in PLACES if manhattan_distance(place, enemies[0]) <= 2])
    lines = [place for place in PLACES if place != (row, col) and (place[0] == row or place[1] == col)]
    return chance.choice(
        [
            chance.choice(PLACES),
            chance.choice(RING[row, col]),
            chance.choice(lines),
            chance.choice(enemies or PLACES),
            chance.choice([place for place, cell in game.cells.items() if cell.block] or PLACES),
        ]
    )
