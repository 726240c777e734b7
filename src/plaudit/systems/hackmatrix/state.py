"""The state of a game: everything that changes, as one immutable tree of arrays."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.errors import OutOfRange, WrongType
from plaudit.systems.hackmatrix.plain.state import Enemy, Transmission
from plaudit.systems.hackmatrix.pytree_fields import (
    ArrayField,
    StatePart,
    array_field,
    is_known,
    pack_fields,
    register_pytree,
    unpack_fields,
)
from plaudit.systems.hackmatrix.rules import CELLS, CORNERS, PROGRAMS, SIZE, SLOTS, SNAPSHOTS, STAGES, interval_of
from plaudit.systems.hackmatrix.state_parts import (
    Before,
    Enemies,
    Grid,
    Player,
    Transmissions,
    data_block,
    program_block,
)

__all__ = [
    "Before",
    "Enemies",
    "Enemy",
    "EnvState",
    "Grid",
    "History",
    "Player",
    "Snapshot",
    "Transmission",
    "Transmissions",
    "data_block",
    "program_block",
]

Array = jax.Array

_LAST = SIZE - 1
_PLAYER_FIELDS = [each.name for each in dataclasses.fields(Player)]
_LIST_WORDS = CELLS + 2 * SLOTS
_SNAPSHOT_WORDS = _LIST_WORDS + len(_PLAYER_FIELDS) + 5


@register_pytree
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Snapshot(StatePart):
    """What UNDO restores."""

    player: Player
    turn: Array
    owned: Array
    enemies: Enemies
    transmissions: Transmissions
    grid: Grid
    show: Array
    calm: Array
    atk_uses: Array


@register_pytree
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class History(StatePart):
    """The newest snapshots, in a ring: the oldest is lost when there are more than `SNAPSHOTS`."""

    count: ArrayField = array_field(0, np.int32)
    newest: ArrayField = array_field(0, np.int32)
    ring: ArrayField = array_field(0, np.uint32, (SNAPSHOTS, _SNAPSHOT_WORDS))

    def push(self, snapshot: Snapshot, when: Array) -> "History":
        """Return the history with one more snapshot, where `when` holds."""
        newest = jnp.where(when, (self.newest + 1) % SNAPSHOTS, self.newest)
        where = jnp.where(when, newest, SNAPSHOTS)  # out of the ring: nothing is written
        return History(
            count=jnp.where(when, jnp.minimum(self.count + 1, SNAPSHOTS), self.count),
            newest=newest,
            ring=self.ring.at[where].set(_pack_snapshot(snapshot), mode="drop"),
        )

    def pop(self, when: Array) -> "History":
        """Return the history without the newest snapshot, where `when` holds."""
        return self.replace(
            count=jnp.where(when, jnp.maximum(self.count - 1, 0), self.count),
            newest=jnp.where(when, (self.newest - 1) % SNAPSHOTS, self.newest),
        )

    def latest(self) -> Snapshot:
        """Return the newest snapshot; what it holds means nothing while `count` is 0."""
        return _unpack_snapshot(self.ring[self.newest])


@register_pytree
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EnvState(StatePart):
    """A game between two steps. What is not given is an empty board in the bottom left corner, exit at the top right.

    >>> EnvState(player=Player(hp=2), enemies=Enemies.of(Enemy("virus", 0, 3))).enemies.count.item()
    1
    """

    player: Player = dataclasses.field(default_factory=Player)
    grid: Grid = None  # type: ignore[assignment]
    """By default an empty board with its exit at `exit_row`, `exit_col`."""
    enemies: Enemies = dataclasses.field(default_factory=Enemies)
    transmissions: Transmissions = dataclasses.field(default_factory=Transmissions)
    stage: ArrayField = array_field(1, np.int32, low=1, high=STAGES + 1)
    """From 1 to 8. A state in which the game is won may also say 9."""
    turn: ArrayField = array_field(0, np.int32)
    owned: ArrayField = array_field(False, np.bool_, (len(PROGRAMS),))
    show: ArrayField = array_field(False, np.bool_)
    calm: ArrayField = array_field(False, np.bool_)
    step_active: ArrayField = array_field(False, np.bool_)
    atk_uses: ArrayField = array_field(0, np.int32)
    exit_row: ArrayField = array_field(None, np.int32, high=_LAST)
    exit_col: ArrayField = array_field(None, np.int32, high=_LAST)
    """By default where the board has its exit."""
    interval: ArrayField = array_field(interval_of(1), np.int32)
    next_task: ArrayField = array_field(interval_of(1), np.int32)
    """The first stage's, whatever `stage` is."""
    pending: ArrayField = array_field(0, np.int32)
    steps: ArrayField = array_field(0, np.int32)
    """Steps of this game so far."""
    history: History = dataclasses.field(default_factory=History)
    before: Before = None  # type: ignore[assignment]
    """By default what the player has now: nothing was gained or lost."""

    def __post_init__(self) -> None:
        given = dict(vars(self))
        for name, kind in _PARTS.items():
            if given[name] is not None and not isinstance(given[name], kind):
                raise WrongType(f"EnvState({name}=…) is a {type(given[name]).__name__}; it must be a {kind.__name__}.")
        row, col = _find_exit(given["grid"], given["exit_row"], given["exit_col"])
        object.__setattr__(self, "exit_row", row)
        object.__setattr__(self, "exit_col", col)
        super().__post_init__()
        _check_exit(self.exit_row, self.exit_col)
        if given["grid"] is None:
            exits = jnp.zeros((SIZE, SIZE), bool).at[self.exit_row, self.exit_col].set(True)
            object.__setattr__(self, "grid", Grid(exit=exits))
        if given["before"] is None:
            player = self.player
            before = Before(score=player.score, hp=player.hp, credits=player.credits, energy=player.energy)
            object.__setattr__(self, "before", before)

    def snapshot(self) -> Snapshot:
        """Return the part of this state that UNDO restores.

        Returns:
            The snapshot.
        """
        return Snapshot(**{each.name: getattr(self, each.name) for each in dataclasses.fields(Snapshot)})


_PARTS = {
    "player": Player,
    "grid": Grid,
    "enemies": Enemies,
    "transmissions": Transmissions,
    "history": History,
    "before": Before,
}


def _find_exit(grid: Grid | None, row: Any, col: Any) -> tuple[Any, Any]:
    """Return where the exit is: where it is said to be, else where the board has it, else at the top right."""
    if grid is None:
        return _LAST if row is None else row, _LAST if col is None else col
    if row is None and col is None:
        cell = jnp.argmax(grid.exit.reshape(*grid.exit.shape[:-2], SIZE * SIZE), axis=-1).astype(jnp.int32)
        return cell // SIZE, cell % SIZE
    plain = isinstance(row, int) and isinstance(col, int) and not isinstance(grid.exit, jax.core.Tracer)
    if plain and 0 <= row < SIZE and 0 <= col < SIZE and not bool(grid.exit[..., row, col].all()):
        raise OutOfRange(f"exit_row={row}, exit_col={col}: the given board has its exit elsewhere.")
    return row, col


def _check_exit(row: Array, col: Array) -> None:
    """Refuse an exit that is not on a corner, where it is known where it is."""
    if not is_known(row) or not is_known(col):
        return
    for place in zip(np.ravel(row).tolist(), np.ravel(col).tolist(), strict=True):
        if place not in CORNERS:
            raise OutOfRange(f"EnvState: the exit is {place}; it must be a corner: {', '.join(map(str, CORNERS))}.")


def _pack_snapshot(snapshot: Snapshot) -> Array:
    """Return a snapshot as words, so that keeping it is one write."""
    programs = (snapshot.owned.astype(jnp.uint32) << jnp.arange(len(PROGRAMS), dtype=jnp.uint32)).sum(dtype=jnp.uint32)
    numbers = [*(getattr(snapshot.player, name) for name in _PLAYER_FIELDS), snapshot.turn, programs]
    numbers += [snapshot.enemies.count, snapshot.transmissions.count]
    numbers += [snapshot.atk_uses << 2 | snapshot.show << 1 | snapshot.calm]
    lists = [pack_fields(part).reshape(-1) for part in (snapshot.grid, snapshot.enemies, snapshot.transmissions)]
    return jnp.concatenate([*lists, jnp.stack([number.astype(jnp.uint32) for number in numbers])])


def _unpack_snapshot(words: Array) -> Snapshot:
    grid, enemies, transmissions = words[:CELLS], words[CELLS : CELLS + SLOTS], words[CELLS + SLOTS : _LIST_WORDS]
    numbers = [words[place].astype(jnp.int32) for place in range(_LIST_WORDS, _SNAPSHOT_WORDS)]
    *player, turn, programs, enemy_count, transmission_count, rest = numbers
    return Snapshot(
        player=Player(**dict(zip(_PLAYER_FIELDS, player, strict=True))),
        turn=turn,
        owned=programs >> jnp.arange(len(PROGRAMS)) & 1 != 0,
        enemies=unpack_fields(Enemies, enemies, count=enemy_count),
        transmissions=unpack_fields(Transmissions, transmissions, count=transmission_count),
        grid=unpack_fields(Grid, grid.reshape((SIZE, SIZE))),
        show=rest & 2 != 0,
        calm=rest & 1 != 0,
        atk_uses=rest >> 2,
    )
