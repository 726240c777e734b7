"""Correlation within groups: pooled over them, and how far it is from chance."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.audit.steps import Numbers, Positions


class Association(NamedTuple):
    """How two columns go together within groups."""

    correlation: float
    """Spearman's, of ranks within groups, pooled."""
    errors: float
    """How many standard errors from 0, if within each group any order were as likely as another."""


def correlate_within(one: Numbers, other: Numbers, groups: Positions) -> Association:
    """Return how two columns go together within groups; those in which one of them is constant say nothing.

    The variance is that of random orders within each group (Pitman, 1937), ties included, so it holds for small groups.
    """
    codes = np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes)
    x, y = (_rank(column, codes, sizes) for column in (one, other))
    xx, yy, xy = (np.bincount(codes, each) for each in (x * x, y * y, x * y))
    telling = (xx > 1e-12) & (yy > 1e-12)
    if not telling.any():
        return Association(0.0, 0.0)
    product = float(xy[telling].sum())
    variance = float((xx * yy / np.maximum(sizes - 1, 1))[telling].sum())
    return Association(product / float(xx[telling].sum() * yy[telling].sum()) ** 0.5, product / variance**0.5)


def _rank(column: Numbers, codes: Positions, sizes: Positions) -> Numbers:
    """Return ranks within groups around 0, in shares of their number; equal numbers share the mean of their ranks."""
    order = np.lexsort((column, codes))
    by, values = codes[order], column[order]
    first = np.flatnonzero(np.r_[True, (by[1:] != by[:-1]) | (values[1:] != values[:-1])])
    counts = np.diff(np.r_[first, len(order)])
    starts = np.cumsum(sizes) - sizes
    found = np.empty(len(column))
    found[order] = np.repeat(first + (counts - 1) / 2, counts) - starts[by] - (sizes[by] - 1) / 2
    return found / sizes[codes]


def refine(groups: Positions, *columns: NDArray[np.generic]) -> Positions:
    """Return groups that are split by the values of columns."""
    found = groups
    for column in columns:
        codes = np.unique(column, return_inverse=True)[1]
        found = np.unique(found * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return found


def estimate_variance_within(column: Numbers, groups: Positions) -> float:
    """Return the variance within groups, however small they are; 0 where all are of one."""
    moved, free = _center(column, groups)
    return float(moved @ moved) / free if free else 0.0


def correlate_linearly(one: Numbers, other: Numbers, groups: Positions) -> float:
    """Return Pearson's correlation within groups, pooled; 0 where one of the columns is constant."""
    x, y = (_center(column, groups)[0] for column in (one, other))
    spread = float(x @ x) * float(y @ y)
    return float(x @ y) / spread**0.5 if spread > 1e-24 else 0.0


def _center(column: Numbers, groups: Positions) -> tuple[Numbers, int]:
    """Return differences from the mean of the group, and how many of them are free."""
    codes = np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes)
    return column - (np.bincount(codes, column) / sizes)[codes], len(column) - len(sizes)
