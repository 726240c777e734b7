"""Sets of cells as bits, so that a whole board is two words and a flood of it a few shifts."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.systems.hackmatrix.rules import CELLS, SIZE

Array = jax.Array

_HALF = CELLS // 2
_ALL = (1 << _HALF) - 1
_BITS_SET = tuple(sum(1 << n for n in range(_HALF) if n >> bit & 1) for bit in range(5))
"""The bits of a half whose own number has a bit: counting zeros has no instruction of its own everywhere."""
_NOT_FIRST = _ALL ^ sum(1 << SIZE * row for row in range(SIZE // 2))
"""All columns but the first, and below all but the last: what can move left, and what right."""
_NOT_LAST = _NOT_FIRST >> 1


class Board(NamedTuple):
    """A set of cells: rows 0–2 in the bits of `lower`, rows 3–5 in those of `upper`, the cell (0, 0) being bit 0.

    The words may be arrays, which makes it a set for each of their entries.

    >>> corner = Board.at(0, 0)
    >>> around(corner).cells().astype(int)[:2, :2].tolist()
    [[0, 1], [1, 0]]
    """

    lower: Array
    upper: Array

    @classmethod
    def of(cls, cells: Array) -> "Board":
        """Return the cells at which an array of the board's shape is true."""
        bits = jnp.where(cells.reshape(2, _HALF), jnp.uint32(1) << jnp.arange(_HALF, dtype=jnp.uint32), 0)
        words = bits.sum(axis=-1, dtype=jnp.uint32)
        return cls(words[0], words[1])

    @classmethod
    def at(cls, row: Any, col: Any) -> "Board":
        """Return the set of one cell; one set an entry when row and column are arrays."""
        return cls.cell(jnp.asarray(row) * SIZE + col)

    @classmethod
    def cell(cls, number: Any) -> "Board":
        """Return the set of the cell with a number, row by row from the bottom left; the empty set below 0."""
        number = jnp.asarray(number)
        low = number < _HALF
        bit = np.uint32(1) << jnp.where(low, jnp.maximum(number, 0), number - _HALF).astype(jnp.uint32)
        return cls(jnp.where(low & (number >= 0), bit, 0), jnp.where(low, 0, bit))

    @classmethod
    def union(cls, boards: "Board", where: Array) -> "Board":
        """Return the cells of any of the sets along the last axis, of those for which `where` holds."""

        def join(words: Array) -> Array:
            kept = jnp.where(where, words, jnp.uint32(0))
            found: Array = jax.lax.reduce(kept, jnp.uint32(0), jax.lax.bitwise_or, (kept.ndim - 1,))
            return found

        return cls(join(boards.lower), join(boards.upper))

    def cells(self) -> Array:
        """Return the set as a true-or-false array of the board's shape."""
        words = jnp.stack([self.lower, self.upper])[:, None]
        bits: Array = (words >> jnp.arange(_HALF, dtype=jnp.uint32)) & 1
        return bits.reshape(SIZE, SIZE) != 0

    def any(self) -> Array:
        """Return whether the set has a cell."""
        return (self.lower | self.upper) != 0

    def size(self) -> Array:
        """Return how many cells the set has."""
        return _ones(self.lower)[-1].astype(jnp.int32) + _ones(self.upper)[-1].astype(jnp.int32)

    def nth(self, number: Array) -> Array:
        """Return the number of the cell that comes after `number` others of the set, which has more than those.

        >>> Board.of(jnp.eye(6, dtype=bool)).nth(jnp.int32(2)).item()
        14
        """
        below = _ones(self.lower)[-1].astype(jnp.int32)
        upper = number >= below
        bits, left = jnp.where(upper, self.upper, self.lower), jnp.where(upper, number - below, number)
        position = jnp.zeros_like(left)
        for width, sums in zip((16, 8, 4, 2, 1), reversed((bits, *_ones(bits)[:4])), strict=True):
            there = ((sums >> position.astype(jnp.uint32)) & (2 * width - 1)).astype(jnp.int32)
            beyond = left >= there
            left, position = left - there * beyond, position + width * beyond
        return position + _HALF * upper

    def has(self, number: Array) -> Array:
        """Return whether the set has the cell with a number, row by row from the bottom left."""
        low = number < _HALF
        word = jnp.where(low, self.lower, self.upper)
        return (word >> jnp.where(low, number, number - _HALF).astype(jnp.uint32)) & 1 != 0

    def number(self) -> Array:
        """Return the number of the one cell that the set has."""
        word = self.lower | self.upper
        bits = sum(jnp.where((word & mask) != 0, 1 << bit, 0) for bit, mask in enumerate(_BITS_SET))
        return jnp.where(self.upper != 0, _HALF, 0) + bits

    def when(self, condition: Array) -> "Board":
        """Return the set where a condition holds, and the empty set elsewhere."""
        return Board(jnp.where(condition, self.lower, 0), jnp.where(condition, self.upper, 0))

    def __and__(self, other: "Board") -> "Board":
        return Board(self.lower & other.lower, self.upper & other.upper)

    def __or__(self, other: "Board") -> "Board":
        return Board(self.lower | other.lower, self.upper | other.upper)

    def __invert__(self) -> "Board":
        return Board(self.lower ^ _ALL, self.upper ^ _ALL)


def _ones(word: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Return how many bits are set in each 2, 4, 8, 16 and 32 bits of a word: an instruction that not all have."""
    two = word - ((word >> 1) & 0x55555555)
    four = (two & 0x33333333) + ((two >> 2) & 0x33333333)
    eight = (four + (four >> 4)) & 0x0F0F0F0F
    sixteen = (eight + (eight >> 8)) & 0x00FF00FF
    return two, four, eight, sixteen, (sixteen + (sixteen >> 16)) & 0xFF


def up(board: Board) -> Board:
    """Return the set moved one row up; what leaves the board is lost."""
    carried = board.lower >> (_HALF - SIZE)
    return Board((board.lower << SIZE) & _ALL, ((board.upper << SIZE) | carried) & _ALL)


def down(board: Board) -> Board:
    """Return the set moved one row down."""
    carried = (board.upper << (_HALF - SIZE)) & _ALL
    return Board((board.lower >> SIZE) | carried, board.upper >> SIZE)


def left(board: Board) -> Board:
    """Return the set moved one column left."""
    return Board((board.lower & _NOT_FIRST) >> 1, (board.upper & _NOT_FIRST) >> 1)


def right(board: Board) -> Board:
    """Return the set moved one column right."""
    return Board((board.lower & _NOT_LAST) << 1, (board.upper & _NOT_LAST) << 1)


MOVES = (up, down, left, right)
"""By direction, in the order of the rules."""


def around(board: Board) -> Board:
    """Return the neighbours of a set's cells: up, down, left and right."""
    return up(board) | down(board) | left(board) | right(board)


def ring(board: Board) -> Board:
    """Return the up to eight cells around one cell."""
    line = left(board) | right(board)
    return line | up(line | board) | down(line | board)
