"""Fit a reward to what people preferred: choices go in, the tuned reward and its uncertainty come out."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

import numpy as np

from plaudit.errors import DefinitionError, DuplicateName, did_you_mean
from plaudit.language.field import validate_number
from plaudit.learn.preferences.choices import Array, Choices, build_choices
from plaudit.learn.preferences.diagnostics import CERTAIN, find_warnings, has_jump
from plaudit.learn.preferences.posterior import Optimum, Prior, build_likelihood, find_optimum, find_typical_size
from plaudit.reward.reward import Reward
from plaudit.reward.variants import validate_overrides
from plaudit.terminal import format_table

RATIONALITY = "rationality"
_NEARBY = 0.5
"""How far from the current value, in units of it, other searches start."""


class FittedParameter(NamedTuple):
    """One fitted number: before, after, standard error and confidence interval.

    If a parameter ends at its bound, its error is unknown: the standard error and both ends are NaN.

    Example:
        ```python
        estimate = fitted["comfort.weight"]
        print(estimate.before, estimate.value, estimate.low, estimate.high)
        ```
    """

    name: str
    before: float
    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Fitted:
    """A reward fitted to choices.

    The intervals are normal approximations of the posterior at its maximum (Laplace). Read `warnings` first: they say
    what the intervals do not show.

    Example:
        ```python
        fitted = fit_preferences(reward, preferred, rejected, fit=["comfort.weight"])
        print(fitted.explain())          # a table, and warnings
        print(fitted["comfort.weight"])  # one estimate
        tuned = fitted.reward            # the reward with the new numbers
        ```
    """

    reward: Reward
    """The tuned reward, with the old version label."""
    estimates: tuple[FittedParameter, ...]
    correlation: Array
    """Correlations of the errors of the estimates; NaN for those without an error."""
    choices: int
    log_likelihood: float
    accuracy: float
    """The share of choices, without ties, that the tuned reward predicts; NaN if all are ties."""
    accuracy_before: float
    confidence: float
    converged: bool
    warnings: tuple[str, ...]

    def __getitem__(self, name: str) -> FittedParameter:
        """Return the estimate of one parameter."""
        found = {estimate.name: estimate for estimate in self.estimates}
        if name not in found:
            raise KeyError(f"{name!r} was not fitted.{did_you_mean(name, found)} Fitted: {', '.join(found)}.")
        return found[name]

    def explain(self) -> str:
        """Format the estimates as a table, with the warnings below.

        Returns:
            The text.
        """
        head = ("parameter", "before", "value", "± error", f"{100 * self.confidence:.4g}% interval")
        rows = [
            (e.name, f"{e.before:.4g}", f"{e.value:.4g}", f"{e.standard_error:.2g}", f"{e.low:.4g} to {e.high:.4g}")
            if isfinite(e.standard_error)
            else (e.name, f"{e.before:.4g}", f"{e.value:.4g}", "–", "–")
            for e in self.estimates
        ]
        table = format_table([head, *rows])
        decided = f"{self.accuracy:.1%} predicted ({self.accuracy_before:.1%} before)"
        quality = (
            f"{self.choices:,} choice{'' if self.choices == 1 else 's'}, "
            f"{'all ties' if isnan(self.accuracy) else decided}, log-likelihood {self.log_likelihood:.2f}"
        )
        state = [] if self.converged else ["The search did not converge: do not trust the intervals."]
        return "\n".join([table, quality, *state, *(f"Warning: {warning}" for warning in self.warnings)])


def fit_preferences(
    reward: Reward,
    preferred: Any,
    rejected: Any,
    *,
    fit: str | Sequence[str],
    share: Any = None,
    count: Any = None,
    discount: float = 1.0,
    prior: float | Mapping[str, float] = 10.0,
    bounds: Mapping[str, tuple[float | None, float | None]] | None = None,
    rationality: float | Literal["fit"] = 1.0,
    confidence: float = 0.95,
    starts: int = 4,
    seed: int = 0,
) -> Fitted:
    """Fit knobs, weights or clamps of a reward to pairwise preferences, with the Bradley–Terry model.

    People prefer the first side with the probability 1 / (1 + exp(-rationality × difference)). Where differences are so
    large that no choice could go either way, the search is also made from smaller weights.

    Args:
        reward: The reward to tune; it is not changed.
        preferred: The first sides: columns of single steps, a list with one segment per choice (columns, or a list of
            steps), or `Steps`.
        rejected: The second sides, likewise.
        fit: Names from `reward.params`.
        share: The share of judges who preferred the first side, one number or one per choice: 1 if omitted, 0.5 for a
            tie.
        count: The number of judgments behind each choice.
        discount: Discount factor for later steps of a segment.
        prior: The standard deviation of the normal prior around the current values: a number is a multiple of their
            size (of 1 where that is 0), a mapping sets it by name.
        bounds: Limits by name; by default, weights keep their sign.
        rationality: How sharply people follow the reward, or "fit".
        confidence: Confidence level.
        starts: Number of starting points of the search when a knob is fitted, which can have several optima.
        seed: Random seed for the starting points.

    Returns:
        The tuned reward with estimates, confidence intervals and warnings.

    Raises:
        DefinitionError: A parameter cannot be fitted, or a setting is invalid.
        InputError: A side cannot be scored; the message names the side and the choice.
        MissingExtra: JAX or SciPy is not installed.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def gain(value):
    ...     return value
    >>> reward = Reward("gaining", version="1", terms=[gain], fields=[Field("value")])
    >>> better, worse = {"value": [1.0, 2.0, 0.0]}, {"value": [0.0, 0.0, 1.0]}
    >>> fitted = fit_preferences(reward, better, worse, fit="gain.weight", share=[1, 1, 0])
    >>> fitted.reward.params["gain.weight"] > 1, fitted.accuracy
    (True, 1.0)
    """
    names = _parse_parameters(reward, fit)
    if not 0 < confidence < 1:
        raise DefinitionError(f"confidence={confidence!r} must lie between 0 and 1.")
    if not 0 <= discount <= 1:
        raise DefinitionError(f"discount={discount!r} must lie from 0 to 1.")
    _validate_integer("starts", starts, least=1)
    _validate_integer("seed", seed, least=0)
    pairs = build_choices(reward, preferred, rejected, share=share, count=count, discount=discount)
    belief = _build_prior(reward, names, prior, bounds or {}, rationality)
    chances = build_likelihood(reward, names, pairs)
    every = (*names, RATIONALITY)
    fitted = np.arange(len(every) if rationality == "fit" else len(names))
    before = chances.differences(belief.mean)
    found = find_optimum(
        chances, belief, fitted, _find_starts(names, belief, fitted, starts, seed, find_typical_size(before))
    )
    after = chances.differences(found.theta)
    scaled = rationality == "fit" or any(_is_weight(name) for name in names)
    warnings = find_warnings(
        every,
        found,
        belief,
        scale_fits=rationality == "fit",
        separated=scaled and any(_is_separated(pairs, ahead) for ahead in (before, after)),
        difference=find_typical_size(after),
        jumping=[name for at, name in enumerate(names) if not _is_weight(name) and has_jump(chances, found, at)],
    )
    values = {name: float(value) for name, value in zip(names, found.theta, strict=False)}
    return Fitted(
        reward=reward.with_params(values),
        estimates=_build_estimates(every, found, belief, fitted, confidence),
        correlation=_compute_correlation(found, fitted),
        choices=len(pairs.share),
        log_likelihood=-chances.loss(found.theta)[0],
        accuracy=_compute_accuracy(pairs, after),
        accuracy_before=_compute_accuracy(pairs, before),
        confidence=confidence,
        converged=found.converged,
        warnings=tuple(warnings),
    )


def _validate_integer(name: str, value: object, *, least: int) -> None:
    if not isinstance(value, int | np.integer) or value < least:
        raise DefinitionError(f"{name}={value!r} must be an integer from {least} up.")


def _parse_parameters(reward: Reward, fit: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of parameters that a gradient reaches, each once."""
    names = (fit,) if isinstance(fit, str) else tuple(fit)
    if not names:
        raise DefinitionError("fit= names no parameter; give it some of reward.params.")
    if len(set(names)) != len(names):
        raise DuplicateName(f"fit= names {next(name for name in names if names.count(name) > 1)!r} twice.")
    for name in names:
        validate_overrides(reward, {name: reward.params.get(name, 0.0)})
        if isinstance(reward.params[name], bool):
            raise DefinitionError(f"{name} is a bool; only numbers can be fitted.")
    for name in (name for name, smooth in reward.gradients().items() if name in names and not smooth):
        raise DefinitionError(
            f"{name} cannot be fitted: the gradient of {name} is 0 everywhere, because it appears only in a "
            "comparison. "
            "Write a slope where the term has a step, such as min(1, max(0, (x - threshold) / width)), and fit that."
        )
    return names


def _is_weight(name: str) -> bool:
    return name.endswith(".weight")


def _build_prior(
    reward: Reward,
    names: tuple[str, ...],
    prior: float | Mapping[str, float],
    bounds: Mapping[str, tuple[float | None, float | None]],
    rationality: float | Literal["fit"],
) -> Prior:
    """Return what is believed of the parameters and, last, of the logarithm of the rationality."""
    every = (*names, RATIONALITY)
    for given in (prior if isinstance(prior, Mapping) else {}, bounds):
        for name in given.keys() - {*every}:
            raise DefinitionError(f"{name!r} is not fitted. Fitted: {', '.join(every)}.")
    held = 1.0 if rationality == "fit" else validate_number(RATIONALITY, rationality)
    if held <= 0:
        raise DefinitionError(f"rationality={rationality!r} must be above 0, or 'fit'.")
    mean = np.array([*(float(reward.params[name]) for name in names), math.log(held)])
    relative = validate_number("prior", 10.0 if isinstance(prior, Mapping) else prior)
    deviation = relative * np.array([*(abs(value) or 1.0 for value in mean[:-1]), 1.0])
    for name, value in prior.items() if isinstance(prior, Mapping) else ():
        deviation[every.index(name)] = validate_number(f"prior of {name}", value)
    if not (deviation > 0).all():
        raise DefinitionError("a prior's deviation must be above 0; for a weak prior, use a large one, such as 1000.")
    ends = [_find_bounds(name, value, bounds.get(name)) for name, value in zip(every, mean, strict=True)]
    low, high = (np.array(end) for end in zip(*ends, strict=True))
    return Prior(mean, deviation, low, high)


def _find_bounds(name: str, value: float, given: Any) -> tuple[float, float]:
    """Return between which values a parameter may move; a weight keeps its sign unless told otherwise."""
    if given is None:
        keeps = _is_weight(name)
        return (0.0 if keeps and value > 0 else -math.inf), (0.0 if keeps and value < 0 else math.inf)
    if not isinstance(given, Sequence) or len(given) != 2:
        raise DefinitionError(f"bounds of {name} are two numbers, low and high, or None for no limit; not {given!r}.")
    low, high = (
        default if end is None else validate_number(f"bounds of {name}", end)
        for end, default in zip(given, (-math.inf, math.inf), strict=True)
    )
    if not low <= value <= high:
        raise DefinitionError(f"{name} is {value:g}, which lies outside bounds {given}; start from a value inside.")
    return low, high


def _find_starts(
    names: tuple[str, ...], prior: Prior, fitted: Array, starts: int, seed: int, difference: float
) -> Array:
    """Return where to search from: the current values, and others near them where a knob makes it worth while.

    Where every choice looks certain the likelihood is straight and a search is lost: all places come again at a scale
    that brings a typical difference to 1.
    """
    knobs = any(not _is_weight(name) for name in names)
    generator = np.random.default_rng(seed)
    near = generator.normal(size=(starts - 1 if knobs else 0, len(prior.mean)))
    size = np.where(prior.mean == 0, 1.0, np.abs(prior.mean))
    places = np.vstack([prior.mean, prior.mean + _NEARBY * size * near])
    if difference <= CERTAIN:
        return places
    smaller = places.copy()
    if len(fitted) > len(names):
        smaller[:, -1] -= math.log(difference)
    else:
        smaller[:, [at for at, name in enumerate(names) if _is_weight(name)]] /= difference
    return np.vstack([places, smaller])


def _build_estimates(
    every: tuple[str, ...], found: Optimum, prior: Prior, fitted: Array, confidence: float
) -> tuple[FittedParameter, ...]:
    """Return each fitted number with its interval; the rationality is fitted by its logarithm."""
    error = np.full(len(every), np.nan)
    error[found.free] = np.sqrt(np.diag(found.covariance))
    wide = NormalDist().inv_cdf(0.5 + confidence / 2) * error
    low, high = np.clip(found.theta - wide, prior.low, None), np.clip(found.theta + wide, None, prior.high)
    rows = np.stack([prior.mean, found.theta, error, low, high])
    estimates = [FittedParameter(every[at], *map(float, rows[:, at])) for at in fitted]
    if every[fitted[-1]] == RATIONALITY:
        before, value, deviation, *ends = estimates[-1][1:]
        last = (math.exp(before), math.exp(value), math.exp(value) * deviation, *map(math.exp, ends))
        estimates[-1] = FittedParameter(RATIONALITY, *last)
    return tuple(estimates)


def _compute_correlation(found: Optimum, fitted: Array) -> Array:
    whole = np.full((len(found.theta), len(found.theta)), np.nan)
    error = np.sqrt(np.diag(found.covariance))
    whole[np.ix_(found.free, found.free)] = found.covariance / np.outer(error, error)
    chosen: Array = whole[np.ix_(fitted, fitted)]
    return chosen


def _is_separated(pairs: Choices, ahead: Array) -> bool:
    """Return whether every judge took the side that is ahead, so that a larger scale would fit no worse."""
    taken = (2 * pairs.share - 1)[pairs.judgements > 0]
    return bool(taken.any() and (taken == np.sign(ahead[pairs.judgements > 0])).all())


def _compute_accuracy(pairs: Choices, ahead: Array) -> float:
    """Return the share of choices, ties left out, whose side the difference agrees with."""
    decided = pairs.judgements * (pairs.share != 0.5)
    agrees = np.sign(ahead) == np.sign(pairs.share - 0.5)
    return float((decided * agrees).sum() / decided.sum()) if decided.any() else math.nan
