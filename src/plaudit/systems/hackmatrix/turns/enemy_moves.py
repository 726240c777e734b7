"""The enemies' moves and attacks of one turn: one enemy after another, each seeing what the ones before it did.

All that a visit reads or changes is a few words: cells in fields, sets of cells and of slots as boards. Nothing is an
array with an axis of its own, so the whole turn is arithmetic on numbers, one column an environment, and a graphics
card does all of it in one kernel.
"""

from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.arrays import fields
from plaudit.systems.hackmatrix.arrays.bitboard import MOVES, Board, around, down, left, right, up
from plaudit.systems.hackmatrix.arrays.draws import below, word
from plaudit.systems.hackmatrix.arrays.one_kernel import any_lane, one_kernel
from plaudit.systems.hackmatrix.pathfinding import first_of, step_towards
from plaudit.systems.hackmatrix.rules import CELLS, SIZE

Array = jax.Array
Ways = tuple[Board, Board, Board, Board]


class Turn(NamedTuple):
    """What the enemies' moves depend on; `may_act`, `may_again` and `glitches` are sets of slots."""

    seed: tuple[Array, Array]
    """Two random words, for the order of visits."""
    cells: fields.Words
    """The cell of each slot."""
    may_act: Board
    may_again: Board
    """The viruses, which are visited a second time."""
    glitches: Board
    """The enemies that walk over blocks."""
    player: Board
    walls: Board
    enemies: Board
    """The cells of all enemies."""
    transmissions: Board


class _Visit(NamedTuple):
    """What changes from visit to visit."""

    number: Array
    left: Board
    """The slots that are still to be visited in this round."""
    again: Board
    """The slots to be visited in the next round."""
    cells: fields.Words
    enemies: Board
    attacked: Board
    """The slots that have attacked in this turn."""
    attacks: Array


@one_kernel
def visit_all(turn: Turn) -> tuple[fields.Words, Array]:
    """Return the cells after all visits, and how many attacks hit the player.

    Each round visits its enemies in a uniformly random order. A virus that has attacked is not visited again.
    """
    on_foot = ways(turn.player, ~turn.walls)

    def goes_on(visit: _Visit) -> Array:
        return any_lane((visit.left | visit.again).any())

    def next_visit(visit: _Visit) -> _Visit:
        over = ~visit.left.any()
        left = visit.left | (visit.again & ~visit.attacked).when(over)
        size = left.size()
        drawn, _ = below(word(turn.seed, visit.number), jnp.maximum(size, 1))
        slot = jnp.where(size > 0, left.nth(drawn), 0)
        chosen = Board.cell(slot).when(size > 0)
        moved, attack = _visited(turn, on_foot, visit, slot, size > 0)
        return moved._replace(
            number=visit.number + 1,
            left=left & ~chosen,
            again=visit.again.when(~over),
            attacked=visit.attacked | chosen.when(attack),
            attacks=visit.attacks + attack,
        )

    nobody = Board(jnp.zeros_like(turn.walls.lower), jnp.zeros_like(turn.walls.upper))
    none = jnp.zeros_like(turn.walls.lower, dtype=jnp.int32)
    start = _Visit(jnp.int32(0), turn.may_act, turn.may_again, turn.cells, turn.enemies, nobody, none)
    end = jax.lax.while_loop(goes_on, next_visit, start)
    return end.cells, end.attacks


def _visited(turn: Turn, on_foot: Ways, visit: _Visit, slot: Array, acts: Array) -> tuple[_Visit, Array]:
    """Return what is different after the enemy in a slot has moved, and whether it attacks instead."""
    cell = jnp.minimum(fields.read(visit.cells, slot), CELLS - 1)
    here = Board.cell(cell)
    attack = acts & (here & around(turn.player)).any()
    glitch = turn.glitches.has(slot)
    walls = turn.walls.when(~glitch)
    free = ~(walls | visit.enemies | turn.transmissions)
    closer = _closer(cell, turn.player.number())

    around_others = step_towards(turn.player, here, (free | (turn.player & ~walls)) & ~here)
    elsewhere = here & ~turn.player  # a way from the player's own cell to it is none
    begins = [(way & elsewhere).any() for way in on_foot]
    past_others = _first_step(here, [(glitch & a) | (~glitch & b) for a, b in zip(closer, begins, strict=True)])
    neighbours = around(here) & free
    nearer = reduce(or_, (move(here).when(is_closer) for move, is_closer in zip(MOVES, closer, strict=True)))
    to = around_others
    for choice in (past_others & free, first_of(neighbours & nearer, here), first_of(neighbours, here)):
        to |= choice.when(~to.any())

    moves = acts & ~attack & to.any()
    alone = ~fields.repeated(visit.cells, cell)
    enemies = (visit.enemies & ~here.when(moves & alone)) | to.when(moves)
    cells = fields.written(visit.cells, slot, to.number(), moves)
    return visit._replace(cells=cells, enemies=enemies), attack


def ways(goal: Board, allowed: Board) -> Ways:
    """Return the cells whose first shortest way over `allowed` cells begins with up, down, left and right."""
    empty = Board(jnp.zeros_like(goal.lower), jnp.zeros_like(goal.upper))

    def step(carried: Any) -> Any:
        reached, assigned, found, _ = carried
        before, known = reached, list(found)
        for number, back in enumerate((down, up, right, left)):
            begins = back(reached) & ~assigned
            known[number] |= begins
            assigned |= begins
        reached |= assigned & allowed
        grew = (reached.lower != before.lower) | (reached.upper != before.upper)
        return reached, assigned, tuple(known), any_lane(grew)  # one flag: Triton crashes on a vector of them here

    start = (goal & allowed, empty, (empty, empty, empty, empty), jnp.bool_(True))
    found: Ways = jax.lax.while_loop(lambda carried: carried[3], step, start)[2]
    return found


def _closer(cell: Array, player: Array) -> tuple[Array, Array, Array, Array]:
    """Return which of up, down, left and right lead closer to the player when nothing stands in the way."""
    size = np.int32(SIZE)
    row = jax.lax.div(player, size) - jax.lax.div(cell, size)
    col = jax.lax.rem(player, size) - jax.lax.rem(cell, size)
    return row > 0, row < 0, col < 0, col > 0


def _first_step(here: Board, directions: list[Array]) -> Board:
    """Return the cell next to `here` in the first of the directions that hold."""
    found = MOVES[0](here).when(directions[0])
    for move, holds in zip(MOVES[1:], directions[1:], strict=True):
        found |= move(here).when(holds & ~found.any())
    return found
