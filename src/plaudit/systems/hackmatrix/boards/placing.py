"""Where new transmissions appear: on free cells, out of the player's line of fire while there are such."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.arrays.bitboard import MOVES, Board
from plaudit.systems.hackmatrix.arrays.draws import below, word
from plaudit.systems.hackmatrix.arrays.fields import Words, empty, read, written
from plaudit.systems.hackmatrix.arrays.one_kernel import one_kernel
from plaudit.systems.hackmatrix.lists import in_use
from plaudit.systems.hackmatrix.rules import SIZE, SLOTS
from plaudit.systems.hackmatrix.state import Enemies, EnvState, Transmissions

Array = jax.Array


def place(seed: Array, state: EnvState, *, tasks: Array, siphons: Array, plain: Array) -> Transmissions:
    """Return the transmissions with new ones at the end: scheduled ones, then siphoned ones, then others.

    `seed` is two random words of 32 bits. What finds no free cell, or no slot, is lost.
    """
    entries = state.transmissions
    asked = jnp.asarray(tasks + siphons + plain, jnp.int32)
    new, placed = _draw_all(
        Drawing(
            seed=(seed[0], seed[1]),
            player=Board.at(state.player.row, state.player.col),
            blocks=Board.of(state.grid.block_kind != 0),
            enemies=standing(state.enemies),
            transmissions=standing(entries),
            asked=jnp.minimum(asked, SLOTS - entries.count),
        )
    )
    return with_new(entries, new, placed, tasks=tasks, siphons=siphons)


def standing(entries: Enemies | Transmissions) -> Board:
    """Return the cells on which the enemies, or the transmissions, of a list are."""
    return Board.union(Board.at(entries.row, entries.col), in_use(entries))


def line_of_fire(player: Board, shields: Board) -> Board:
    """Return the cells of the player's row and column that no enemy or block hides; a shield itself is seen."""
    seen = Board(jnp.zeros_like(player.lower), jnp.zeros_like(player.upper))
    for move in MOVES:
        beam = player
        for _ in range(SIZE - 1):
            beam = move(beam)
            seen |= beam
            beam &= ~shields
    return seen


class Drawing(NamedTuple):
    """What the cells of new transmissions depend on."""

    seed: tuple[Array, Array]
    player: Board
    blocks: Board
    enemies: Board
    transmissions: Board
    asked: Array
    """How many are to be placed."""


def draw(drawing: Drawing, most: int) -> tuple[Words, Array]:
    """Return the new transmissions in their order, as a packed list of 4 × cell + type, and how many there are.

    Each takes a uniform cell, and its cell from the others; it hides nothing. `most` is the greatest number asked for.
    """
    taken = drawing.player | drawing.blocks | drawing.enemies | drawing.transmissions
    seen = line_of_fire(drawing.player, drawing.blocks | drawing.enemies)
    free = ~taken
    placed = jnp.minimum(drawing.asked, free.size())

    def goes_on(carried: tuple[Array, Board, Words]) -> Array:
        return carried[0] < jnp.max(placed)

    def turn(carried: tuple[Array, Board, Words]) -> tuple[Array, Board, Words]:
        number, free, words = carried
        hidden = free & ~seen
        choice = hidden | free.when(~hidden.any())
        nth, rest = below(word(drawing.seed, number), choice.size())
        cell = choice.nth(nth)
        new = 4 * cell.astype(jnp.uint32) + (rest >> 30)
        return number + 1, free & ~Board.cell(cell), written(words, number, new, number < placed)

    start = jnp.int32(0), free, empty(most, free.lower)
    _, _, words = jax.lax.while_loop(goes_on, turn, start)
    return words, placed


@one_kernel
def _draw_all(drawing: Drawing) -> tuple[Words, Array]:
    return draw(drawing, SLOTS)


def with_new(entries: Transmissions, new: Words, placed: Array, *, tasks: Array, siphons: Array) -> Transmissions:
    """Return a list with `placed` more entries, those that were drawn, or as many of them as there is room for."""
    turn = jnp.arange(SLOTS) - entries.count
    here = (turn >= 0) & (turn < placed)
    code = read(new, turn)
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
