"""Shortest ways over the board: how far the exit is, and where an enemy steps."""

import jax
import jax.numpy as jnp

from plaudit.errors import ShapeMismatch
from plaudit.systems.hackmatrix.arrays.bitboard import MOVES, Board, around
from plaudit.systems.hackmatrix.arrays.fused import any_environment, fused
from plaudit.systems.hackmatrix.rules import SIZE, Rules
from plaudit.systems.hackmatrix.validation import validate_cell

Array = jax.Array


def bfs_distance(blocks: Array, row: Array, col: Array, target_row: Array, target_col: Array) -> Array:
    """Count the steps of the shortest path around all blocks.

    Blocks on the first and on the last cell are ignored.

    Args:
        blocks: Where blocks are, as a 6 × 6 array.
        row: The row to start from.
        col: The column to start from.
        target_row: The row to reach.
        target_col: The column to reach.

    Returns:
        The number of steps; -1 if there is no path.

    Raises:
        ShapeMismatch: `blocks` is not 6 × 6.

    >>> bfs_distance(jnp.zeros((6, 6), bool), 0, 0, 5, 5).item()
    10
    """
    if jnp.shape(blocks) != (SIZE, SIZE):
        raise ShapeMismatch(f"blocks has shape {jnp.shape(blocks)}; a board has shape {(SIZE, SIZE)}.")
    here, target = validate_cell(row, col), validate_cell(target_row, target_col)
    return find_distance(Board.of(jnp.asarray(blocks) != 0), Board.at(*here), Board.at(*target))


@fused
def _count_steps(walls_start_target: tuple[Board, Board, Board]) -> Array:
    walls, start, target = walls_start_target
    reached, steps = flood(start, ~walls | target, target)
    return jnp.where((reached & target).any(), steps, -1)


def find_distance(walls: Board, start: Board, target: Board) -> Array:
    """Return how many steps lead from one cell to another, -1 when none do."""
    steps: Array = _count_steps((walls, start, target))
    return steps


def flood(start: Board, allowed: Board, goal: Board) -> tuple[Board, Array]:
    """Return the cells reached over `allowed` ones when the first of a goal is, or no more can be; and in what steps.

    A step enters all neighbours at once. Boards of many environments may be arrays, and wait for the slowest.
    """

    def goes_on(carried: tuple[Board, Array, Array]) -> Array:
        return any_environment(carried[2])

    def step(carried: tuple[Board, Array, Array]) -> tuple[Board, Array, Array]:
        reached, steps, goes = carried
        grown = reached | (around(reached) & allowed).when(goes)
        goes &= (grown.lower != reached.lower) | (grown.upper != reached.upper)
        return grown, steps + goes, goes & ~(grown & goal).any()

    begins = (start.any(), ~(start & goal).any())
    first = (start, jnp.zeros_like(start.lower, dtype=jnp.int32), begins[0] & begins[1])
    reached, steps, _ = jax.lax.while_loop(goes_on, step, first)
    return reached, steps


def find_exit_distance(
    walls: Board, row: Array, col: Array, exit_row: Array, exit_col: Array, *, rules: Rules
) -> Array:
    """Return how far the exit is for the reward, which has a number also where no way leads to it."""
    steps = find_distance(walls, Board.at(row, col), Board.at(exit_row, exit_col))
    direct = jnp.abs(row - exit_row) + jnp.abs(col - exit_col) if rules.no_path == "manhattan" else 0
    return jnp.where(steps < 0, direct, steps).astype(jnp.int32)


def find_step_towards(goal: Board, start: Board, allowed: Board) -> Board:
    """Return the first cell of the first shortest way over `allowed` cells, the empty set when there is none.

    Ways are in the order of the directions. The goal is grown until it touches a neighbour of the start.
    """
    near = around(start)
    reached, _ = flood(goal & allowed, allowed, near)
    return find_first_neighbour(reached & near, start)


def find_first_neighbour(cells: Board, start: Board) -> Board:
    """Return the first neighbour of `start`, in the order of the directions, that is in a set of cells."""
    found = MOVES[0](start) & cells
    for move in MOVES[1:]:
        found |= (move(start) & cells).when(~found.any())
    return found


def manhattan_distance(number: Array, other: Array) -> Array:
    """Return the direct distance between two cells, given by number."""
    rows = jnp.abs(number // SIZE - other // SIZE)
    return rows + jnp.abs(number % SIZE - other % SIZE)
