"""Ranks of numbers, how far two rankings agree, and a sample of pairs to rank where there are too many."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


class Reservoir:
    """A uniform sample of the pairs that were added: all of them up to `size`, then each with the same chance.

    Which ones are kept depends on `seed` and on the order of the pairs, not on how they were cut into batches
    (Vitter's algorithm R, 1985).
    """

    def __init__(self, size: int, *, seed: int = 0) -> None:
        """Keep up to `size` pairs."""
        self.size = size
        self.seen = 0
        self._random = np.random.default_rng(seed)
        self._pairs = np.empty((2, min(size, 1024)))

    @property
    def pairs(self) -> NDArray[np.float64]:
        """The pairs that are kept, as two rows."""
        return self._pairs[:, : min(self.seen, self.size)]

    def add(self, left: Numbers, right: Numbers) -> None:
        """Add a batch of pairs."""
        room = max(min(self.size - self.seen, len(left)), 0)
        if room:
            self._grow(self.seen + room)
            self._pairs[:, self.seen : self.seen + room] = left[:room], right[:room]
        rest = len(left) - room
        if rest:
            count = np.arange(self.seen + room + 1, self.seen + len(left) + 1)
            slots = (self._random.random(rest) * count).astype(np.int64)
            kept = np.flatnonzero(slots < self.size)
            self._pairs[:, slots[kept]] = left[room + kept], right[room + kept]  # of two for a slot the later stays
        self.seen += len(left)

    def _grow(self, needed: int) -> None:
        have = self._pairs.shape[1]
        if needed > have:
            larger = np.empty((2, min(max(needed, 2 * have), self.size)))
            larger[:, :have] = self._pairs
            self._pairs = larger


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
