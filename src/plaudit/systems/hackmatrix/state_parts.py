"""The parts of a game's state: the player, the board, the enemies, the transmissions, what the reward remembers."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from plaudit.errors import OutOfRange, UnknownCategory, UnknownField, did_you_mean
from plaudit.systems.hackmatrix.plain.state import Enemy, Transmission
from plaudit.systems.hackmatrix.pytree_fields import ArrayField, StatePart, array_field, register_pytree
from plaudit.systems.hackmatrix.rules import (
    CORNERS,
    DATA,
    ENEMIES,
    MAX_HP,
    PROGRAM,
    PROGRAM_SPAWN,
    PROGRAMS,
    QUESTION,
    SIZE,
    SLOTS,
)

_GRID = (SIZE, SIZE)
_LIST = (SLOTS,)
_LAST = SIZE - 1


@register_pytree
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Player(StatePart):
    """The player's position and resources.

    >>> Player(hp=2, credits=5).hp.item()
    2
    """

    row: ArrayField = array_field(0, np.int32, high=_LAST)
    col: ArrayField = array_field(0, np.int32, high=_LAST)
    hp: ArrayField = array_field(MAX_HP, np.int32, high=MAX_HP)
    credits: ArrayField = array_field(0, np.int32)
    energy: ArrayField = array_field(0, np.int32)
    data_siphons: ArrayField = array_field(0, np.int32)
    score: ArrayField = array_field(0, np.int32)
    attack: ArrayField = array_field(1, np.int32)


@register_pytree
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Grid(StatePart):
    """The cells of the board, by row and column; `block_program` is -1 without a program.

    >>> Grid.of({(0, 1): {"credits": 2}}).credits[0, 1].item()
    2
    """

    block_kind: ArrayField = array_field(0, np.int8, _GRID, bits=2)
    block_is_data: ArrayField = array_field(False, np.bool_, _GRID, bits=1)
    block_points: ArrayField = array_field(0, np.int8, _GRID, bits=5)
    block_program: ArrayField = array_field(-1, np.int8, _GRID, bits=5, low=-1, high=len(PROGRAMS) - 1)
    block_spawn: ArrayField = array_field(0, np.int8, _GRID, bits=5)
    credits: ArrayField = array_field(0, np.int8, _GRID, bits=4)
    energy: ArrayField = array_field(0, np.int8, _GRID, bits=4)
    data_siphon: ArrayField = array_field(False, np.bool_, _GRID, bits=1)
    exit: ArrayField = array_field(False, np.bool_, _GRID, bits=1)
    siphoned: ArrayField = array_field(False, np.bool_, _GRID, bits=1)
    siphon_center: ArrayField = array_field(False, np.bool_, _GRID, bits=1)

    @classmethod
    def of(cls, cells: dict[tuple[int, int], dict[str, Any]], *, exit: tuple[int, int] = (5, 5)) -> "Grid":
        """Build a board with things on some of its cells.

        Args:
            cells: The things on each cell, by row and column.
            exit: The corner of the exit.

        Returns:
            The board.

        Raises:
            OutOfRange: A cell is off the board, or the exit is not a corner.
            UnknownField: A cell cannot have a thing of that name.

        >>> Grid.of({(2, 2): data_block(5), (0, 5): {"data_siphon": True, "energy": 2}}).block_points[2, 2].item()
        5
        """
        if tuple(exit) not in CORNERS:
            raise OutOfRange(f"Grid.of(exit={exit!r}) must be a corner: {', '.join(map(str, CORNERS))}.")
        layers = {each.name: np.full(_GRID, each.default, np.int64) for each in dataclasses.fields(cls)}
        for cell, things in {**cells, exit: {**cells.get(exit, {}), "exit": True}}.items():
            if not all(0 <= number < SIZE for number in cell):
                raise OutOfRange(f"cell {cell} is off the board, which has rows and columns from 0 to {_LAST}.")
            for name, value in things.items():
                if name not in layers:
                    raise UnknownField(f"a cell has no {name!r}.{did_you_mean(name, layers)}")
                layers[name][cell] = value
        return cls(**layers)


@register_pytree
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Enemies(StatePart):
    """The enemies in the order they came: the first `count` slots; the other slots are 0.

    >>> Enemies.of(Enemy("virus", 0, 3)).count.item()
    1
    """

    count: ArrayField = array_field(0, np.int32)
    type: ArrayField = array_field(0, np.int8, _LIST, bits=2)
    row: ArrayField = array_field(0, np.int8, _LIST, bits=3, high=_LAST)
    col: ArrayField = array_field(0, np.int8, _LIST, bits=3, high=_LAST)
    hp: ArrayField = array_field(0, np.int8, _LIST, bits=5)
    disabled: ArrayField = array_field(0, np.int8, _LIST, bits=7)
    stunned: ArrayField = array_field(False, np.bool_, _LIST, bits=1)
    from_siphon: ArrayField = array_field(False, np.bool_, _LIST, bits=1)
    from_task: ArrayField = array_field(False, np.bool_, _LIST, bits=1)

    @classmethod
    def of(cls, *enemies: Enemy) -> "Enemies":
        """Build the list of enemies.

        Args:
            enemies: The enemies, in order.

        Returns:
            The list.

        >>> Enemies.of(Enemy("virus", 0, 3), Enemy("daemon", 2, 2, hp=1)).hp[:2].tolist()
        [2, 1]
        """
        return cls(count=_count_entries(enemies), **_collect_columns(enemies, Enemy))


@register_pytree
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Transmissions(StatePart):
    """The transmissions in the order they came: the first `count` slots; the other slots are 0.

    >>> Transmissions.of(Transmission("glitch", 4, 4)).count.item()
    1
    """

    count: ArrayField = array_field(0, np.int32)
    type: ArrayField = array_field(0, np.int8, _LIST, bits=2)
    row: ArrayField = array_field(0, np.int8, _LIST, bits=3, high=_LAST)
    col: ArrayField = array_field(0, np.int8, _LIST, bits=3, high=_LAST)
    turns: ArrayField = array_field(0, np.int32, _LIST, bits=20)
    from_siphon: ArrayField = array_field(False, np.bool_, _LIST, bits=1)
    from_task: ArrayField = array_field(False, np.bool_, _LIST, bits=1)

    @classmethod
    def of(cls, *transmissions: Transmission) -> "Transmissions":
        """Build the list of transmissions.

        Args:
            transmissions: The transmissions, in order.

        Returns:
            The list.

        >>> Transmissions.of(Transmission("glitch", 4, 4, turns=3)).turns[:2].tolist()
        [3, 0]
        """
        return cls(count=_count_entries(transmissions), **_collect_columns(transmissions, Transmission))


@register_pytree
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Before(StatePart):
    """The values before the action that the reward compares with, and the effects of the action.

    An `exit_distance` of -1 is unknown, and counts as no change.

    >>> Before(exit_distance=11).exit_distance.item()
    11
    """

    score: ArrayField = array_field(0, np.int32)
    hp: ArrayField = array_field(MAX_HP, np.int32, high=MAX_HP)
    credits: ArrayField = array_field(0, np.int32)
    energy: ArrayField = array_field(0, np.int32)
    exit_distance: ArrayField = array_field(-1, np.int32)
    kills: ArrayField = array_field(0, np.int32)
    picked_up: ArrayField = array_field(False, np.bool_)
    missed_credits: ArrayField = array_field(0, np.int32)
    missed_energy: ArrayField = array_field(0, np.int32)


def data_block(points: int, *, question: bool = False, siphoned: bool = False) -> dict[str, Any]:
    """Describe a block of points for `Grid.of`.

    Args:
        points: The points, which are also the transmissions it lets in.
        question: Whether the block hides its content.
        siphoned: Whether it was siphoned.

    Returns:
        The fields of its cell.

    >>> data_block(5)["block_points"]
    5
    """
    kind = QUESTION if question and not siphoned else DATA
    spawn = 0 if siphoned else points
    return {
        "block_kind": kind,
        "block_is_data": True,
        "block_points": points,
        "block_spawn": spawn,
        "siphoned": siphoned,
    }


def program_block(name: str, *, question: bool = False, siphoned: bool = False) -> dict[str, Any]:
    """Describe a block with a program for `Grid.of`.

    Args:
        name: The program: one of `PROGRAMS`.
        question: Whether the block hides its content.
        siphoned: Whether it was siphoned.

    Returns:
        The fields of its cell.

    Raises:
        UnknownCategory: There is no such program.

    >>> program_block("UNDO")["siphoned"]
    False
    """
    if name not in PROGRAMS:
        raise UnknownCategory(f"no program is called {name!r}.{did_you_mean(name, PROGRAMS)}")
    slot = PROGRAMS.index(name)
    kind = QUESTION if question and not siphoned else PROGRAM
    return {
        "block_kind": kind,
        "block_program": slot,
        "block_spawn": 0 if siphoned else PROGRAM_SPAWN[slot],
        "siphoned": siphoned,
    }


def _count_entries(entries: Any) -> int:
    if len(entries) > SLOTS:
        raise OutOfRange(f"the state has room for {SLOTS}, but {len(entries)} were given.")
    return len(entries)


def _collect_columns(entries: Any, kind: type) -> dict[str, list[Any]]:
    columns = {each.name: [getattr(entry, each.name) for entry in entries] for each in dataclasses.fields(kind)}
    columns["type"] = [ENEMIES.index(name) for name in columns["type"]]
    return {name: [*column, *([0] * (SLOTS - len(entries)))] for name, column in columns.items()}
