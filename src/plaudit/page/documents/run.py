"""A run over training: the return and every term of each finished episode, at its position in the run.

Curves are reduced to what a screen shows: mean, lowest and highest of neighbors, so that no peak is lost.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.page.documents.values import Document, to_column_with_gaps
from plaudit.page.sources import LedgerSource

MOST_POINTS = 1000
"""Points of a curve: a screen has hardly more columns of pixels, and each point has a lowest and a highest."""

Numbers = NDArray[np.float64]


class Reduction:
    """The grouping of neighbors into points; all curves of a document share it."""

    def __init__(self, count: int, most: int = MOST_POINTS) -> None:
        """Reduce `count` values to at most `most` points."""
        self.count = count
        self.size = max(1, -(-count // most))
        """Values per point."""
        self.starts = np.arange(0, count, self.size)

    def describe(self) -> Document | None:
        """Return a description of the reduction; None if every value is a point."""
        if self.size == 1:
            return None
        how = f"mean, min and max of every {self.size} episodes"
        return {"from": self.count, "to": len(self.starts), "how": how}

    def reduce(self, values: Sequence[float | None] | Numbers) -> Document:
        """Return the mean, the lowest and the highest of each group; None if the whole group is missing.

        NaN stands for a missing value, as of a term that a version of the reward does not have.

        >>> Reduction(4, most=2).reduce([1.0, 3.0, None, 5.0])
        {'mean': [2.0, 5.0], 'min': [1.0, 5.0], 'max': [3.0, 5.0]}
        """
        column = np.array(values, np.float64)
        known = ~np.isnan(column)
        counts = self._add(known.astype(np.float64))
        some = counts > 0
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            means = self._add(np.where(known, column, 0.0)) / np.maximum(counts, 1.0)
        lows = self._fold(np.fmin, column)
        highs = self._fold(np.fmax, column)
        means = np.clip(means, lows, highs)  # rounding moves a mean of equal values out of their range
        return {
            name: to_column_with_gaps(part, some) for name, part in (("mean", means), ("min", lows), ("max", highs))
        }

    def sum_sizes(self, values: Numbers) -> Numbers:
        """Return the sum of absolute values of each group, NaN counting nothing."""
        return self._add(np.nan_to_num(np.abs(values), nan=0.0, posinf=np.inf))

    def pick(self, values: Sequence[Any]) -> list[Any]:
        """Return the first of each group."""
        return [values[at] for at in self.starts.tolist()]

    def _add(self, column: Numbers) -> Numbers:
        return self._fold(np.add, column)

    def _fold(self, operation: np.ufunc, column: Numbers) -> Numbers:
        if not self.count:
            return np.zeros(0)
        folded: Numbers = operation.reduceat(column, self.starts)
        return folded


def build_run(source: LedgerSource, name: str) -> Document:
    """Return the curves of a run."""
    run, listing = source.find_run(name)
    episodes = listing.finished
    places = [at for at, each in enumerate(listing.episodes) if each.finished]
    lengths = [each.length for each in episodes]
    reduction = Reduction(len(episodes))
    paid = {
        term: np.array([each.terms.get(term, np.nan) for each in episodes], np.float64) for term in episodes.term_names
    }
    return {
        "run": run,
        "source": source.id,
        "rewards": list(dict.fromkeys(map(source.find_reward_id, listing.episodes))),
        "episodes": len(listing),
        "unfinished": listing.unfinished,
        "steps": listing.steps if len(listing) else source.count_records(run),
        "masked": source.records[run].masked,
        "mean_length": sum(lengths) / len(lengths) if lengths else None,
        "reduced": reduction.describe(),
        "x": reduction.pick(places),
        "ids": reduction.pick([listing.ids[at] for at in places]),
        "return": reduction.reduce([each.total for each in episodes]),
        "length": reduction.reduce(lengths),
        "native": None,
        "terms": {term: reduction.reduce(column) for term, column in paid.items()},
        "share": _build_shares(reduction, paid),
        "findings": [],
    }


def _build_shares(reduction: Reduction, paid: dict[str, np.ndarray]) -> Document:
    """Return the share of each term in the sum of absolute term values of a group of episodes."""
    sizes = {term: reduction.sum_sizes(column) for term, column in paid.items()}
    whole = np.sum(list(sizes.values()), axis=0) if sizes else np.zeros(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {term: to_column_with_gaps(size / whole, whole > 0) for term, size in sizes.items()}
