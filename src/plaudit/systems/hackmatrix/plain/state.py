"""The state of one game in plain Python: what lies on the board, who is there, and what UNDO can go back to."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from plaudit.errors import OutOfRange, UnknownCategory, WrongType
from plaudit.systems.hackmatrix.plain.cells import PLACES, Place
from plaudit.systems.hackmatrix.rules import CORNERS, ENEMIES, ENEMY_HP, MAX_HP, SIZE, SLOTS, STAGES, interval_of

FULL_HP = dict(zip(ENEMIES, ENEMY_HP, strict=True))
"""The hit points that each type of enemy begins with."""


class Block(NamedTuple):
    """A block: points, or a program where one is named."""

    points: int = 0
    program: str | None = None
    spawn: int = 0
    """Transmissions that siphoning it releases."""
    question: bool = False
    """What it holds is hidden until it is siphoned."""


class Cell(NamedTuple):
    """What lies on a cell."""

    block: Block | None = None
    credits: int = 0
    energy: int = 0
    data_siphon: bool = False
    siphoned: bool = False
    siphon_center: bool = False


@dataclass(slots=True)
class Enemy:
    """One enemy; by default with the full hit points of its type.

    >>> Enemy("virus", row=0, col=3).hp
    2
    """

    type: str
    row: int
    col: int
    hp: int = -1
    disabled: int = 0
    stunned: bool = False
    from_siphon: bool = False
    from_task: bool = False

    def __post_init__(self) -> None:
        if self.type not in FULL_HP:
            raise UnknownCategory(f"no enemy is called {self.type!r}; choose from {', '.join(ENEMIES)}.")
        if self.hp < 0:
            self.hp = FULL_HP[self.type]

    @property
    def place(self) -> Place:
        """The cell it is on."""
        return self.row, self.col


@dataclass(slots=True)
class Transmission:
    """One transmission, which becomes an enemy of its type after some turns.

    >>> Transmission("glitch", row=4, col=4, turns=3).turns
    3
    """

    type: str
    row: int
    col: int
    turns: int = 1
    from_siphon: bool = False
    from_task: bool = False

    def __post_init__(self) -> None:
        if self.type not in FULL_HP:
            raise UnknownCategory(f"no enemy is called {self.type!r}; choose from {', '.join(ENEMIES)}.")

    @property
    def place(self) -> Place:
        """The cell it is on."""
        return self.row, self.col


@dataclass(slots=True)
class Player:
    """Where the player is and what it has."""

    row: int = 0
    col: int = 0
    hp: int = MAX_HP
    credits: int = 0
    energy: int = 0
    data_siphons: int = 0
    score: int = 0
    attack: int = 1

    @property
    def place(self) -> Place:
        """The cell it is on."""
        return self.row, self.col


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
class State:
    """A game between two steps; by default an empty board, the player bottom left and the exit top right.

    >>> State(enemies=[Enemy("virus", 0, 3)]).copy().enemies[0].hp
    2
    """

    player: Player = field(default_factory=Player)
    cells: dict[Place, Cell] = field(default_factory=lambda: dict.fromkeys(PLACES, Cell()))
    exit: Place = CORNERS[-1]
    enemies: list[Enemy] = field(default_factory=list)
    transmissions: list[Transmission] = field(default_factory=list)
    stage: int = 1
    turn: int = 0
    owned: set[str] = field(default_factory=set)
    show: bool = False
    calm: bool = False
    step_active: bool = False
    atk_uses: int = 0
    interval: int = interval_of(1)
    next_task: int = interval_of(1)
    pending: int = 0
    history: list[Snapshot] = field(default_factory=list)
    """The oldest first; a snapshot is never changed, only copied from."""

    def copy(self) -> State:
        """Return a state that can be changed without changing this one."""
        return replace(self, **copy_restorable(self), history=list(self.history))

    def take_snapshot(self) -> Snapshot:
        """Return what UNDO would restore of this state."""
        return Snapshot(**copy_restorable(self))

    @property
    def entities(self) -> list[Enemy | Transmission]:
        """The enemies, and then the transmissions."""
        return [*self.enemies, *self.transmissions]

    @property
    def blocks(self) -> set[Place]:
        """The cells with a block."""
        return {place for place, cell in self.cells.items() if cell.block}


_RESTORABLE = [each.name for each in fields(Snapshot)]


def copy_restorable(source: State | Snapshot) -> dict[str, Any]:
    """Return copies of what a snapshot holds, by name."""
    values = {name: getattr(source, name) for name in _RESTORABLE}
    return values | {
        "player": replace(source.player),
        "owned": set(source.owned),
        "enemies": [replace(enemy) for enemy in source.enemies],
        "transmissions": [replace(each) for each in source.transmissions],
        "cells": dict(source.cells),
    }


def validate_state(state: State) -> State:
    """Return a state that was made by hand, if a game can go on from it."""
    numbers = {
        "player.row": (state.player.row, 0, SIZE - 1),
        "player.col": (state.player.col, 0, SIZE - 1),
        "player.hp": (state.player.hp, 0, MAX_HP),
        "stage": (state.stage, 1, STAGES),
        "len(enemies)": (len(state.enemies), 0, SLOTS),
        "len(transmissions)": (len(state.transmissions), 0, SLOTS),
    }
    for name, (value, low, high) in numbers.items():
        try:
            number = operator.index(value)
        except TypeError:
            raise WrongType(f"the state's {name} is {value!r}; it must be an integer.") from None
        if not low <= number <= high:
            raise OutOfRange(f"the state's {name} is {number}; it must be from {low} to {high}.")
    if state.exit not in CORNERS:
        raise OutOfRange(f"the state's exit is {state.exit}; it must be a corner: {', '.join(map(str, CORNERS))}.")
    for each in state.entities:
        if each.place not in PLACES:
            raise OutOfRange(f"{each} is off the board, which has rows and columns from 0 to {SIZE - 1}.")
    if set(state.cells) != set(PLACES):
        raise OutOfRange(f"the state's cells must be the {len(PLACES)} of the board.")
    return state
