"""One call: a reward and what people preferred go in, the tuned reward and its uncertainty come out."""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from plaudit.errors import DefinitionError, DuplicateName
from plaudit.learn.preferences.choices import Array, Choices, choices
from plaudit.learn.preferences.doubts import CERTAIN, doubts
from plaudit.learn.preferences.fitted import Estimate, Fitted
from plaudit.learn.preferences.jumps import jumps
from plaudit.learn.preferences.likelihood import likelihood, typical
from plaudit.learn.preferences.posterior import Prior, Top, top
from plaudit.reward.overrides import checked
from plaudit.reward.reward import Reward
from plaudit.reward.term import plain_number

RATIONALITY = "rationality"
_NEARBY = 0.5
"""How far from the current value, in units of it, other searches start."""


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
    """Fit knobs, weights or clamps of a reward to choices between pairs, by the Bradley–Terry model.

    Each side is columns of single steps, or a list with one segment a choice (columns, or a list of steps), whose
    rewards add up under `discount`, or `Steps`. People prefer the first side with the probability
    1 / (1 + exp(-rationality × difference)). `share` says how many did (1 unless given, 0.5 for a tie), `count` how
    many judgements a choice stands for.

    The prior is normal around the current values; its deviation is `prior` times their size (1 where that is 0), or
    what a mapping gives by name. Weights keep their sign, and `bounds` gives other limits. Where a knob is fitted,
    which can give more than one optimum, the search is made from `starts` places drawn with `seed`; where differences
    are so large that no choice could go either way, from smaller weights too.

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
    names = _names(reward, fit)
    if not 0 < confidence < 1:
        raise DefinitionError(f"confidence={confidence!r} must lie between 0 and 1.")
    if not 0 <= discount <= 1:
        raise DefinitionError(f"discount={discount!r} must lie from 0 to 1.")
    _whole("starts", starts, least=1)
    _whole("seed", seed, least=0)
    pairs = choices(reward, preferred, rejected, share=share, count=count, discount=discount)
    belief = _prior(reward, names, prior, bounds or {}, rationality)
    chances = likelihood(reward, names, pairs)
    every = (*names, RATIONALITY)
    fitted = np.arange(len(every) if rationality == "fit" else len(names))
    before = chances.differences(belief.mean)
    found = top(chances, belief, fitted, _starts(names, belief, fitted, starts, seed, typical(before)))
    after = chances.differences(found.theta)
    scaled = rationality == "fit" or any(_is_weight(name) for name in names)
    warnings = doubts(
        every,
        found,
        belief,
        scale_fits=rationality == "fit",
        separated=scaled and any(_separated(pairs, ahead) for ahead in (before, after)),
        difference=typical(after),
        jumping=[name for at, name in enumerate(names) if not _is_weight(name) and jumps(chances, found, at)],
    )
    values = {name: float(value) for name, value in zip(names, found.theta, strict=False)}
    return Fitted(
        reward=reward.with_params(values),
        estimates=_estimates(every, found, belief, fitted, confidence),
        correlation=_correlation(found, fitted),
        choices=len(pairs.share),
        log_likelihood=-chances.loss(found.theta)[0],
        accuracy=_accuracy(pairs, after),
        accuracy_before=_accuracy(pairs, before),
        confidence=confidence,
        converged=found.converged,
        warnings=tuple(warnings),
    )


def _whole(name: str, value: object, *, least: int) -> None:
    if not isinstance(value, int | np.integer) or value < least:
        raise DefinitionError(f"{name}={value!r} must be a whole number from {least} up.")


def _names(reward: Reward, fit: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of parameters that a gradient reaches, each once."""
    names = (fit,) if isinstance(fit, str) else tuple(fit)
    if not names:
        raise DefinitionError("fit= names no parameter; give it some of reward.params.")
    if len(set(names)) != len(names):
        raise DuplicateName(f"fit= names {next(name for name in names if names.count(name) > 1)!r} twice.")
    for name in names:
        checked(reward, {name: reward.params.get(name, 0.0)})
        if isinstance(reward.params[name], bool):
            raise DefinitionError(f"{name} is a flag; only numbers can be fitted.")
    for name in (name for name, smooth in reward.gradients().items() if name in names and not smooth):
        raise DefinitionError(
            f"{name} cannot be fitted: the gradient of {name} is 0 everywhere, for it only appears in a comparison. "
            "Write a slope where the term has a step, such as min(1, max(0, (x - threshold) / width)), and fit that."
        )
    return names


def _is_weight(name: str) -> bool:
    return name.endswith(".weight")


def _prior(
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
            raise DefinitionError(f"{name!r} is not fitted; fitted are {', '.join(every)}.")
    held = 1.0 if rationality == "fit" else plain_number(RATIONALITY, rationality)
    if held <= 0:
        raise DefinitionError(f"rationality={rationality!r} must be above 0, or 'fit'.")
    mean = np.array([*(float(reward.params[name]) for name in names), math.log(held)])
    relative = plain_number("prior", 10.0 if isinstance(prior, Mapping) else prior)
    deviation = relative * np.array([*(abs(value) or 1.0 for value in mean[:-1]), 1.0])
    for name, value in prior.items() if isinstance(prior, Mapping) else ():
        deviation[every.index(name)] = plain_number(f"prior of {name}", value)
    if not (deviation > 0).all():
        raise DefinitionError("a prior's deviation must be above 0; a wide one, such as 1000, says little.")
    ends = [_ends(name, value, bounds.get(name)) for name, value in zip(every, mean, strict=True)]
    low, high = (np.array(end) for end in zip(*ends, strict=True))
    return Prior(mean, deviation, low, high)


def _ends(name: str, value: float, given: Any) -> tuple[float, float]:
    """Return between which values a parameter may move; a weight keeps its sign unless told otherwise."""
    if given is None:
        keeps = _is_weight(name)
        return (0.0 if keeps and value > 0 else -math.inf), (0.0 if keeps and value < 0 else math.inf)
    if not isinstance(given, Sequence) or len(given) != 2:
        raise DefinitionError(f"bounds of {name} are two numbers, low and high, or None for no limit; not {given!r}.")
    low, high = (
        default if end is None else plain_number(f"bounds of {name}", end)
        for end, default in zip(given, (-math.inf, math.inf), strict=True)
    )
    if not low <= value <= high:
        raise DefinitionError(f"{name} is {value:g}, which lies outside bounds {given}; start from a value inside.")
    return low, high


def _starts(names: tuple[str, ...], prior: Prior, fitted: Array, starts: int, seed: int, difference: float) -> Array:
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


def _estimates(
    every: tuple[str, ...], found: Top, prior: Prior, fitted: Array, confidence: float
) -> tuple[Estimate, ...]:
    """Return each fitted number with its interval; the rationality is fitted by its logarithm."""
    error = np.full(len(every), np.nan)
    error[found.free] = np.sqrt(np.diag(found.covariance))
    wide = NormalDist().inv_cdf(0.5 + confidence / 2) * error
    low, high = np.clip(found.theta - wide, prior.low, None), np.clip(found.theta + wide, None, prior.high)
    rows = np.stack([prior.mean, found.theta, error, low, high])
    estimates = [Estimate(every[at], *map(float, rows[:, at])) for at in fitted]
    if every[fitted[-1]] == RATIONALITY:
        before, value, deviation, *ends = estimates[-1][1:]
        last = (math.exp(before), math.exp(value), math.exp(value) * deviation, *map(math.exp, ends))
        estimates[-1] = Estimate(RATIONALITY, *last)
    return tuple(estimates)


def _correlation(found: Top, fitted: Array) -> Array:
    whole = np.full((len(found.theta), len(found.theta)), np.nan)
    error = np.sqrt(np.diag(found.covariance))
    whole[np.ix_(found.free, found.free)] = found.covariance / np.outer(error, error)
    chosen: Array = whole[np.ix_(fitted, fitted)]
    return chosen


def _separated(pairs: Choices, ahead: Array) -> bool:
    """Return whether every judge took the side that is ahead, so that a larger scale would fit no worse."""
    taken = (2 * pairs.share - 1)[pairs.judgements > 0]
    return bool(taken.any() and (taken == np.sign(ahead[pairs.judgements > 0])).all())


def _accuracy(pairs: Choices, ahead: Array) -> float:
    """Return the share of choices, ties left out, whose side the difference agrees with."""
    decided = pairs.judgements * (pairs.share != 0.5)
    agrees = np.sign(ahead) == np.sign(pairs.share - 0.5)
    return float((decided * agrees).sum() / decided.sum()) if decided.any() else math.nan
