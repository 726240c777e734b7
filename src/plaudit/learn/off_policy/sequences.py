"""Confidence sequences: bounds that hold at every moment at once, however often somebody looks."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_STAKES = 2.0 ** np.arange(3, -13, -1)
"""How boldly each of the gamblers bets: from nearly everything to what pays off after millions of values."""
_LOOKS = 512
"""Moments at which the capital is looked at, at most, the last among them; fewer looks can rule out no more."""
_HALVINGS = 40
_LARGEST_EXPONENT = 700.0
"""Beyond it a capital is more than a double can hold, and more than enough."""


def value_bounds(weights: Numbers, rewards: Numbers, *, miss: float) -> tuple[float, float]:
    """Return bounds of what a policy earns, from rewards within [0, 1] and weights of any size.

    `w r` has the policy's value for its mean and `w (1 - r)` has one minus it, and neither is ever below 0. So each
    side needs only a lower bound, and no largest weight (Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro,
    "Anytime-valid off-policy inference for contextual bandits", arXiv 2210.10768).
    """
    low = lower_bound(weights * rewards, miss=miss / 2)
    high = 1.0 - lower_bound(weights * (1.0 - rewards), miss=miss / 2)
    return _ordered(max(low, 0.0), min(high, 1.0))


def gain_bounds(weights: Numbers, rewards: Numbers, *, miss: float) -> tuple[float, float]:
    """Return bounds of what a policy earns beyond what was logged, from rewards within [0, 1].

    Weights have the mean 1, so `(w - 1) r` has the gain for its mean and `(w - 1) (1 - r)` has its negative; neither is
    ever below -1.
    """
    excess = weights - 1.0
    low = lower_bound(1.0 + excess * rewards, miss=miss / 2) - 1.0
    high = 1.0 - lower_bound(1.0 + excess * (1.0 - rewards), miss=miss / 2)
    return _ordered(max(low, -1.0), min(high, 1.0))


def lower_bound(values: Numbers, *, miss: float) -> float:
    """Return a bound that the mean of values from 0 up stays above, at every moment, but for a chance of `miss`.

    A gambler who holds that the mean is more than `m` stakes so much that each value multiplies the capital by
    `(1 + k value) / (1 + k m)`. If `m` is the mean, nobody can expect to gain, and the capital of several gamblers
    together, with one unit at first, ever reaches `1 / miss` with a chance of at most `miss` (Ville). So every `m` at
    which it did is ruled out for good, and with it all lower ones, at which there was even more. Betting against means
    is due to Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (arXiv 2010.09686).

    >>> round(lower_bound(np.full(100, 0.5), miss=0.05), 3)
    0.468
    """
    looks = np.linspace(0, len(values) - 1, min(_LOOKS, len(values))).astype(np.intp)
    won = np.stack([np.cumsum(np.log1p(stake * values))[looks] for stake in _STAKES])
    low, high = 0.0, float((np.cumsum(values)[looks] / (looks + 1)).max())  # nobody gains above every mean so far
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _most_capital(won, looks, middle) >= 1.0 / miss else (low, middle)
    return low


def _most_capital(won: Numbers, looks: NDArray[np.intp], mean: float) -> float:
    """Return the most that the gamblers ever have together."""
    lost = np.log1p(_STAKES * mean)[:, None] * (looks + 1)
    return float(np.exp(np.minimum(won - lost, _LARGEST_EXPONENT)).mean(axis=0).max())


def _ordered(low: float, high: float) -> tuple[float, float]:
    """Return bounds the right way round: where they crossed, which has a chance of `miss`, the point between them."""
    middle = (low + high) / 2
    return min(low, middle), max(high, middle)
