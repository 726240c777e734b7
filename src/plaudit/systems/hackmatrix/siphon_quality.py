"""What a siphon would yield from each cell, and whether another cell gives the same and more."""

from collections.abc import Callable
from functools import partial, reduce
from operator import add, or_
from typing import NamedTuple

import jax
import jax.numpy as jnp

from plaudit.systems.hackmatrix.rules import DATA, NO_BLOCK, PROGRAMS, QUESTION, SIZE, Rules
from plaudit.systems.hackmatrix.state import EnvState
from plaudit.systems.hackmatrix.validation import validate_cell, validate_state

Array = jax.Array

_REACH = 5
"""Cells that a siphon takes from: the one it is run on and its four neighbours."""
_POINTS = 9
"""The most points that a block can hold."""
_COUNT_BITS = 3
"""Enough to count the blocks in reach that hold some number of points."""
_RESOURCE_BITS = 10
"""Enough for five cells of credits, and for five of energy."""

_SEED = Rules.seed()


class SiphonYield(NamedTuple):
    """What a siphon run on a cell gives."""

    credits: Array
    energy: Array
    points: Array
    """int32 (5,): those of each data block in reach, the largest first, then zeros."""
    programs: Array
    """bool (23,): programs in reach that the player does not own."""


class Optimality(NamedTuple):
    """Whether no cell gives what the player's cell gives and more; if one does, how much more there is to have."""

    is_optimal: Array
    missed_credits: Array
    missed_energy: Array


def compute_siphon_yield(state: EnvState, row: Array | int, col: Array | int, *, rules: Rules = _SEED) -> SiphonYield:
    """Compute the yield of a siphon on a cell; a cell with a block yields nothing.

    Args:
        state: The state of the game.
        row: The row of the cell.
        col: The column of the cell.
        rules: The rules of the yield.

    Returns:
        The credits, energy, points and programs.

    >>> from plaudit.systems.hackmatrix.state import Grid, data_block
    >>> state = EnvState(grid=Grid.of({(0, 0): {"credits": 2}, (0, 1): data_block(5), (1, 0): data_block(7)}))
    >>> found = compute_siphon_yield(state, 0, 0)
    >>> found.credits.item(), found.points.tolist()
    (2, [7, 5, 0, 0, 0])
    """
    found: SiphonYield = _compute_yield_on(validate_state(state), *validate_cell(row, col), rules=rules)
    return found


def check_siphon_optimality(state: EnvState, *, rules: Rules = _SEED) -> Optimality:
    """Check whether another cell yields the same points and programs, and more credits or energy.

    The most credits and the most energy may lie in different cells.

    Args:
        state: The state of the game; the siphon is used on the player's cell.
        rules: The rules that say which cells are compared.

    Returns:
        Whether the cell is optimal, and the credits and energy missed.

    >>> from plaudit.systems.hackmatrix.state import Grid
    >>> check_siphon_optimality(EnvState(grid=Grid.of({(3, 3): {"credits": 3}}))).missed_credits.item()
    3
    """
    found: Optimality = _check_optimality(validate_state(state), rules=rules)
    return found


class _Yields(NamedTuple):
    """What each cell yields, in words, so that a yield is compared at once."""

    points: Array
    """How many blocks of 1, of 2, … 9 points are in reach, `_COUNT_BITS` each."""
    programs: Array
    """A bit for each program."""
    resources: Array
    """Credits, and energy above them."""


def _compute_yields(state: EnvState, rules: Rules) -> _Yields:
    grid = state.grid
    block = grid.block_kind != NO_BLOCK
    question = grid.block_kind == QUESTION
    data = jnp.where(question, grid.block_is_data, grid.block_kind == DATA)
    closed = block & ~grid.siphoned
    if rules.question_blocks == "ignored":
        closed &= ~question
    lying = ~block if rules.siphoned_cells == "counted" else ~block & ~grid.siphoned

    one = jnp.uint32(1)
    points = jnp.maximum(grid.block_points - 1, 0).astype(jnp.uint32)
    program = jnp.maximum(grid.block_program, 0).astype(jnp.uint32)
    owned = jnp.where(state.owned, one << jnp.arange(len(PROGRAMS), dtype=jnp.uint32), 0).sum(dtype=jnp.uint32)
    resources = grid.credits.astype(jnp.uint32) | (grid.energy.astype(jnp.uint32) << _RESOURCE_BITS)
    yields = _Yields(
        _join_reached(jnp.where(closed & data, one << (_COUNT_BITS * points), 0), add),
        _join_reached(jnp.where(closed & ~data, (one << program) & ~owned, 0), or_),
        _join_reached(jnp.where(lying, resources, 0), add),
    )
    return _Yields(*(jnp.where(block, 0, words) for words in yields))


def _join_reached(cells: Array, join: Callable[[Array, Array], Array]) -> Array:
    """Return what lies on each cell and on its four neighbours, joined; beyond the board is 0."""
    framed = jnp.pad(cells, 1)
    return reduce(join, (cells, framed[2:, 1:-1], framed[:-2, 1:-1], framed[1:-1, 2:], framed[1:-1, :-2]))


def _pick_cell(yields: _Yields, row: Array, col: Array) -> _Yields:
    here = (jnp.arange(SIZE)[:, None] == row) & (jnp.arange(SIZE) == col)
    return _Yields(*(jnp.where(here, words, 0).sum(dtype=jnp.uint32) for words in yields))


def _unpack_credits(resources: Array) -> Array:
    return (resources & ((1 << _RESOURCE_BITS) - 1)).astype(jnp.int32)


def _unpack_energy(resources: Array) -> Array:
    return (resources >> _RESOURCE_BITS).astype(jnp.int32)


@partial(jax.jit, static_argnames="rules")
def _compute_yield_on(state: EnvState, row: Array, col: Array, rules: Rules) -> SiphonYield:
    found = _pick_cell(_compute_yields(state, rules), row, col)
    counts = (found.points >> (_COUNT_BITS * jnp.arange(_POINTS, dtype=jnp.uint32))) & ((1 << _COUNT_BITS) - 1)
    blocks = jnp.cumsum(counts[::-1])  # how many of 9 points, of 8 or more, …
    points = (blocks > jnp.arange(_REACH)[:, None]).sum(axis=1, dtype=jnp.int32)
    programs = (found.programs >> jnp.arange(len(PROGRAMS), dtype=jnp.uint32)) & 1 != 0
    return SiphonYield(_unpack_credits(found.resources), _unpack_energy(found.resources), points, programs)


@partial(jax.jit, static_argnames="rules")
def _check_optimality(state: EnvState, rules: Rules) -> Optimality:
    yields = _compute_yields(state, rules)
    own = _pick_cell(yields, state.player.row, state.player.col)
    credits, energy = _unpack_credits(yields.resources), _unpack_energy(yields.resources)
    own_credits, own_energy = _unpack_credits(own.resources), _unpack_energy(own.resources)
    same = (yields.points == own.points) & (yields.programs == own.programs)
    if rules.siphon_candidates == "same_blocks":
        same &= _find_same_blocks(state) | ((own.points == 0) & (own.programs == 0))
    # Where a block is the yield is nothing, so such a cell never has more.
    better = same & (credits >= own_credits) & (energy >= own_energy) & (yields.resources != own.resources)
    return Optimality(
        ~better.any(),
        jnp.where(better, credits - own_credits, 0).max(),
        jnp.where(better, energy - own_energy, 0).max(),
    )


def _find_same_blocks(state: EnvState) -> Array:
    """Return the cells from which every block that the player could siphon is in reach."""
    grid, player = state.grid, state.player
    away = jnp.abs(jnp.arange(SIZE)[:, None] - player.row) + jnp.abs(jnp.arange(SIZE) - player.col)
    blocks = ((away <= 1) & (grid.block_kind != NO_BLOCK) & ~grid.siphoned).astype(jnp.int32)
    return _join_reached(blocks, add) == blocks.sum()
