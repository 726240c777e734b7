"""The posterior of the parameters: its top, found by SciPy, and its curvature there."""

from typing import NamedTuple

import numpy as np

from plaudit.errors import MissingExtra
from plaudit.learn.preferences.choices import Array
from plaudit.learn.preferences.likelihood import Likelihood

_NOWHERE = 1e100
"""What stands for a loss that is not a number: a row that these parameters cannot score."""
_AT_BOUND = 1e-6
"""How near to a bound, in standard errors, a search ends that has run into it."""
NEGLIGIBLE = 0.02
"""How much log-likelihood may be left to gain where a search has ended, as at a kink: a fifth of a standard error."""


class Prior(NamedTuple):
    """What is believed before any choice: a normal distribution around the current values, cut off at the bounds."""

    mean: Array
    deviation: Array
    low: Array
    high: Array


class Top(NamedTuple):
    """Where the posterior is highest among the values of the fitted parameters."""

    theta: Array
    """All parameters: a held one has its mean."""
    free: Array
    """The positions of those that are fitted and at no bound."""
    bound: Array
    """The positions of those that the choices push against a bound."""
    information: Array
    """The second derivatives of minus the log-likelihood for all parameters."""
    slope: Array
    """The first derivatives of minus the log-likelihood for all parameters."""
    covariance: Array
    """Of the free parameters; NaN where the top is no top."""
    converged: bool


def top(likelihood: Likelihood, prior: Prior, fitted: Array, starts: Array) -> Top:
    """Return the top of the posterior, the best that a search from each of `starts` finds.

    `fitted` are the positions of the parameters that may move; others are held at the prior's mean.
    """
    theta = min((_search(likelihood, prior, fitted, start) for start in starts), key=lambda found: found[0])[1]
    near = _AT_BOUND * _errors(likelihood, prior, theta)
    theta = np.where(theta - prior.low <= near, prior.low, np.where(prior.high - theta <= near, prior.high, theta))
    _, slope = likelihood.loss(theta)
    information = likelihood.curvature(theta)
    pull = (theta - prior.mean) / prior.deviation**2
    pushed = ((theta <= prior.low) & (slope + pull > 0)) | ((theta >= prior.high) & (slope + pull < 0))
    free, bound = fitted[~pushed[fitted]], fitted[pushed[fitted]]
    precise = information[np.ix_(free, free)] + np.diag(prior.deviation[free] ** -2.0)
    covariance = _inverse(precise, prior.deviation[free])
    left = (slope + pull)[free]
    converged = bool(0.5 * left @ covariance @ left <= NEGLIGIBLE)  # not for NaN
    return Top(theta, free, bound, information, slope, covariance, converged)


def _search(likelihood: Likelihood, prior: Prior, fitted: Array, start: Array) -> tuple[float, Array]:
    """Return where SLSQP, a quasi-Newton method, ends, and minus the logarithm of the posterior there.

    It moves in units of the error that the curvature at the start promises, so that a weight of 1e-4 and a knob of
    1e5 are alike to it.
    """
    try:
        from scipy.optimize import minimize
    except ModuleNotFoundError as error:
        raise MissingExtra(f"fitting needs {error.name}. Install it: pip install 'plaudit[learn]'") from None
    unit = _errors(likelihood, prior, start)[fitted]
    width = unit / prior.deviation[fitted]

    def placed(moved: Array) -> Array:
        theta = prior.mean.copy()
        theta[fitted] = np.clip(prior.mean[fitted] + moved * unit, prior.low[fitted], prior.high[fitted])
        return theta

    def loss(moved: Array) -> tuple[float, Array]:
        value, slope = likelihood.loss(placed(moved))
        if not np.isfinite(value) or not np.isfinite(slope).all():
            return _NOWHERE, np.zeros(len(fitted))
        return value + 0.5 * float((moved * width) @ (moved * width)), slope[fitted] * unit + moved * width**2

    low, high = ((end[fitted] - prior.mean[fitted]) / unit for end in (prior.low, prior.high))
    begun = np.clip((start - prior.mean)[fitted] / unit, low, high)
    within = list(zip(low, high, strict=True))
    options = {"maxiter": 1000, "ftol": 1e-12}
    found = minimize(loss, begun, jac=True, method="SLSQP", bounds=within, options=options)
    return float(found.fun), placed(np.asarray(found.x))


def _errors(likelihood: Likelihood, prior: Prior, theta: Array) -> Array:
    """Return how far each parameter by itself may be off at `theta`: the prior's deviation, or less."""
    known = np.diag(likelihood.curvature(theta))
    errors: Array = (prior.deviation**-2.0 + np.where((known > 0) & (known < np.inf), known, 0.0)) ** -0.5
    return errors


def _inverse(matrix: Array, unit: Array) -> Array:
    """Return the inverse of a matrix that is positive definite, else NaN."""
    scaled = matrix * np.outer(unit, unit)
    if not np.isfinite(scaled).all() or (len(scaled) and np.linalg.eigvalsh(scaled)[0] <= 0):
        return np.full(matrix.shape, np.nan)
    inverse: Array = np.linalg.inv(scaled) * np.outer(unit, unit)
    return inverse
