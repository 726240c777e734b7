"""The posterior of the parameters: the Bradley–Terry likelihood of choices, and where SciPy finds its optimum.

A choice falls on the first side with the probability 1 / (1 + exp(-rationality × difference of rewards)). The reward
goes through the JAX target, in float64, which gives the value, the gradient and the curvature.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from plaudit.errors import MissingExtra
from plaudit.learn.preferences.choices import Array, Choices
from plaudit.reward.reward import Reward

_NOWHERE = 1e100
"""What stands for a loss that is not a number: a row that these parameters cannot score."""
_AT_BOUND = 1e-6
"""How near to a bound, in standard errors, a search ends that has run into it."""
NEGLIGIBLE = 0.02
"""How much log-likelihood may be left to gain where a search has ended, as at a kink: a fifth of a standard error."""


class Likelihood(NamedTuple):
    """Functions of one vector: the parameters that are fitted and, last, the logarithm of the rationality."""

    loss: Callable[[Array], tuple[float, Array]]
    """Minus the log-likelihood, and its gradient."""
    curvature: Callable[[Array], Array]
    """The second derivatives of minus the log-likelihood: the observed information."""
    differences: Callable[[Array], Array]
    """Of each choice, how much more the first side earns, in units of log-odds."""


class Prior(NamedTuple):
    """What is believed before any choice: a normal distribution around the current values, cut off at the bounds."""

    mean: Array
    deviation: Array
    low: Array
    high: Array


class Optimum(NamedTuple):
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
    """Of the free parameters; NaN where the posterior does not curve down there."""
    converged: bool


def build_likelihood(reward: Reward, names: tuple[str, ...], choices: Choices) -> Likelihood:
    """Return the likelihood of `choices` as functions of the parameters called `names`."""
    compiled = _get_compiled(reward, names)

    def evaluate(function: Any, theta: Array) -> Any:
        with _enable_float64():
            return function(theta, choices)

    def loss(theta: Array) -> tuple[float, Array]:
        (value, _), slope = evaluate(compiled.loss, theta)
        return float(value), np.asarray(slope)

    return Likelihood(
        loss,
        lambda theta: np.asarray(evaluate(compiled.curvature, theta)),
        lambda theta: np.asarray(evaluate(compiled.loss, theta)[0][1]),
    )


def find_typical_size(differences: Array) -> float:
    """Return the median size of the differences that are not 0; 0 where all are."""
    sizes = np.abs(differences[differences != 0])
    return float(np.median(sizes)) if sizes.size else 0.0


class _Compiled(NamedTuple):
    loss: Any
    """The loss and the differences it comes from; and its gradient."""
    curvature: Any


def _get_compiled(reward: Reward, names: tuple[str, ...]) -> _Compiled:
    """Return the compiled functions, which are kept with the reward's Program: compiling takes longer than fitting."""
    kept = reward.program.memo.setdefault("preferences", {})
    if names not in kept:
        kept[names] = _compile(reward, names)
    compiled: _Compiled = kept[names]
    return compiled


def _compile(reward: Reward, names: tuple[str, ...]) -> _Compiled:
    jax, score = _import_jax(), reward.compile("jax", on_bad="mask", dtype="float64")

    def loss(theta: Any, choices: Choices) -> tuple[Any, Any]:
        totals = score(choices.columns, dict(zip(names, theta[:-1], strict=True))).total
        earned = jax.numpy.zeros(choices.share.shape).at[choices.choice].add(choices.factor * totals)
        ahead, share = jax.numpy.exp(theta[-1]) * earned, choices.share
        each = share * jax.nn.log_sigmoid(ahead) + (1 - share) * jax.nn.log_sigmoid(-ahead)
        return -(choices.judgements * each).sum(), ahead

    slope = jax.value_and_grad(loss, has_aux=True)
    return _Compiled(jax.jit(slope), jax.jit(jax.jacfwd(lambda *given: slope(*given)[1])))


@contextmanager
def _enable_float64() -> Iterator[None]:
    """Let JAX have float64 for a while, in this thread only."""
    jax = _import_jax()
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():  # the old name
        yield


def _import_jax() -> Any:
    try:
        import jax
    except ModuleNotFoundError as error:
        raise MissingExtra(f"fitting to preferences needs {error.name}: pip install 'plaudit[jax]'") from None
    return jax


def find_optimum(likelihood: Likelihood, prior: Prior, fitted: Array, starts: Array) -> Optimum:
    """Return the optimum of the posterior, the best that a search from each of `starts` finds.

    `fitted` are the positions of the parameters that may move; others are held at the prior's mean.
    """
    theta = min((_search(likelihood, prior, fitted, start) for start in starts), key=lambda found: found[0])[1]
    near = _AT_BOUND * _estimate_errors(likelihood, prior, theta)
    theta = np.where(theta - prior.low <= near, prior.low, np.where(prior.high - theta <= near, prior.high, theta))
    _, slope = likelihood.loss(theta)
    information = likelihood.curvature(theta)
    pull = (theta - prior.mean) / prior.deviation**2
    pushed = ((theta <= prior.low) & (slope + pull > 0)) | ((theta >= prior.high) & (slope + pull < 0))
    free, bound = fitted[~pushed[fitted]], fitted[pushed[fitted]]
    precise = information[np.ix_(free, free)] + np.diag(prior.deviation[free] ** -2.0)
    covariance = _invert(precise, prior.deviation[free])
    left = (slope + pull)[free]
    converged = bool(0.5 * left @ covariance @ left <= NEGLIGIBLE)  # not for NaN
    return Optimum(theta, free, bound, information, slope, covariance, converged)


def _search(likelihood: Likelihood, prior: Prior, fitted: Array, start: Array) -> tuple[float, Array]:
    """Return where SLSQP, a quasi-Newton method, ends, and minus the logarithm of the posterior there.

    It moves in units of the error that the curvature at the start promises, so that a weight of 1e-4 and a knob of
    1e5 are alike to it.
    """
    try:
        from scipy.optimize import minimize
    except ModuleNotFoundError as error:
        raise MissingExtra(f"fitting needs {error.name}. Install it: pip install 'plaudit[learn]'") from None
    unit = _estimate_errors(likelihood, prior, start)[fitted]
    width = unit / prior.deviation[fitted]

    def place(moved: Array) -> Array:
        theta = prior.mean.copy()
        theta[fitted] = np.clip(prior.mean[fitted] + moved * unit, prior.low[fitted], prior.high[fitted])
        return theta

    def loss(moved: Array) -> tuple[float, Array]:
        value, slope = likelihood.loss(place(moved))
        if not np.isfinite(value) or not np.isfinite(slope).all():
            return _NOWHERE, np.zeros(len(fitted))
        return value + 0.5 * float((moved * width) @ (moved * width)), slope[fitted] * unit + moved * width**2

    low, high = ((end[fitted] - prior.mean[fitted]) / unit for end in (prior.low, prior.high))
    first = np.clip((start - prior.mean)[fitted] / unit, low, high)
    within = list(zip(low, high, strict=True))
    options = {"maxiter": 1000, "ftol": 1e-12}
    found = minimize(loss, first, jac=True, method="SLSQP", bounds=within, options=options)
    return float(found.fun), place(np.asarray(found.x))


def _estimate_errors(likelihood: Likelihood, prior: Prior, theta: Array) -> Array:
    """Return how far each parameter by itself may be off at `theta`: the prior's deviation, or less."""
    known = np.diag(likelihood.curvature(theta))
    errors: Array = (prior.deviation**-2.0 + np.where((known > 0) & (known < np.inf), known, 0.0)) ** -0.5
    return errors


def _invert(matrix: Array, unit: Array) -> Array:
    """Return the inverse of a matrix that is positive definite, else NaN."""
    scaled = matrix * np.outer(unit, unit)
    if not np.isfinite(scaled).all() or (len(scaled) and np.linalg.eigvalsh(scaled)[0] <= 0):
        return np.full(matrix.shape, np.nan)
    inverse: Array = np.linalg.inv(scaled) * np.outer(unit, unit)
    return inverse
