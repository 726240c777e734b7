"""Quantiles of Student's t distribution with an integer number of degrees of freedom, without SciPy."""

import math
from statistics import NormalDist

_MANY = 100
"""Degrees of freedom beyond which a series in their inverse is right to five digits."""


def t_quantile(confidence: float, freedom: int) -> float:
    """Return how many standard errors an interval reaches to each side.

    >>> round(t_quantile(0.95, 9), 4), round(t_quantile(0.95, 10**6), 4)
    (2.2622, 1.96)
    """
    if freedom > _MANY:
        z = NormalDist().inv_cdf((1.0 + confidence) / 2.0)
        return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    low, high = 0.0, math.pi / 2  # of the angle whose tangent is t / sqrt(freedom)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _probability_within(middle, freedom) < confidence else (low, middle)
    return math.tan(low) * math.sqrt(freedom)


def _probability_within(angle: float, freedom: int) -> float:
    """Return the probability of |t| <= tan(angle) sqrt(freedom): a finite sum (Abramowitz and Stegun, 26.7.3-4)."""
    cosine, odd = math.cos(angle), freedom % 2
    term, total = (cosine, 0.0) if odd else (1.0, 0.0)
    for k in range(odd, freedom - 1, 2):
        total += term
        term *= cosine * cosine * (k + 1) / (k + 2)
    return 2.0 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
