"""What a player sees of the plain game."""

from support.hackmatrix_model.game import (
    PLACES,
    PROGRAMS,
    TYPES,
    Enemy,
    Game,
    Place,
)


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
