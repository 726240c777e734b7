"""The plain rules made to draw what the environment drew, so that the two can be compared exactly."""

from dataclasses import fields
from typing import Any

from support.hackmatrix_model.draws import Draws, connected, siphonable
from support.hackmatrix_model.game import (
    CORNERS,
    MAX_HP,
    PROGRAMS,
    Cell,
    Enemy,
    Game,
    Place,
    adjacent,
    block_places,
    direct,
)
from support.hackmatrix_model.play import acts, destination


class Impossible(Exception):
    """No draw that the rules allow leads to what the environment returned."""


class Following(Draws):
    """Draws that lead to a given outcome; `Impossible` where the rules do not allow it."""

    def __init__(self, outcome: Game):
        self.outcome = outcome
        self.changed = iter(outcome.enemies)

    def orders(self, game: Game) -> list[list[int]]:
        if len(self.outcome.enemies) != len(game.enemies):
            raise Impossible(f"{len(game.enemies)} enemies act, {len(self.outcome.enemies)} are there afterwards")
        found = Explanation(game, self.outcome).orders()
        if found is None:
            raise Impossible("no order of visits moves the enemies so, or hurts the player so")
        return found

    def warp(self, game: Game) -> int:
        where = self.outcome.player.place
        enemy_drawn = len(self.outcome.enemies) < len(game.enemies)
        for number, each in enumerate([*game.enemies, *game.transmissions]):
            if each.place == where and isinstance(each, Enemy) == enemy_drawn:
                return number
        raise Impossible(f"WARP led to {where}, where no target is")

    def poly(self, enemy: Enemy) -> str:
        others = [kind for kind in MAX_HP if kind != enemy.type]
        if enemy.type == "daemon" and enemy.hp == 1:
            return others[0]  # it dies whatever it becomes
        changed = next(self.changed, None)
        if changed is None or changed.type not in others:
            raise Impossible(f"POLY made {changed} of {enemy}")
        return changed.type

    def transmission(self, game: Game, eligible: list[Place]) -> tuple[Place, str]:
        number = len(game.transmissions)
        if number >= len(self.outcome.transmissions):
            raise Impossible(f"transmission {number} was not placed")
        placed = self.outcome.transmissions[number]
        if placed.place not in eligible:
            raise Impossible(f"transmission {number} was placed on {placed.place}, not on one of {eligible}")
        return placed.place, placed.type

    def board(self, game: Game) -> tuple[Place, dict[Place, Cell]]:
        faults = board_faults(self.outcome, [each.place for each in [*game.enemies, *game.transmissions]])
        if faults:
            raise Impossible("; ".join(faults))
        return self.outcome.exit, self.outcome.copy().cells


class Explanation:
    """A search for orders of visits that end where the enemies are, with the hit points the player has."""

    def __init__(self, game: Game, outcome: Game):
        self.game = game.copy()
        self.wanted = [enemy.place for enemy in outcome.enemies]
        self.hp = outcome.player.hp
        self.dead_ends: set[Any] = set()
        self.visits = 0

    def orders(self) -> list[list[int]] | None:
        """Return an order for each of the two rounds."""
        everyone = range(len(self.game.enemies))
        still = [index for index in everyone if not acts(self.game.enemies[index], 0)]
        if any(self.game.enemies[index].place != self.wanted[index] for index in still):
            return None
        found = self._round(0, frozenset(set(everyone) - set(still)), self.game.player.hp, frozenset())
        if found is None:
            return None
        return [[*order, *(index for index in everyone if index not in order)] for order in found]

    def _round(self, number: int, waiting: frozenset, hp: int, attacked: frozenset) -> list[list[int]] | None:
        """Return orders for the rounds from this one on: those next to the player attack first, as it may well be."""
        player = self.game.player.place
        strikes = {index for index in waiting if adjacent(self.game.enemies[index].place, player)}
        hp, attacked = max(0, hp - len(strikes)), attacked | strikes
        rest = self._visits(number, waiting - strikes, hp, attacked)
        return rest and [[*sorted(strikes), *rest[0]], *rest[1:]]

    def _visits(self, number: int, waiting: frozenset, hp: int, attacked: frozenset) -> list[list[int]] | None:
        enemies = self.game.enemies
        if not waiting:
            return self._after(number, hp, attacked)
        seen = (number, waiting, hp, tuple(enemy.place for enemy in enemies))
        if seen in self.dead_ends:
            return None
        for index in sorted(waiting):
            was = enemies[index].place
            self.visits += 1
            enemies[index].row, enemies[index].col = destination(self.game, index)
            again = number == 0 and acts(enemies[index], 1)
            if direct(enemies[index].place, self.wanted[index]) <= again:
                rest = self._visits(number, waiting - {index}, hp, attacked)
                if rest is not None:
                    return [[index, *rest[0]], *rest[1:]]
            enemies[index].row, enemies[index].col = was
        self.dead_ends.add(seen)
        return None

    def _after(self, number: int, hp: int, attacked: frozenset) -> list[list[int]] | None:
        if number == 1:
            right = hp == self.hp and all(
                enemy.place == wanted for enemy, wanted in zip(self.game.enemies, self.wanted, strict=True)
            )
            return [[]] if right else None
        second = {index for index, enemy in enumerate(self.game.enemies) if acts(enemy, 1)} - attacked
        rest = self._round(1, frozenset(second), hp, attacked)
        return None if rest is None else [[], *rest]


def board_faults(game: Game, taken: list[Place]) -> list[str]:
    """Return what is wrong with a new board; `taken` are the cells of those who were there before."""
    faults = []
    blocks = {place: cell.block for place, cell in game.cells.items() if cell.block}
    pickups = {place for place, cell in game.cells.items() if cell.siphon}
    if game.exit not in CORNERS or game.exit == game.player.place:
        faults.append(f"the exit is on {game.exit}, the player on {game.player.place}")
    if pickups != set(CORNERS) - {game.exit, game.player.place}:
        faults.append(f"data siphons lie on {pickups}")
    if blocks and not 5 <= len(blocks) <= 11:
        faults.append(f"there are {len(blocks)} blocks")
    if bad := [place for place in blocks if place in CORNERS or place in taken]:
        faults.append(f"blocks on {bad}")
    if not connected(set(blocks), game.exit):
        faults.append("not connected")
    if not siphonable(set(blocks)):
        faults.append("a block is out of reach")
    programs = [block.program for block in blocks.values() if block.hidden == "program"]
    if len(programs) != len(set(programs)):
        faults.append(f"programs twice: {programs}")
    for place, block in blocks.items():
        data = block.hidden == "data" and block.points in range(1, 10) and block.program is None
        program = block.hidden == "program" and block.points == 0 and block.program in PROGRAMS
        spawn = block.points if data else PROGRAMS[block.program][2] if program else -1
        if block.spawn != spawn or block.kind not in (block.hidden, "question"):
            faults.append(f"a block on {place}: {block}")
    for place, cell in game.cells.items():
        amounts = sorted([cell.credits, cell.energy])
        bare = place in block_places(game) or place == game.exit
        if cell.siphoned or cell.center or (amounts != [0, 0] if bare else amounts not in ([0, 1], [0, 2], [0, 3])):
            faults.append(f"the cell {place}: {cell}")
    return faults


def differences(expected: Any, got: Any, where: str = "") -> list[str]:
    """Return where two games differ, a line each."""
    if expected == got:
        return []
    if type(expected) is not type(got):
        return [f"{where}: expected {expected!r}, got {got!r}"]
    if hasattr(expected, "__dataclass_fields__"):
        return [
            line
            for each in fields(expected)
            for line in differences(getattr(expected, each.name), getattr(got, each.name), f"{where}.{each.name}")
        ]
    if isinstance(expected, dict) and expected.keys() == got.keys():
        return [line for key in expected for line in differences(expected[key], got[key], f"{where}[{key}]")]
    if isinstance(expected, list) and len(expected) == len(got):
        pairs = enumerate(zip(expected, got, strict=True))
        return [line for index, (mine, its) in pairs for line in differences(mine, its, f"{where}[{index}]")]
    return [f"{where}: expected {expected!r}, got {got!r}"]
