"""The newest snapshots of a game, for UNDO."""

import dataclasses
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.leaves import Leaf, Tree, leaf, packed, tree, unpacked
from plaudit.systems.hackmatrix.parts import Enemies, Grid, Player, Transmissions
from plaudit.systems.hackmatrix.rules import CELLS, PROGRAMS, SIZE, SLOTS, SNAPSHOTS

Array = jax.Array


@tree
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Snapshot(Tree):
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


_NUMBERS = [each.name for each in dataclasses.fields(Player)]
_LISTS = CELLS + 2 * SLOTS
_SNAPSHOT_WORDS = _LISTS + len(_NUMBERS) + 5


def _words(snapshot: Snapshot) -> Array:
    """Return a snapshot as words, so that keeping it is one write."""
    programs = (snapshot.owned.astype(jnp.uint32) << jnp.arange(len(PROGRAMS), dtype=jnp.uint32)).sum(dtype=jnp.uint32)
    numbers = [*(getattr(snapshot.player, name) for name in _NUMBERS), snapshot.turn, programs]
    numbers += [snapshot.enemies.count, snapshot.transmissions.count]
    numbers += [snapshot.atk_uses << 2 | snapshot.show << 1 | snapshot.calm]
    lists = [packed(part).reshape(-1) for part in (snapshot.grid, snapshot.enemies, snapshot.transmissions)]
    return jnp.concatenate([*lists, jnp.stack([number.astype(jnp.uint32) for number in numbers])])


def _snapshot(words: Array) -> Snapshot:
    grid, enemies, transmissions = words[:CELLS], words[CELLS : CELLS + SLOTS], words[CELLS + SLOTS : _LISTS]
    numbers = [words[place].astype(jnp.int32) for place in range(_LISTS, _SNAPSHOT_WORDS)]
    *player, turn, programs, enemy_count, transmission_count, rest = numbers
    return Snapshot(
        player=Player(**dict(zip(_NUMBERS, player, strict=True))),
        turn=turn,
        owned=programs >> jnp.arange(len(PROGRAMS)) & 1 != 0,
        enemies=unpacked(Enemies, enemies, count=enemy_count),
        transmissions=unpacked(Transmissions, transmissions, count=transmission_count),
        grid=unpacked(Grid, grid.reshape((SIZE, SIZE))),
        show=rest & 2 != 0,
        calm=rest & 1 != 0,
        atk_uses=rest >> 2,
    )


@tree
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class History(Tree):
    """The newest snapshots, in a ring: the oldest is lost when there are more than `SNAPSHOTS`."""

    count: Leaf = leaf(0, np.int32)
    newest: Leaf = leaf(0, np.int32)
    ring: Leaf = leaf(0, np.uint32, (SNAPSHOTS, _SNAPSHOT_WORDS))

    def pushed(self, snapshot: Snapshot, when: Array) -> "History":
        """Return the history with one more snapshot, where `when` holds."""
        newest = jnp.where(when, (self.newest + 1) % SNAPSHOTS, self.newest)
        where = jnp.where(when, newest, SNAPSHOTS)  # out of the ring: nothing is written
        return History(
            count=jnp.where(when, jnp.minimum(self.count + 1, SNAPSHOTS), self.count),
            newest=newest,
            ring=self.ring.at[where].set(_words(snapshot), mode="drop"),
        )

    def popped(self, when: Array) -> "History":
        """Return the history without the newest snapshot, where `when` holds."""
        return self.replace(
            count=jnp.where(when, jnp.maximum(self.count - 1, 0), self.count),
            newest=jnp.where(when, (self.newest - 1) % SNAPSHOTS, self.newest),
        )

    def latest(self) -> Snapshot:
        """Return the newest snapshot; what it holds means nothing while `count` is 0."""
        return _snapshot(self.ring[self.newest])
