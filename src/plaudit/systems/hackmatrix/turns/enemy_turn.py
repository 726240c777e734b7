"""What happens after the player's turn: transmissions hatch, enemies act, new transmissions appear.

Enemies act one after another, each seeing what the ones before it did. All that a visit reads or changes is a few
words: cells packed into slots, sets of cells and of slots as boards. Nothing is an array with an axis of its own, so
the whole turn is arithmetic on numbers, one column an environment, and a graphics card does all of it in one kernel.
"""

from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.arrays.bitboard import MOVES, Board, around, down, left, right, up
from plaudit.systems.hackmatrix.arrays.fused import any_environment, fused
from plaudit.systems.hackmatrix.arrays.words import (
    NOBODY,
    Words,
    draw_below,
    draw_word,
    is_repeated,
    pack_slots,
    read_slot,
    unpack_slots,
    write_slot,
)
from plaudit.systems.hackmatrix.entity_lists import (
    append,
    find_cells,
    find_occupied_cells,
    get_full_hp,
    is_in_use,
    keep_where,
)
from plaudit.systems.hackmatrix.pathfinding import find_first_neighbour, find_step_towards
from plaudit.systems.hackmatrix.placement import place_transmissions
from plaudit.systems.hackmatrix.rules import CELLS, GLITCH, NO_BLOCK, SIZE, SLOTS, VIRUS
from plaudit.systems.hackmatrix.state import Enemies, EnvState, Transmissions

Array = jax.Array
Ways = tuple[Board, Board, Board, Board]


@jax.jit  # traced once for all programs with a step in them
def take_enemy_turn(seeds: Array, state: EnvState, when: Array) -> EnvState:
    """Return the state after the enemies' turn, where `when` holds; STEP, when it is armed, is used up instead.

    `seeds` are two pairs of random words: for the order of the enemies, and for the cells of new transmissions.
    """
    runs = when & ~state.step_active
    state = state.replace(step_active=state.step_active & ~when, turn=state.turn + runs)
    state = _hatch(state, runs)
    state = _move_enemies(seeds[0], state, runs)
    state = _add_transmissions(seeds[1], state, runs)
    enemies = state.enemies
    rested = enemies.replace(
        disabled=jnp.where(runs, jnp.maximum(enemies.disabled - 1, 0), enemies.disabled),
        stunned=enemies.stunned & ~runs,
    )
    state = state.replace(enemies=rested)
    return state.replace(history=state.history.push(state.snapshot(), runs))


def _hatch(state: EnvState, runs: Array) -> EnvState:
    """Let the transmissions whose time has come become enemies, which do nothing in this turn."""
    waiting = state.transmissions
    hatch = runs & (waiting.turns <= 1)
    eggs = keep_where(waiting, hatch)
    new = is_in_use(eggs)
    born = Enemies(
        count=eggs.count,
        type=eggs.type,
        row=eggs.row,
        col=eggs.col,
        hp=jnp.where(new, get_full_hp(eggs.type), 0).astype(jnp.int8),
        disabled=new.astype(jnp.int8),
        stunned=jnp.zeros(SLOTS, bool),
        from_siphon=eggs.from_siphon,
        from_task=eggs.from_task,
    )
    left: Transmissions = keep_where(waiting, ~hatch)
    left = left.replace(turns=jnp.where(runs & is_in_use(left), left.turns - 1, left.turns))
    return state.replace(enemies=append(state.enemies, born), transmissions=left)


def _move_enemies(seed: Array, state: EnvState, runs: Array) -> EnvState:
    """Let every enemy attack or move, in a random order; a virus twice."""
    enemies, player = state.enemies, state.player
    used = is_in_use(enemies)
    may = runs & used & (enemies.disabled == 0) & ~enemies.stunned
    cells, attacks = visit_all(
        Turn(
            seed=(seed[0], seed[1]),
            cells=pack_slots(jnp.where(used, find_cells(enemies), NOBODY)),
            may_act=Board.of(may),
            may_again=Board.of(may & (enemies.type == VIRUS)),
            glitches=Board.of(used & (enemies.type == GLITCH)),
            player=Board.at(player.row, player.col),
            walls=Board.of(state.grid.block_kind != NO_BLOCK),
            enemies=find_occupied_cells(enemies),
            transmissions=find_occupied_cells(state.transmissions),
        )
    )
    cell = jnp.where(used, unpack_slots(cells), 0)
    walked = enemies.replace(row=(cell // SIZE).astype(jnp.int8), col=(cell % SIZE).astype(jnp.int8))
    return state.replace(enemies=walked, player=player.replace(hp=jnp.maximum(player.hp - attacks, 0)))


def _add_transmissions(seed: Array, state: EnvState, runs: Array) -> EnvState:
    """Place a transmission when the scheduled time has come, and all that siphoning released."""
    due = runs & ~state.calm & (state.interval > 0) & (state.turn >= state.next_task)
    released = jnp.where(runs, state.pending, 0)
    placed = place_transmissions(seed, state, tasks=due.astype(jnp.int32), siphons=released, plain=jnp.int32(0))
    return state.replace(
        transmissions=placed,
        next_task=jnp.where(due, state.turn + state.interval, state.next_task),
        pending=state.pending - released,
    )


class Turn(NamedTuple):
    """What the enemies' moves depend on; `may_act`, `may_again` and `glitches` are sets of slots."""

    seed: tuple[Array, Array]
    """Two random words, for the order of visits."""
    cells: Words
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
    cells: Words
    enemies: Board
    attacked: Board
    """The slots that have attacked in this turn."""
    attacks: Array


@fused
def visit_all(turn: Turn) -> tuple[Words, Array]:
    """Return the cells after all visits, and how many attacks hit the player.

    Each round visits its enemies in a uniformly random order. A virus that has attacked is not visited again.
    """
    on_foot = find_ways(turn.player, ~turn.walls)

    def goes_on(visit: _Visit) -> Array:
        return any_environment((visit.left | visit.again).any())

    def next_visit(visit: _Visit) -> _Visit:
        over = ~visit.left.any()
        left = visit.left | (visit.again & ~visit.attacked).when(over)
        size = left.size()
        drawn, _ = draw_below(draw_word(turn.seed, visit.number), jnp.maximum(size, 1))
        slot = jnp.where(size > 0, left.nth(drawn), 0)
        chosen = Board.cell(slot).when(size > 0)
        moved, attack = _visit_slot(turn, on_foot, visit, slot, size > 0)
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


def _visit_slot(turn: Turn, on_foot: Ways, visit: _Visit, slot: Array, acts: Array) -> tuple[_Visit, Array]:
    """Return what is different after the enemy in a slot has moved, and whether it attacks instead."""
    cell = jnp.minimum(read_slot(visit.cells, slot), CELLS - 1)
    here = Board.cell(cell)
    attack = acts & (here & around(turn.player)).any()
    glitch = turn.glitches.has(slot)
    walls = turn.walls.when(~glitch)
    free = ~(walls | visit.enemies | turn.transmissions)
    closer = _find_closer(cell, turn.player.number())

    around_others = find_step_towards(turn.player, here, (free | (turn.player & ~walls)) & ~here)
    elsewhere = here & ~turn.player  # a way from the player's own cell to it is none
    begins = [(way & elsewhere).any() for way in on_foot]
    past_others = _find_first_step(here, [(glitch & a) | (~glitch & b) for a, b in zip(closer, begins, strict=True)])
    neighbours = around(here) & free
    nearer = reduce(or_, (move(here).when(is_closer) for move, is_closer in zip(MOVES, closer, strict=True)))
    to = around_others
    for choice in (
        past_others & free,
        find_first_neighbour(neighbours & nearer, here),
        find_first_neighbour(neighbours, here),
    ):
        to |= choice.when(~to.any())

    moves = acts & ~attack & to.any()
    alone = ~is_repeated(visit.cells, cell)
    enemies = (visit.enemies & ~here.when(moves & alone)) | to.when(moves)
    cells = write_slot(visit.cells, slot, to.number(), moves)
    return visit._replace(cells=cells, enemies=enemies), attack


def find_ways(goal: Board, allowed: Board) -> Ways:
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
        return (
            reached,
            assigned,
            tuple(known),
            any_environment(grew),
        )  # one flag: Triton crashes on a vector of them here

    start = (goal & allowed, empty, (empty, empty, empty, empty), jnp.bool_(True))
    found: Ways = jax.lax.while_loop(lambda carried: carried[3], step, start)[2]
    return found


def _find_closer(cell: Array, player: Array) -> tuple[Array, Array, Array, Array]:
    """Return which of up, down, left and right lead closer to the player when nothing stands in the way."""
    size = np.int32(SIZE)
    row = jax.lax.div(player, size) - jax.lax.div(cell, size)
    col = jax.lax.rem(player, size) - jax.lax.rem(cell, size)
    return row > 0, row < 0, col < 0, col > 0


def _find_first_step(here: Board, directions: list[Array]) -> Board:
    """Return the cell next to `here` in the first of the directions that hold."""
    found = MOVES[0](here).when(directions[0])
    for move, holds in zip(MOVES[1:], directions[1:], strict=True):
        found |= move(here).when(holds & ~found.any())
    return found
