"""What the player sees of a state, as numbers for a network."""

from functools import reduce
from operator import or_
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.entity_lists import is_in_use
from plaudit.systems.hackmatrix.features import CELL, MOST_TURNS, PLAYER, Observation
from plaudit.systems.hackmatrix.rules import CELLS, CRYPTOG, DATA, NO_BLOCK, QUESTION, SIZE, SLOTS
from plaudit.systems.hackmatrix.state import EnvState
from plaudit.systems.hackmatrix.validation import validate_state

Array = jax.Array
Values = TypeVar("Values")


_PARTS = (
    {"enemy": 3, "hp": 7, "stunned": 1, "from_siphon": 1, "turns": 3, "block": 2, "siphoned": 1, "program": 5}
    | {"data_siphon": 1, "exit": 1, "siphon_center": 1},
    {"points": 7, "spawn": 7, "credits": 7, "energy": 7},
)
"""How many bits each thing takes in the two words of a cell, from the lowest on; 0 means there is none of it."""


def observe(state: EnvState) -> Observation:
    """Return what the player sees.

    Args:
        state: The state of the game.

    Returns:
        The observation.

    >>> observe(EnvState()).flat().shape
    (1545,)
    """
    seen: Observation = _observe(validate_state(state))
    return seen


@jax.jit
def _observe(state: EnvState) -> Observation:
    first, second = _compute_once(_pack_cells(state))
    # A part is read where it lies in its word: the mask leaves it there, and `_SCALE` takes the place into account.
    part = (first[:, None] & _MASKS[0]) | (second[:, None] & _MASKS[1])
    grid = jnp.where(part == _MATCH, jnp.float32(1), part.astype(jnp.float32) * _SCALE)
    return Observation(_collect_player(state), state.owned.astype(jnp.int32), grid.reshape(SIZE, SIZE, len(CELL)))


def _collect_player(state: EnvState) -> Array:
    numbers = []
    for feature in PLAYER:
        source = state.player if hasattr(state.player, feature.name) else state
        number = (getattr(source, feature.name) - feature.offset).astype(jnp.float32) * feature.scale
        numbers.append(jnp.minimum(number, 1) if feature.capped else number)
    return jnp.stack(numbers)


def _pack_cells(state: EnvState) -> tuple[Array, Array]:
    """Return what is seen on the cells, row by row, as two words each."""
    grid = state.grid
    kind = grid.block_kind
    block = kind != NO_BLOCK
    known = (kind != QUESTION) | grid.siphoned  # what a question block holds shows once it is siphoned
    data = jnp.where(kind == QUESTION, grid.block_is_data, kind == DATA)
    lying = ~block | grid.siphoned
    first = _pack(
        block=kind,
        siphoned=grid.siphoned & block,
        program=jnp.where(block & known & ~data, grid.block_program + 1, 0),
        data_siphon=grid.data_siphon,
        exit=grid.exit,
        siphon_center=grid.siphon_center,
    )
    second = _pack(
        points=jnp.where(block & known & data, grid.block_points, 0),
        spawn=jnp.where(block & (kind != QUESTION) & ~grid.siphoned, grid.block_spawn, 0),
        credits=jnp.where(lying, grid.credits, 0),
        energy=jnp.where(lying, grid.energy, 0),
    )
    return first.reshape(CELLS) | _pack_enemies(state) | _pack_transmissions(state), second.reshape(CELLS)


def _pack_enemies(state: EnvState) -> Array:
    """Return the first living enemy of each cell; a cryptog that is hidden also hides who stands with it."""
    enemies, player = state.enemies, state.player
    seen = (enemies.type != CRYPTOG) | state.show | (enemies.row == player.row) | (enemies.col == player.col)
    kind = enemies.type + 1
    word = _pack(enemy=kind, hp=enemies.hp, stunned=enemies.stunned, from_siphon=enemies.from_siphon)
    living = is_in_use(enemies) & (enemies.hp > 0)
    return _find_first(jnp.where(seen, word, 0), enemies.row, enemies.col, living)


def _pack_transmissions(state: EnvState) -> Array:
    entries = state.transmissions
    return _find_first(
        _pack(turns=jnp.clip(entries.turns, 0, MOST_TURNS)), entries.row, entries.col, is_in_use(entries)
    )


def _find_first(word: Array, row: Array, col: Array, there: Array) -> Array:
    """Return, for each cell, the word of the first slot that is there, 0 where none is."""
    cell = jnp.where(there, row.astype(jnp.int32) * SIZE + col, CELLS).astype(jnp.uint32)
    slot = jnp.arange(SLOTS, dtype=jnp.uint32)
    slots = _compute_once((cell << _CELL_BIT) | (slot << _LIST_BITS) | word)
    found: Array = jax.lax.platform_dependent(slots, cuda=_find_first_in_turn, default=_find_first_at_once)
    return found & ((1 << _LIST_BITS) - 1)


def _find_first_at_once(slots: Array) -> Array:
    """Return the first slot of each cell, which is the smallest, or `_NO_SLOT`."""
    here = slots >> _CELL_BIT == _CELL_NUMBERS[:, None]
    return jnp.where(here, slots, _NO_SLOT).min(axis=-1)


def _find_first_in_turn(slots: Array) -> Array:
    """Return what `_find_first_at_once` does, slot by slot: a GPU is slow at reducing rows this short.

    Not for CPUs: they would go through the slots again for each feature of a cell.
    """
    found = jnp.full(CELLS, _NO_SLOT)
    for slot in reversed(range(SLOTS)):  # so that the first one stays
        one = jax.lax.slice_in_dim(slots, slot, slot + 1)
        found = jnp.where(one >> _CELL_BIT == _CELL_NUMBERS, one, found)
    return found


def _compute_once(values: Values) -> Values:
    """Return values that a GPU computes once, and not again for each number that is made of them."""
    kept: Values = jax.lax.optimization_barrier(values)  # type: ignore[no-untyped-call]
    return kept


_PLACES = {
    name: (word, sum(list(parts.values())[:at]), bits)
    for word, parts in enumerate(_PARTS)
    for at, (name, bits) in enumerate(parts.items())
}
"""The word, the lowest bit and the number of bits of each part."""

_LIST_BITS = sum(_PLACES["turns"][1:])
"""The parts that come from lists of enemies and transmissions are the lowest of the first word."""
_CELL_BIT = _LIST_BITS + SLOTS.bit_length()
"""Where the cell of a slot begins, above the slot's number and its parts."""
_CELL_NUMBERS = np.arange(CELLS, dtype=np.uint32)
_NO_SLOT = np.uint32(CELLS << _CELL_BIT)

_WORD, _SHIFT, _WIDTH = np.array([_PLACES[feature.part] for feature in CELL], np.uint32).T
_DIVISOR, _EQUALS = np.array([(feature.divisor, feature.equals) for feature in CELL], np.uint32).T
_MASKS = np.where(np.arange(len(_PARTS))[:, None] == _WORD, ((1 << _WIDTH) - 1) << _SHIFT, 0).astype(np.uint32)
"""The bits of each feature's part in the first and in the second word."""
_MATCH = np.where(_EQUALS != 0, _EQUALS << _SHIFT, 2**32 - 1).astype(np.uint32)
"""The bits that make a feature 1; where the number itself is the feature, bits that no part ever has."""
_SCALE = np.where(_EQUALS != 0, 0, 1 / (_DIVISOR << _SHIFT)).astype(np.float32)
"""What a part, read in its place, is multiplied by; 0 where only the match counts."""


def _pack(**parts: Array) -> Array:
    return reduce(or_, (value.astype(jnp.uint32) << _PLACES[name][1] for name, value in parts.items()))
