"""Where the blocks of a stage stand: drawn at random until every open cell can be reached and every block siphoned."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.arrays.bitboard import Board, around
from plaudit.systems.hackmatrix.arrays.draws import below, word
from plaudit.systems.hackmatrix.arrays.one_kernel import any_lane, one_kernel
from plaudit.systems.hackmatrix.pathfinding import flood
from plaudit.systems.hackmatrix.rules import CORNERS, SIZE

Array = jax.Array

FEWEST_BLOCKS, MOST_BLOCKS = 5, 11
ATTEMPTS = 100
_SHARES = 25
"""The attempts go side by side in shares: one after another, the unluckiest environment would hold up a whole batch."""
_IN_SHARE = ATTEMPTS // _SHARES


class Wanted(NamedTuple):
    """What a layout depends on."""

    seed: tuple[Array, Array]
    blocks: Array
    """How many there are to be."""
    exit: Board
    eligible: Board


def layout(seed: tuple[Array, Array], count: Array, exit: Board, taken: Board) -> Board:
    """Return the cells of `count` blocks, off the corners and the cells that are taken: the first attempt that will do.

    No blocks at all when none of the attempts does. `seed` is two random words of 32 bits.
    """
    wanted = Wanted(seed, count, exit, eligible_cells(taken))
    blocks = jax.vmap(lambda share: _first_of_share((wanted, share)))(jnp.arange(_SHARES))
    return Board.union(blocks, jnp.arange(_SHARES) == jnp.argmax(blocks.any()))


def eligible_cells(taken: Board) -> Board:
    """Return the cells on which blocks may stand: none of the corners, and none that is taken."""
    eligible = ~taken
    for row, col in CORNERS:
        eligible &= ~Board.cell(jnp.int32(SIZE * row + col))
    return eligible


@one_kernel
def _first_of_share(wanted_and_share: tuple[Wanted, Array]) -> Board:
    """Return the first attempt of a share that will do, and no block when none does."""
    wanted, share = wanted_and_share
    enough = wanted.eligible.size() >= wanted.blocks

    def goes_on(carried: tuple[Array, Board]) -> Array:
        turn, blocks = carried
        return (turn < _IN_SHARE) & any_lane(enough & ~blocks.any())

    def next_attempt(carried: tuple[Array, Board]) -> tuple[Array, Board]:
        turn, blocks = carried
        tried = attempt(wanted, share * _IN_SHARE + turn)
        return turn + 1, blocks | tried.when(enough & ~blocks.any() & is_valid(tried, wanted.exit))

    none = Board(jnp.zeros_like(wanted.eligible.lower), jnp.zeros_like(wanted.eligible.upper))
    _, blocks = jax.lax.while_loop(goes_on, next_attempt, (jnp.int32(0), none))
    return blocks


def attempt(wanted: Wanted, number: Array) -> Board:
    """Return a uniform choice of so many eligible cells, of which there are enough: the one with a number."""
    size = wanted.eligible.size()

    def goes_on(carried: tuple[Array, Board]) -> Array:
        return carried[0] < jnp.max(wanted.blocks)

    def draw(carried: tuple[Array, Board]) -> tuple[Array, Board]:
        block, left = carried
        nth, _ = below(word(wanted.seed, number * MOST_BLOCKS + block), size - block)
        return block + 1, left & ~Board.cell(left.nth(nth)).when(block < wanted.blocks)

    _, left = jax.lax.while_loop(goes_on, draw, (jnp.int32(0), wanted.eligible))
    return wanted.eligible & ~left


def is_valid(blocks: Board, exit: Board) -> Array:
    """Return whether all open cells are reached from (0, 0), none of them through the exit, and all blocks touch one.

    An exit at (0, 0) may be passed, for there the search begins.
    """
    start = Board(jnp.ones_like(blocks.lower), jnp.zeros_like(blocks.upper))  # (0, 0)
    open_cells = ~blocks
    passable = open_cells & (start | ~exit)
    reached, _ = flood(start, passable, blocks)  # to the end, for it never touches a block
    missed = open_cells & ~(reached | around(reached))
    return ~(missed | (blocks & ~around(open_cells))).any()
