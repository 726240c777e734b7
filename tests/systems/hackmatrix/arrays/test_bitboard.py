"""Sets of cells as bits: every operation against the same one on arrays of true and false."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plaudit.systems.hackmatrix.arrays.bitboard import MOVES, Board, around, down, left, right, ring, up
from plaudit.systems.hackmatrix.rules import CELLS, DIRECTIONS, SIZE

BOARDS = np.random.default_rng(0).random((500, 6, 6)) < np.random.default_rng(1).random((500, 1, 1))
BOARDS[:2] = [[[False]], [[True]]]
OTHERS = np.random.default_rng(2).random((500, 6, 6)) < 0.5


def moved(cells, d_row, d_col):
    """Return arrays of cells moved over the board; what leaves it is lost."""
    framed = np.pad(cells, ((0, 0), (1, 1), (1, 1)))
    return np.roll(framed, (d_row, d_col), (1, 2))[:, 1:-1, 1:-1]


def on_boards(function, *boards):
    """Return what a function of sets makes of arrays of cells, as arrays of cells."""
    return np.asarray(jax.jit(jax.vmap(lambda *each: function(*map(Board.of, each)).cells()))(*boards))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda board: board, lambda cells: cells),
        (lambda board: ~board, np.logical_not),
        (up, lambda cells: moved(cells, 1, 0)),
        (down, lambda cells: moved(cells, -1, 0)),
        (left, lambda cells: moved(cells, 0, -1)),
        (right, lambda cells: moved(cells, 0, 1)),
        (around, lambda cells: np.any([moved(cells, *step) for step in DIRECTIONS], axis=0)),
    ],
    ids=["itself", "not", "up", "down", "left", "right", "around"],
)
def test_an_operation_on_bits_is_that_on_cells(function, expected):
    np.testing.assert_array_equal(on_boards(function, BOARDS), expected(BOARDS))


def test_sets_are_joined_and_cut_cell_by_cell():
    np.testing.assert_array_equal(on_boards(Board.__or__, BOARDS, OTHERS), BOARDS | OTHERS)
    np.testing.assert_array_equal(on_boards(Board.__and__, BOARDS, OTHERS), BOARDS & OTHERS)


def test_the_ring_of_a_cell_has_the_up_to_eight_cells_around_it():
    cells = np.eye(CELLS, dtype=bool).reshape(CELLS, SIZE, SIZE)
    steps = [(d_row, d_col) for d_row in (-1, 0, 1) for d_col in (-1, 0, 1) if d_row or d_col]
    expected = np.any([moved(cells, *step) for step in steps], axis=0)
    np.testing.assert_array_equal(on_boards(ring, cells), expected)
    assert sorted(set(expected.sum((1, 2)).tolist())) == [3, 5, 8]


def test_a_cell_is_found_by_row_and_column_and_by_number():
    numbers = jnp.arange(CELLS)
    singles = jax.jit(jax.vmap(lambda number: Board.cell(number).cells()))(numbers)
    np.testing.assert_array_equal(singles, np.eye(CELLS, dtype=bool).reshape(CELLS, SIZE, SIZE))
    by_place = jax.jit(jax.vmap(lambda number: Board.at(number // SIZE, number % SIZE).number()))(numbers)
    assert by_place.tolist() == numbers.tolist()
    assert not Board.cell(-1).any()


def test_a_set_tells_what_it_has():
    found = jax.jit(jax.vmap(lambda cells: (Board.of(cells).any(), Board.of(cells).has(jnp.arange(CELLS)))))(BOARDS)
    assert found[0].tolist() == BOARDS.any((1, 2)).tolist()
    np.testing.assert_array_equal(found[1], BOARDS.reshape(-1, CELLS))


def test_the_union_joins_the_sets_that_are_wanted():
    rows, cols = jnp.array([0, 3, 5]), jnp.array([0, 2, 5])
    joined = Board.union(Board.at(rows, cols), jnp.array([True, False, True]))
    assert np.argwhere(joined.cells()).tolist() == [[0, 0], [5, 5]]
    assert not Board.union(Board.at(rows, cols), jnp.zeros(3, bool)).any()


def test_a_set_is_empty_when_a_condition_fails():
    board = Board.at(4, 1)
    assert board.when(jnp.bool_(True)).any()
    assert not board.when(jnp.bool_(False)).any()


def test_the_moves_are_in_the_order_of_the_directions():
    start = Board.at(2, 2)
    reached = [divmod(move(start).number().item(), SIZE) for move in MOVES]
    assert reached == [(2 + d_row, 2 + d_col) for d_row, d_col in DIRECTIONS]
