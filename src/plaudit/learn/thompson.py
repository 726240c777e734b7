"""How likely each of several independent normal numbers is to be the largest: the exact odds of Thompson sampling."""

from collections.abc import Sequence
from math import erfc, sqrt

import numpy as np

from plaudit.learn.ridge import Numbers

_REACH = 9.0
"""Standard deviations beyond which a normal number never lies: the tail holds less than 1e-18."""
_BREAKS = (-9.0, -6.0, -4.0, -2.5, -1.25, 0.0, 1.25, 2.5, 4.0, 6.0, 9.0)
"""Where, in standard deviations from a mean, the integrand changes its course: between them it is smooth."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def chance_of_best(means: Sequence[float], deviations: Sequence[float], of: int) -> float:
    """Return how likely the number `of` is the largest, to 1e-9: a Gauss–Legendre integral over its density.

    >>> round(chance_of_best([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], 0), 9)
    0.333333333
    """
    mean, deviation = means[of], deviations[of]
    nodes, weights = _panels(means, deviations, of)
    density = np.exp(-0.5 * nodes * nodes) * (weights / np.sqrt(2 * np.pi))
    for at, (other, spread) in enumerate(zip(means, deviations, strict=True)):
        if at != of:
            density *= _below(((mean - other) + deviation * nodes) / spread)
    return float(min(1.0, max(0.0, density.sum())))


def _below(z: Numbers) -> Numbers:
    """Return how likely a standard normal number lies below each of `z`; without SciPy it takes five times as long."""
    try:
        from scipy.special import ndtr
    except ImportError:
        return np.fromiter((0.5 * erfc(-each / sqrt(2.0)) for each in z.tolist()), np.float64, len(z))
    below: Numbers = ndtr(z)
    return below


def _panels(means: Sequence[float], deviations: Sequence[float], of: int) -> tuple[Numbers, Numbers]:
    """Return nodes, in standard deviations of the number `of`, and their weights."""
    centres = (np.asarray(means) - means[of]) / deviations[of]
    spreads = np.asarray(deviations) / deviations[of]
    breaks = (centres[:, None] + spreads[:, None] * np.asarray(_BREAKS)).reshape(-1)
    edges = np.unique(np.clip(np.append(breaks, (-_REACH, _REACH)), -_REACH, _REACH))
    half = 0.5 * np.diff(edges)
    middle = 0.5 * (edges[1:] + edges[:-1])
    nodes = middle[:, None] + half[:, None] * _NODES
    return nodes.reshape(-1), (half[:, None] * _WEIGHTS).reshape(-1)
