"""Everything that is random in the plain game: a test may draw otherwise."""

import random

from support.hackmatrix_model.game import (
    CORNERS,
    PLACES,
    PROGRAMS,
    TYPES,
    Block,
    Cell,
    Enemy,
    Game,
    Place,
    empty_board,
    neighbours,
)


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
