"""The state of a game: everything that changes, as one immutable tree of arrays."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.errors import OutOfRange, WrongType
from plaudit.systems.hackmatrix.history import History, Snapshot
from plaudit.systems.hackmatrix.leaves import Leaf, Tree, leaf, tree
from plaudit.systems.hackmatrix.parts import (
    Before,
    Enemies,
    Enemy,
    Grid,
    Player,
    Transmission,
    Transmissions,
    data_block,
    program_block,
)
from plaudit.systems.hackmatrix.rules import PROGRAMS, SIZE, interval_of

__all__ = [
    "Before",
    "Enemies",
    "Enemy",
    "EnvState",
    "Grid",
    "History",
    "Player",
    "Transmission",
    "Transmissions",
    "data_block",
    "program_block",
]

_LAST = SIZE - 1


@tree
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EnvState(Tree):
    """A game between two steps. What is not given is an empty board in the bottom left corner, exit at the top right.

    >>> EnvState(player=Player(hp=2), enemies=Enemies.of(Enemy("virus", 0, 3))).enemies.count.item()
    1
    """

    player: Player = dataclasses.field(default_factory=Player)
    grid: Grid = None  # type: ignore[assignment]
    """By default an empty board with its exit at `exit_row`, `exit_col`."""
    enemies: Enemies = dataclasses.field(default_factory=Enemies)
    transmissions: Transmissions = dataclasses.field(default_factory=Transmissions)
    stage: Leaf = leaf(1, np.int32)
    """From 1 to 8. A state in which the game is won may also say 9."""
    turn: Leaf = leaf(0, np.int32)
    owned: Leaf = leaf(False, np.bool_, (len(PROGRAMS),))
    show: Leaf = leaf(False, np.bool_)
    calm: Leaf = leaf(False, np.bool_)
    step_active: Leaf = leaf(False, np.bool_)
    atk_uses: Leaf = leaf(0, np.int32)
    exit_row: Leaf = leaf(None, np.int32, high=_LAST)
    exit_col: Leaf = leaf(None, np.int32, high=_LAST)
    """By default where the board has its exit."""
    interval: Leaf = leaf(interval_of(1), np.int32)
    next_task: Leaf = leaf(interval_of(1), np.int32)
    """The first stage's, whatever `stage` is."""
    pending: Leaf = leaf(0, np.int32)
    steps: Leaf = leaf(0, np.int32)
    """Steps of this game so far."""
    history: History = dataclasses.field(default_factory=History)
    before: Before = None  # type: ignore[assignment]
    """By default what the player has now: nothing was gained or lost."""

    def __post_init__(self) -> None:
        given = dict(vars(self))
        for name, kind in _PARTS.items():
            if given[name] is not None and not isinstance(given[name], kind):
                raise WrongType(f"EnvState({name}=…) is a {type(given[name]).__name__}; a {kind.__name__} is needed.")
        row, col = _exit(given["grid"], given["exit_row"], given["exit_col"])
        object.__setattr__(self, "exit_row", row)
        object.__setattr__(self, "exit_col", col)
        super().__post_init__()
        if given["grid"] is None:
            exits = jnp.zeros((SIZE, SIZE), bool).at[self.exit_row, self.exit_col].set(True)
            object.__setattr__(self, "grid", Grid(exit=exits))
        if given["before"] is None:
            player = self.player
            before = Before(score=player.score, hp=player.hp, credits=player.credits, energy=player.energy)
            object.__setattr__(self, "before", before)

    def snapshot(self) -> Snapshot:
        """Return what UNDO would restore of this state."""
        return Snapshot(**{each.name: getattr(self, each.name) for each in dataclasses.fields(Snapshot)})


_PARTS = {
    "player": Player,
    "grid": Grid,
    "enemies": Enemies,
    "transmissions": Transmissions,
    "history": History,
    "before": Before,
}


def _exit(grid: Grid | None, row: Any, col: Any) -> tuple[Any, Any]:
    """Return where the exit is: where it is said to be, else where the board has it, else at the top right."""
    if grid is None:
        return _LAST if row is None else row, _LAST if col is None else col
    if row is None and col is None:
        cell = jnp.argmax(grid.exit.reshape(*grid.exit.shape[:-2], SIZE * SIZE), axis=-1).astype(jnp.int32)
        return cell // SIZE, cell % SIZE
    plain = isinstance(row, int) and isinstance(col, int) and not isinstance(grid.exit, jax.core.Tracer)
    if plain and 0 <= row < SIZE and 0 <= col < SIZE and not bool(grid.exit[..., row, col].all()):
        raise OutOfRange(f"exit_row={row}, exit_col={col}: the board that was given has its exit elsewhere.")
    return row, col
