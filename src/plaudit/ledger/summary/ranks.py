"""Ranks of numbers, how far two rankings agree, and a sample of pairs to rank where there are too many."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Positions = NDArray[np.int64]
_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_ROOM = 1 << 16
"""Pairs that may wait to be dropped, however small the sample is."""


class Reservoir:
    """A uniform sample of the pairs that were added: all of them up to `size`, then each with the same chance.

    Every pair has a random number, made of `seed` and its position, and those with the lowest are kept. So the sample
    depends neither on the batches nor on which processes saw which pairs: samples of parts merge to that of the whole.
    """

    def __init__(self, size: int, *, seed: int = 0) -> None:
        """Keep up to `size` pairs."""
        self.size = size
        self._key = np.random.SeedSequence(seed).generate_state(1, np.uint64)
        self._limit = np.iinfo(np.uint64).max
        self._next = self._held = 0
        self._blocks = [(np.empty(0, np.int64), np.empty(0, np.uint64), np.empty((2, 0)))]

    @property
    def pairs(self) -> Numbers:
        """The pairs that are kept, as two rows, in the order of their positions."""
        return self.settle()[1]

    def add(self, left: Numbers, right: Numbers, positions: Positions | None = None) -> None:
        """Add a batch of pairs; their positions follow those of the last batch, or are given."""
        if positions is None:
            positions = np.arange(self._next, self._next + len(left))
            self._next += len(left)
        chances = _mix(self._key + positions.astype(np.uint64) * _STRIDE)
        kept = np.flatnonzero(chances <= self._limit)
        self._blocks.append((positions[kept], chances[kept], np.stack([left[kept], right[kept]])))
        self._held += len(kept)
        if self._held > self.size + max(self.size // 2, _ROOM):
            self._drop()

    def settle(self) -> tuple[Positions, Numbers]:
        """Return positions and pairs of the sample in order, after the others are dropped."""
        positions, chances, pairs = self._drop()
        if np.any(positions[1:] < positions[:-1]):
            order = np.argsort(positions, kind="stable")
            positions, chances, pairs = positions[order], chances[order], pairs[:, order]
            self._blocks = [(positions, chances, pairs)]
        return positions, pairs

    def _drop(self) -> tuple[Positions, NDArray[np.uint64], Numbers]:
        if len(self._blocks) > 1:
            positions, chances = (np.concatenate([each[at] for each in self._blocks]) for at in (0, 1))
            pairs = np.concatenate([each[2] for each in self._blocks], axis=1)
            if len(positions) > self.size:
                lowest = np.argpartition(chances, self.size - 1)[: self.size]
                self._limit = chances[lowest].max()
                positions, chances, pairs = positions[lowest], chances[lowest], pairs[:, lowest]
            self._blocks, self._held = [(positions, chances, pairs)], len(positions)
        return self._blocks[0]


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers that look random, a different one for each (splitmix64, Steele et al. 2014)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def compute_ranks(numbers: Numbers) -> Numbers:
    """Return the rank of each number from 1 up; equal numbers share the mean of their ranks.

    >>> compute_ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.empty(0, np.int64)
    lengths = np.diff(np.r_[first, len(ordered)])
    found = np.empty(len(ordered))
    found[order] = np.repeat(first + (lengths + 1) / 2, lengths)
    return found


def correlate_ranks(left: Numbers, right: Numbers) -> float | None:
    """Return Spearman's correlation of two columns; None where one of them does not vary.

    >>> correlate_ranks(np.array([1.0, 2.0, 3.0]), np.array([10.0, 40.0, 20.0]))
    0.5
    """
    if len(left) < 2:
        return None
    first, second = (column - (len(left) + 1) / 2 for column in (compute_ranks(left), compute_ranks(right)))
    spread = float(np.dot(first, first)) * float(np.dot(second, second))
    return float(np.dot(first, second)) / spread**0.5 if spread else None
