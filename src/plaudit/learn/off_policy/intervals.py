"""Confidence intervals: normal, bootstrap or anytime."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import OutOfRange
from plaudit.learn.off_policy.estimators import Case, Ratio
from plaudit.learn.off_policy.log import Codes
from plaudit.learn.ridge import Numbers
from plaudit.quantiles import t_quantile

Kind = Literal["normal", "bootstrap", "anytime"]
KINDS: tuple[Kind, ...] = ("normal", "bootstrap", "anytime")
DRAWS = 1000
_GROUPS = 10_000
"""So many units are drawn at most; more are dealt into so many groups first, which changes intervals by a percent."""
_STAKES = 2.0 ** np.arange(3, -13, -1)
"""How boldly each of the gamblers bets: from nearly everything to what pays off after millions of values."""
_LOOKS = 512
"""Moments at which the capital is looked at, at most, the last among them; fewer looks can rule out no more."""
_HALVINGS = 40
_LARGEST_EXPONENT = 700.0
"""Beyond it a capital is more than a double can hold, and more than enough."""


class Interval(NamedTuple):
    """A number with its standard error and the ends of its confidence interval; None where there is none.

    >>> Interval(value=0.2, error=0.05, low=0.1, high=0.3).low
    0.1
    """

    value: float
    error: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class PolicyEstimate:
    """The expected reward per decision of a policy, and its gain over the logged policy.

    Example:
        ```python
        found = evaluate(ledger, always("star"), decision_class="move")
        estimate = found["dr"]
        print(estimate.value, estimate.low, estimate.high)  # reward per decision
        print(estimate.gain.value, estimate.gain.low)       # compared with the logged policy
        ```
    """

    value: float
    error: float | None
    """The standard error; None for a confidence sequence."""
    low: float | None
    high: float | None
    gain: Interval


def build_normal(ratios: Mapping[str, Ratio], base: Ratio, case: Case, confidence: float) -> dict[str, PolicyEstimate]:
    """Return each estimate within so many standard errors as Student's t allows; units are what varies."""

    def around(value: float, influence: Numbers) -> Interval:
        error = _compute_error(influence, case.units)
        reach = error * t_quantile(confidence, _count_units(case) - 1)
        return Interval(value, error, value - reach, value + reach)

    return {
        name: PolicyEstimate(
            *around(ratio.value, ratio.influence),
            gain=around(ratio.value - base.value, ratio.influence - base.influence),
        )
        for name, ratio in ratios.items()
    }


def build_bootstrap(
    ratios: Mapping[str, Ratio], base: Ratio, case: Case, confidence: float
) -> dict[str, PolicyEstimate]:
    """Return each estimate with the percentiles that it has when units are drawn again and again."""
    rng = np.random.default_rng([case.seed, 1])
    columns = [side for ratio in (base, *ratios.values()) for side in ratio.sides]
    sums = _sum_groups(columns, _deal_groups(case, rng))
    drawn = np.empty((DRAWS, sums.shape[1]))
    for at in range(DRAWS):
        counts = np.bincount(rng.integers(len(sums), size=len(sums)), minlength=len(sums))
        drawn[at] = counts @ sums
    with np.errstate(invalid="ignore", divide="ignore"):  # a draw without any weight has no self-normalised mean
        values = drawn[:, ::2] / drawn[:, 1::2]

    def around(value: float, found: Numbers) -> Interval:
        fine = found[np.isfinite(found)]
        low, high = np.quantile(fine, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
        return Interval(value, float(fine.std(ddof=1)), low, high)

    return {
        name: PolicyEstimate(
            *around(ratio.value, values[:, at]), gain=around(ratio.value - base.value, values[:, at] - values[:, 0])
        )
        for at, (name, ratio) in enumerate(ratios.items(), start=1)
    }


def build_anytime(
    ratios: Mapping[str, Ratio], base: Ratio, case: Case, confidence: float, span: tuple[float, float]
) -> dict[str, PolicyEstimate]:
    """Return each estimate; for "ips" and what was logged there is a confidence sequence, and so an interval."""
    scale = span[1] - span[0]
    rewards, miss = (case.log.rewards - span[0]) / scale, 1.0 - confidence
    if rewards.min() < 0 or rewards.max() > 1:
        raise OutOfRange(
            f"the rewards of the log go from {case.log.rewards.min():g} to {case.log.rewards.max():g}, outside the "
            f"given reward_range=[{span[0]:g}, {span[1]:g}]."
        )
    none = Interval(0.0, None, None, None)
    found = {
        name: PolicyEstimate(*none._replace(value=ratio.value), gain=none._replace(value=ratio.value - base.value))
        for name, ratio in ratios.items()
    }
    for name in found.keys() & {"ips", "logged"}:
        weights = case.weights if name == "ips" else np.ones(len(rewards))
        low, high = (span[0] + scale * end for end in bound_value(weights, rewards, miss=miss))
        least, most = (scale * end for end in bound_gain(weights, rewards, miss=miss)) if name == "ips" else (0.0, 0.0)
        found[name] = replace(found[name], low=low, high=high, gain=found[name].gain._replace(low=least, high=most))
    return found


def _count_units(case: Case) -> int:
    return len(case.log) if case.units is None else int(case.units.max()) + 1


def _compute_error(influence: Numbers, units: Codes | None) -> float:
    """Return the standard error of a mean, units being what varies independently."""
    parts = influence if units is None else np.bincount(units, influence)
    count = len(parts)
    squares = np.einsum("n,n", parts, parts)  # without threads, which on a busy machine cost more than they save
    return float(np.sqrt(count / (count - 1) * squares) / len(influence))


def _deal_groups(case: Case, rng: np.random.Generator) -> Codes | None:
    """Return what is drawn as one: units, or random groups of very many of them."""
    count = _count_units(case)
    if count <= _GROUPS:
        return case.units
    dealt = rng.permutation(count) % _GROUPS
    return dealt if case.units is None else dealt[case.units]


def _sum_groups(columns: list[Numbers], groups: Codes | None) -> Numbers:
    return np.stack([column if groups is None else np.bincount(groups, column) for column in columns], axis=1)


def bound_value(weights: Numbers, rewards: Numbers, *, miss: float) -> tuple[float, float]:
    """Return bounds of what a policy earns, from rewards within [0, 1] and weights of any size.

    `w r` has the policy's value for its mean and `w (1 - r)` has one minus it, and neither is ever below 0. So each
    side needs only a lower bound, and no largest weight (Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro,
    "Anytime-valid off-policy inference for contextual bandits", arXiv 2210.10768).
    """
    low = bound_mean(weights * rewards, miss=miss / 2)
    high = 1.0 - bound_mean(weights * (1.0 - rewards), miss=miss / 2)
    return _order(max(low, 0.0), min(high, 1.0))


def bound_gain(weights: Numbers, rewards: Numbers, *, miss: float) -> tuple[float, float]:
    """Return bounds of what a policy earns beyond what was logged, from rewards within [0, 1].

    Weights have the mean 1, so `(w - 1) r` has the gain for its mean and `(w - 1) (1 - r)` has its negative; neither is
    ever below -1.
    """
    excess = weights - 1.0
    low = bound_mean(1.0 + excess * rewards, miss=miss / 2) - 1.0
    high = 1.0 - bound_mean(1.0 + excess * (1.0 - rewards), miss=miss / 2)
    return _order(max(low, -1.0), min(high, 1.0))


def bound_mean(values: Numbers, *, miss: float) -> float:
    """Return a bound that the mean of values from 0 up stays above, at every moment, but for a chance of `miss`.

    A gambler who holds that the mean is more than `m` stakes so much that each value multiplies the capital by
    `(1 + k value) / (1 + k m)`. If `m` is the mean, nobody can expect to gain, and the capital of several gamblers
    together, with one unit at first, ever reaches `1 / miss` with a chance of at most `miss` (Ville). So every `m` at
    which it did is ruled out for good, and with it all lower ones, at which there was even more. Betting against means
    is due to Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (arXiv 2010.09686).

    >>> round(bound_mean(np.full(100, 0.5), miss=0.05), 3)
    0.468
    """
    looks = np.linspace(0, len(values) - 1, min(_LOOKS, len(values))).astype(np.intp)
    won = np.stack([np.cumsum(np.log1p(stake * values))[looks] for stake in _STAKES])
    low, high = 0.0, float((np.cumsum(values)[looks] / (looks + 1)).max())  # nobody gains above every mean so far
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _find_most_capital(won, looks, middle) >= 1.0 / miss else (low, middle)
    return low


def _find_most_capital(won: Numbers, looks: NDArray[np.intp], mean: float) -> float:
    """Return the most that the gamblers ever have together."""
    lost = np.log1p(_STAKES * mean)[:, None] * (looks + 1)
    return float(np.exp(np.minimum(won - lost, _LARGEST_EXPONENT)).mean(axis=0).max())


def _order(low: float, high: float) -> tuple[float, float]:
    """Return bounds the right way round: where they crossed, which has a chance of `miss`, the point between them."""
    middle = (low + high) / 2
    return min(low, middle), max(high, middle)
