"""What the player sees of a game, as numbers for a network."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from plaudit.systems.hackmatrix.features import CELL, MOST_TURNS, PLAYER, Observation
from plaudit.systems.hackmatrix.plain.cells import PLACES, Place
from plaudit.systems.hackmatrix.plain.state import Block, Enemy, State
from plaudit.systems.hackmatrix.rules import DATA, ENEMIES, PROGRAM, PROGRAMS, QUESTION, SIZE

_FIRST = {place: number * len(CELL) for number, place in enumerate(PLACES)}
"""Where the features of each cell begin."""
_OFFSETS = np.array([feature.offset for feature in PLAYER], np.float32)
_SCALES = np.array([feature.scale for feature in PLAYER], np.float32)
_CAPS = np.array([1.0 if feature.capped else np.inf for feature in PLAYER], np.float32)


def observe(state: State) -> Observation:
    """Return what the player sees.

    >>> observe(State()).flat().shape
    (1545,)
    """
    places, values = [], []
    for place, part, value in _see_parts(state):
        at, number = _find_feature(part, value)
        places.append(_FIRST[place] + at)
        values.append(number)
    grid = np.zeros(len(PLACES) * len(CELL), np.float32)
    grid[places] = values
    owned = np.array([name in state.owned for name in PROGRAMS], np.int32)
    return Observation(_see_player(state), owned, grid.reshape(SIZE, SIZE, len(CELL)))


@cache
def _find_feature(part: str, value: int) -> tuple[int, float]:
    """Return which feature of a cell a part with a value is, and its number."""
    for at, feature in enumerate(CELL):
        if feature.part == part and feature.equals in (0, value):
            return at, 1.0 if feature.equals else value * float(feature.scale)
    raise ValueError(f"no feature describes {part} = {value}")


def _see_player(state: State) -> Any:
    player = state.player
    sources = (player if hasattr(player, feature.name) else state for feature in PLAYER)
    numbers = [getattr(source, feature.name) for source, feature in zip(sources, PLAYER, strict=True)]
    scaled = (np.array(numbers, np.float32) - _OFFSETS) * _SCALES
    return np.minimum(scaled, _CAPS)


def _see_parts(state: State) -> Iterator[tuple[Place, str, int]]:
    """Yield what is seen and not 0: a cell, a part of it and its number."""
    yield state.exit, "exit", 1
    for place, cell in state.cells.items():
        block, credits, energy, data_siphon, siphoned, siphon_center = cell
        if data_siphon:
            yield place, "data_siphon", 1
        if siphon_center:
            yield place, "siphon_center", 1
        if block is None or siphoned:
            if credits:
                yield place, "credits", credits
            if energy:
                yield place, "energy", energy
        if block is not None:
            yield from ((place, part, value) for part, value in _see_block(block, siphoned=siphoned) if value)
    taken = set()
    for enemy in state.enemies:
        if enemy.hp > 0 and enemy.place not in taken:
            taken.add(enemy.place)  # a cryptog that is hidden also hides who stands with it
            if is_visible(state, enemy):
                yield enemy.place, "enemy", 1 + ENEMIES.index(enemy.type)
                yield enemy.place, "hp", enemy.hp
                if enemy.stunned:
                    yield enemy.place, "stunned", 1
                if enemy.from_siphon:
                    yield enemy.place, "from_siphon", 1
    for each in reversed(state.transmissions):  # so that the first one of a cell stays
        yield each.place, "turns", min(max(each.turns, 0), MOST_TURNS)


def _see_block(block: Block, *, siphoned: bool) -> Iterator[tuple[str, int]]:
    """Yield what is seen of a block; what a question block holds shows once it is siphoned."""
    yield "siphoned", siphoned
    yield "block", QUESTION if block.question else DATA if block.program is None else PROGRAM
    if not block.question or siphoned:
        if block.program is None:
            yield "points", block.points
        else:
            yield "program", 1 + PROGRAMS.index(block.program)
    if not block.question and not siphoned:
        yield "spawn", block.spawn


def is_visible(state: State, enemy: Enemy) -> bool:
    """Return whether an enemy is seen: a cryptog only in the player's row or column, unless SHOW is on."""
    in_line = enemy.row == state.player.row or enemy.col == state.player.col
    return enemy.type != "cryptog" or in_line or state.show
