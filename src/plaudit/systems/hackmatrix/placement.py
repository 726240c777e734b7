"""Where blocks stand and where new transmissions appear, drawn at random."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.arrays.bitboard import MOVES, Board, around
from plaudit.systems.hackmatrix.arrays.fused import any_environment, fused
from plaudit.systems.hackmatrix.arrays.words import (
    Words,
    draw_below,
    draw_word,
    make_empty_slots,
    read_slot,
    write_slot,
)
from plaudit.systems.hackmatrix.entity_lists import find_occupied_cells
from plaudit.systems.hackmatrix.pathfinding import flood
from plaudit.systems.hackmatrix.rules import CORNERS, LAYOUT_ATTEMPTS, MOST_BLOCKS, SIZE, SLOTS
from plaudit.systems.hackmatrix.state import EnvState, Transmissions

Array = jax.Array

_SHARES = 25
"""The attempts go side by side in shares: one after another, the unluckiest environment would hold up a whole batch."""
_IN_SHARE = LAYOUT_ATTEMPTS // _SHARES


class LayoutRequest(NamedTuple):
    """What a layout depends on."""

    seed: tuple[Array, Array]
    blocks: Array
    """How many there are to be."""
    exit: Board
    eligible: Board


def draw_layout(seed: tuple[Array, Array], count: Array, exit: Board, taken: Board) -> Board:
    """Return the cells of `count` blocks, off the corners and the cells that are taken: the first attempt that will do.

    No blocks at all when none of the attempts does. `seed` is two random words of 32 bits.
    """
    wanted = LayoutRequest(seed, count, exit, find_eligible_cells(taken))
    blocks = jax.vmap(lambda share: _find_first_of_share((wanted, share)))(jnp.arange(_SHARES))
    return Board.union(blocks, jnp.arange(_SHARES) == jnp.argmax(blocks.any()))


def find_eligible_cells(taken: Board) -> Board:
    """Return the cells on which blocks may stand: none of the corners, and none that is taken."""
    eligible = ~taken
    for row, col in CORNERS:
        eligible &= ~Board.cell(jnp.int32(SIZE * row + col))
    return eligible


@fused
def _find_first_of_share(wanted_and_share: tuple[LayoutRequest, Array]) -> Board:
    """Return the first attempt of a share that will do, and no block when none does."""
    wanted, share = wanted_and_share
    enough = wanted.eligible.size() >= wanted.blocks

    def goes_on(carried: tuple[Array, Board]) -> Array:
        turn, blocks = carried
        return (turn < _IN_SHARE) & any_environment(enough & ~blocks.any())

    def try_next(carried: tuple[Array, Board]) -> tuple[Array, Board]:
        turn, blocks = carried
        tried = draw_attempt(wanted, share * _IN_SHARE + turn)
        return turn + 1, blocks | tried.when(enough & ~blocks.any() & is_valid_layout(tried, wanted.exit))

    none = Board(jnp.zeros_like(wanted.eligible.lower), jnp.zeros_like(wanted.eligible.upper))
    _, blocks = jax.lax.while_loop(goes_on, try_next, (jnp.int32(0), none))
    return blocks


def draw_attempt(wanted: LayoutRequest, number: Array) -> Board:
    """Return a uniform choice of that many eligible cells; there must be enough."""
    size = wanted.eligible.size()

    def goes_on(carried: tuple[Array, Board]) -> Array:
        return carried[0] < jnp.max(wanted.blocks)

    def draw(carried: tuple[Array, Board]) -> tuple[Array, Board]:
        block, left = carried
        nth, _ = draw_below(draw_word(wanted.seed, number * MOST_BLOCKS + block), size - block)
        return block + 1, left & ~Board.cell(left.nth(nth)).when(block < wanted.blocks)

    _, left = jax.lax.while_loop(goes_on, draw, (jnp.int32(0), wanted.eligible))
    return wanted.eligible & ~left


def is_valid_layout(blocks: Board, exit: Board) -> Array:
    """Return whether all open cells are reached from (0, 0), none of them through the exit, and all blocks touch one.

    An exit at (0, 0) may be passed, for there the search begins.
    """
    start = Board(jnp.ones_like(blocks.lower), jnp.zeros_like(blocks.upper))  # (0, 0)
    open_cells = ~blocks
    passable = open_cells & (start | ~exit)
    reached, _ = flood(start, passable, blocks)  # to the end, for it never touches a block
    missed = open_cells & ~(reached | around(reached))
    return ~(missed | (blocks & ~around(open_cells))).any()


def place_transmissions(seed: Array, state: EnvState, *, tasks: Array, siphons: Array, plain: Array) -> Transmissions:
    """Return the transmissions with new ones at the end: scheduled ones, then siphoned ones, then others.

    `seed` is two random words of 32 bits. What finds no free cell, or no slot, is lost.
    """
    entries = state.transmissions
    requested = jnp.asarray(tasks + siphons + plain, jnp.int32)
    new, placed = _draw_all_transmissions(
        PlacementRequest(
            seed=(seed[0], seed[1]),
            player=Board.at(state.player.row, state.player.col),
            blocks=Board.of(state.grid.block_kind != 0),
            enemies=find_occupied_cells(state.enemies),
            transmissions=find_occupied_cells(entries),
            requested=jnp.minimum(requested, SLOTS - entries.count),
        )
    )
    return append_drawn(entries, new, placed, tasks=tasks, siphons=siphons)


def find_line_of_fire(player: Board, shields: Board) -> Board:
    """Return the cells of the player's row and column that no enemy or block hides; a shield itself is seen."""
    seen = Board(jnp.zeros_like(player.lower), jnp.zeros_like(player.upper))
    for move in MOVES:
        beam = player
        for _ in range(SIZE - 1):
            beam = move(beam)
            seen |= beam
            beam &= ~shields
    return seen


class PlacementRequest(NamedTuple):
    """What the cells of new transmissions depend on."""

    seed: tuple[Array, Array]
    player: Board
    blocks: Board
    enemies: Board
    transmissions: Board
    requested: Array
    """How many are to be placed."""


def draw_transmissions(drawing: PlacementRequest, most: int) -> tuple[Words, Array]:
    """Return the new transmissions in their order, as a packed list of 4 × cell + type, and how many there are.

    Each takes a uniform cell, and its cell from the others; it hides nothing. `most` is the greatest number requested.
    """
    taken = drawing.player | drawing.blocks | drawing.enemies | drawing.transmissions
    seen = find_line_of_fire(drawing.player, drawing.blocks | drawing.enemies)
    free = ~taken
    placed = jnp.minimum(drawing.requested, free.size())

    def goes_on(carried: tuple[Array, Board, Words]) -> Array:
        return carried[0] < jnp.max(placed)

    def draw_next(carried: tuple[Array, Board, Words]) -> tuple[Array, Board, Words]:
        number, free, words = carried
        hidden = free & ~seen
        choice = hidden | free.when(~hidden.any())
        nth, rest = draw_below(draw_word(drawing.seed, number), choice.size())
        cell = choice.nth(nth)
        new = 4 * cell.astype(jnp.uint32) + (rest >> 30)
        return number + 1, free & ~Board.cell(cell), write_slot(words, number, new, number < placed)

    start = jnp.int32(0), free, make_empty_slots(most, free.lower)
    _, _, words = jax.lax.while_loop(goes_on, draw_next, start)
    return words, placed


@fused
def _draw_all_transmissions(drawing: PlacementRequest) -> tuple[Words, Array]:
    return draw_transmissions(drawing, SLOTS)


def append_drawn(entries: Transmissions, new: Words, placed: Array, *, tasks: Array, siphons: Array) -> Transmissions:
    """Return a list with `placed` more entries, those that were drawn, or as many of them as there is room for."""
    turn = jnp.arange(SLOTS) - entries.count
    here = (turn >= 0) & (turn < placed)
    code = read_slot(new, turn)
    cell, kind = code >> 2, code & 3
    return Transmissions(
        count=jnp.minimum(entries.count + placed, SLOTS),
        type=jnp.where(here, kind.astype(jnp.int8), entries.type),
        row=jnp.where(here, (cell // SIZE).astype(jnp.int8), entries.row),
        col=jnp.where(here, (cell % SIZE).astype(jnp.int8), entries.col),
        turns=jnp.where(here, 1, entries.turns),
        from_siphon=jnp.where(here, (turn >= tasks) & (turn < tasks + siphons), entries.from_siphon),
        from_task=jnp.where(here, turn < tasks, entries.from_task),
    )
