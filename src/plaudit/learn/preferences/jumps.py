"""Jumps: what a gradient does not see, such as the step of `h if x > h else 0` where h is fitted."""

import numpy as np

from plaudit.learn.preferences.likelihood import Likelihood
from plaudit.learn.preferences.posterior import Top

_SMALL = 1e-3
"""A jump of the log-likelihood that moves no estimate; the roundings of a sum lie far below it."""


def jumps(likelihood: Likelihood, found: Top, at: int) -> bool:
    """Return whether the likelihood jumps within one standard error of a parameter.

    Between two places a function without a jump changes as its slopes there say. The widest gap between the two is
    looked at ever more closely: where it was a bend it closes, and where it was a jump it stays.
    """
    if at not in found.free:
        return False
    along = np.eye(len(found.theta))[at]
    error = float(np.sqrt(np.diag(found.covariance)[found.free == at][0]))
    places, gap = np.linspace(-error, error, 11), np.zeros(10)
    for _ in range(3):
        loss, slopes = zip(*(likelihood.loss(found.theta + by * along) for by in places), strict=True)
        slope, width = np.array(slopes) @ along, places[1] - places[0]
        gap = np.abs(np.diff(loss) - width * (slope[1:] + slope[:-1]) / 2) - width * np.abs(np.diff(slope)) / 2
        widest = int(np.argmax(gap))
        places = np.linspace(places[widest], places[widest + 1], 11)
    return bool(gap.max() > _SMALL)  # not for NaN
