"""Lists of fixed room: the entries in use come first, in the order they came."""

from typing import TypeVar

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.arrays.bitboard import Board
from plaudit.systems.hackmatrix.pytree_fields import pack_fields, unpack_fields
from plaudit.systems.hackmatrix.rules import DAEMON, ENEMY_HP, SIZE, SLOTS, VIRUS
from plaudit.systems.hackmatrix.state import Enemies, Transmissions

Array = jax.Array
EntityList = TypeVar("EntityList", Enemies, Transmissions)


def is_in_use(entries: Enemies | Transmissions) -> Array:
    """Return which slots hold an entry."""
    return jnp.arange(SLOTS) < entries.count


def find_cells(entries: Enemies | Transmissions) -> Array:
    """Return the number of the cell of each slot."""
    return entries.row.astype(jnp.int32) * SIZE + entries.col


def get_full_hp(kind: Array) -> Array:
    """Return the hit points that enemies of each type begin with: those of a daemon, and of all others."""
    return jnp.where(kind == DAEMON, ENEMY_HP[DAEMON], ENEMY_HP[VIRUS])


def keep_where(entries: EntityList, keep: Array) -> EntityList:
    """Return the entries for which `keep` holds, in their order."""
    chosen = Board.of(keep & is_in_use(entries))
    count, places = chosen.size(), jnp.arange(SLOTS)
    source = chosen.nth(jnp.minimum(places, jnp.maximum(count - 1, 0)))
    words = pack_fields(entries)[jnp.minimum(source, SLOTS - 1)]  # of any list, and no entry of an empty one
    return unpack_fields(type(entries), jnp.where(places < count, words, jnp.uint32(0)), count=count)


def find_first(chosen: Array) -> Array:
    """Return which slot is the first of the chosen ones, as true there and false elsewhere."""
    return chosen & (jnp.arange(SLOTS) == jnp.argmax(chosen))


def append(entries: EntityList, more: EntityList) -> EntityList:
    """Return a list followed by another; what has no room is lost."""
    behind = jnp.arange(SLOTS) - entries.count
    new = pack_fields(more)[jnp.clip(behind, 0, SLOTS - 1)]
    words = jnp.where((behind >= 0) & (behind < more.count), new, pack_fields(entries))
    return unpack_fields(type(entries), words, count=jnp.minimum(entries.count + more.count, SLOTS))


def find_occupied_cells(entries: Enemies | Transmissions) -> Board:
    """Return the cells on which the enemies, or the transmissions, of a list are."""
    return Board.union(Board.at(entries.row, entries.col), is_in_use(entries))
