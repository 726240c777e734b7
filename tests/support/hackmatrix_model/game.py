"""A game as lists and dictionaries, for the rules in plain loops that the environment is compared with."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field, replace

Place = tuple[int, int]

SIZE = 6
PLACES = [(row, col) for row in range(SIZE) for col in range(SIZE)]
CORNERS = [(0, 0), (0, 5), (5, 0), (5, 5)]
DIRECTIONS = {"up": (1, 0), "down": (-1, 0), "left": (0, -1), "right": (0, 1)}
ROOM = 36
SNAPSHOTS = 8

MAX_HP = {"virus": 2, "daemon": 3, "glitch": 2, "cryptog": 2}
TYPES = list(MAX_HP)

# name: credits, energy, transmissions that a block with it releases
PROGRAMS = {
    "push": (0, 2, 4),
    "pull": (0, 2, 4),
    "crash": (3, 2, 6),
    "warp": (2, 2, 5),
    "poly": (1, 1, 3),
    "wait": (0, 1, 1),
    "debug": (3, 0, 4),
    "row": (3, 1, 2),
    "col": (3, 1, 2),
    "undo": (1, 0, 3),
    "step": (0, 3, 4),
    "siph+": (5, 0, 7),
    "exch": (4, 0, 3),
    "show": (2, 0, 2),
    "reset": (0, 4, 2),
    "calm": (2, 4, 6),
    "d_bom": (3, 0, 4),
    "delay": (1, 2, 4),
    "anti-v": (3, 0, 4),
    "score": (0, 5, 5),
    "reduc": (2, 1, 3),
    "atk+": (4, 4, 8),
    "hack": (2, 2, 4),
}
ACTIONS = [*DIRECTIONS, "siphon", *PROGRAMS]

COMPONENTS = (
    "step_penalty",
    "stage_completion",
    "score_gain",
    "kills",
    "data_siphon",
    "distance_shaping",
    "victory",
    "death_penalty",
    "resource_gain",
    "resource_holding",
    "damage_penalty",
    "hp_recovery",
    "siphon_quality",
    "program_waste",
    "siphon_death_penalty",
)
STAGE_REWARDS = [1, 2, 4, 8, 16, 32, 64, 100]


@dataclass(slots=True)
class Block:
    kind: str
    """data, program or question"""
    hidden: str
    """data or program: what it holds, also when the kind does not say so."""
    points: int = 0
    program: str | None = None
    spawn: int = 0


@dataclass(slots=True)
class Cell:
    block: Block | None = None
    credits: int = 0
    energy: int = 0
    siphon: bool = False
    siphoned: bool = False
    center: bool = False

    def copy(self) -> Cell:
        block = self.block and replace(self.block)
        return Cell(block, self.credits, self.energy, self.siphon, self.siphoned, self.center)


@dataclass(slots=True)
class Enemy:
    type: str
    row: int
    col: int
    hp: int
    disabled: int = 0
    stunned: bool = False
    from_siphon: bool = False
    from_task: bool = False

    @property
    def place(self) -> Place:
        return self.row, self.col


@dataclass(slots=True)
class Transmission:
    type: str
    row: int
    col: int
    turns: int = 1
    from_siphon: bool = False
    from_task: bool = False

    @property
    def place(self) -> Place:
        return self.row, self.col


@dataclass(slots=True)
class Player:
    row: int = 0
    col: int = 0
    hp: int = 3
    credits: int = 0
    energy: int = 0
    siphons: int = 0
    score: int = 0
    attack: int = 1

    @property
    def place(self) -> Place:
        return self.row, self.col


def empty_board() -> dict[Place, Cell]:
    return {place: Cell() for place in PLACES}


@dataclass(slots=True)
class Snapshot:
    """What UNDO restores."""

    player: Player
    turn: int
    owned: set[str]
    enemies: list[Enemy]
    transmissions: list[Transmission]
    cells: dict[Place, Cell]
    show: bool
    calm: bool
    atk_uses: int


@dataclass(slots=True)
class Game:
    """A game between two steps; by default an empty board, the player bottom left and the exit top right."""

    player: Player = field(default_factory=Player)
    cells: dict[Place, Cell] = field(default_factory=empty_board)
    exit: Place = (5, 5)
    enemies: list[Enemy] = field(default_factory=list)
    transmissions: list[Transmission] = field(default_factory=list)
    stage: int = 1
    turn: int = 0
    owned: set[str] = field(default_factory=set)
    show: bool = False
    calm: bool = False
    step_active: bool = False
    atk_uses: int = 0
    interval: int = 12
    next_task: int = 12
    pending: int = 0
    history: list[Snapshot] = field(default_factory=list)
    """The oldest first."""

    def copy(self) -> Game:
        return replace(
            self,
            **restorable(self),
            history=list(self.history),  # a snapshot is never changed, only copied from
        )


def restorable(game: Game | Snapshot) -> dict:
    """Return copies of what a snapshot holds."""
    return {
        "player": replace(game.player),
        "turn": game.turn,
        "owned": set(game.owned),
        "enemies": [replace(enemy) for enemy in game.enemies],
        "transmissions": [replace(each) for each in game.transmissions],
        "cells": {place: replace(cell, block=cell.block and replace(cell.block)) for place, cell in game.cells.items()},
        "show": game.show,
        "calm": game.calm,
        "atk_uses": game.atk_uses,
    }


def snapshot_of(game: Game) -> Snapshot:
    return Snapshot(**restorable(game))


def neighbours(place: Place) -> list[Place]:
    """Return the cells up, down, left and right of a cell, as far as the board has them."""
    row, col = place
    around = [(row + down, col + along) for down, along in DIRECTIONS.values()]
    return [each for each in around if each in _ON_BOARD]


def ring(place: Place) -> list[Place]:
    """Return the up to eight cells around a cell."""
    row, col = place
    return [each for each in PLACES if each != place and abs(each[0] - row) <= 1 and abs(each[1] - col) <= 1]


def cross(place: Place) -> list[Place]:
    return [place, *neighbours(place)]


def direct(place: Place, other: Place) -> int:
    return abs(place[0] - other[0]) + abs(place[1] - other[1])


def adjacent(place: Place, other: Place) -> bool:
    return direct(place, other) == 1


def first_path(start: Place, goal: Place, forbidden: Collection[Place]) -> list[Place] | None:
    """Return the cells after `start` of the first shortest way to `goal` that enters no forbidden cell."""
    came_from: dict[Place, Place] = {}
    waiting = deque([start])
    while waiting:
        place = waiting.popleft()
        for step in neighbours(place):
            if step == start or step in came_from or step in forbidden:
                continue
            came_from[step] = place
            if step == goal:
                path = [step]
                while came_from[path[0]] != start:
                    path.insert(0, came_from[path[0]])
                return path
            waiting.append(step)
    return None


def block_places(game: Game) -> set[Place]:
    return {place for place, cell in game.cells.items() if cell.block}


def steps_to_exit(game: Game) -> int | None:
    """Return how many steps lead to the exit around all blocks; the exit itself may have one."""
    if game.player.place == game.exit:
        return 0
    path = first_path(game.player.place, game.exit, block_places(game) - {game.exit})
    return None if path is None else len(path)


_ON_BOARD = frozenset(PLACES)


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
