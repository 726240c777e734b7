"""How sure an estimate is: by its standard error, by drawing the log again, or at every moment at once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import OutOfRange
from plaudit.learn.off_policy.estimators import Case, Ratio
from plaudit.learn.off_policy.log import Codes
from plaudit.learn.off_policy.sequences import gain_bounds, value_bounds
from plaudit.learn.quantiles import two_sided

Numbers = NDArray[np.float64]
Kind = Literal["normal", "bootstrap", "anytime"]
KINDS: tuple[Kind, ...] = ("normal", "bootstrap", "anytime")

DRAWS = 1000
_GROUPS = 10_000
"""So many units are drawn at most; more are dealt into so many groups first, which changes intervals by a percent."""


class Interval(NamedTuple):
    """A number with its standard error and the ends of an interval; None where there is none."""

    value: float
    error: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a policy earns a decision, and how much more than what was logged that is."""

    value: float
    error: float | None
    """The standard error; None for a confidence sequence, which has none."""
    low: float | None
    high: float | None
    gain: Interval


def normal(ratios: Mapping[str, Ratio], base: Ratio, case: Case, confidence: float) -> dict[str, Estimate]:
    """Return each estimate within so many standard errors as Student's t allows; units are what varies."""

    def around(value: float, influence: Numbers) -> Interval:
        error = _error(influence, case.units)
        reach = error * two_sided(confidence, _count(case) - 1)
        return Interval(value, error, value - reach, value + reach)

    return {
        name: Estimate(
            *around(ratio.value, ratio.influence),
            gain=around(ratio.value - base.value, ratio.influence - base.influence),
        )
        for name, ratio in ratios.items()
    }


def bootstrap(ratios: Mapping[str, Ratio], base: Ratio, case: Case, confidence: float) -> dict[str, Estimate]:
    """Return each estimate with the percentiles that it has when units are drawn again and again."""
    rng = np.random.default_rng([case.seed, 1])
    columns = [side for ratio in (base, *ratios.values()) for side in ratio.sides]
    sums = _grouped(columns, _groups(case, rng))
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
        name: Estimate(
            *around(ratio.value, values[:, at]), gain=around(ratio.value - base.value, values[:, at] - values[:, 0])
        )
        for at, (name, ratio) in enumerate(ratios.items(), start=1)
    }


def anytime(
    ratios: Mapping[str, Ratio], base: Ratio, case: Case, confidence: float, span: tuple[float, float]
) -> dict[str, Estimate]:
    """Return each estimate; for "ips" and what was logged there is a confidence sequence, and so an interval."""
    scale = span[1] - span[0]
    rewards, miss = (case.log.rewards - span[0]) / scale, 1.0 - confidence
    if rewards.min() < 0 or rewards.max() > 1:
        raise OutOfRange(
            f"the rewards of the log go from {case.log.rewards.min():g} to {case.log.rewards.max():g}, and are said to "
            f"be within [{span[0]:g}, {span[1]:g}]."
        )
    none = Interval(0.0, None, None, None)
    found = {
        name: Estimate(*none._replace(value=ratio.value), gain=none._replace(value=ratio.value - base.value))
        for name, ratio in ratios.items()
    }
    for name in found.keys() & {"ips", "logged"}:
        weights = case.weights if name == "ips" else np.ones(len(rewards))
        low, high = (span[0] + scale * end for end in value_bounds(weights, rewards, miss=miss))
        least, most = (scale * end for end in gain_bounds(weights, rewards, miss=miss)) if name == "ips" else (0.0, 0.0)
        found[name] = replace(found[name], low=low, high=high, gain=found[name].gain._replace(low=least, high=most))
    return found


def _count(case: Case) -> int:
    return len(case.log) if case.units is None else int(case.units.max()) + 1


def _error(influence: Numbers, units: Codes | None) -> float:
    """Return the standard error of a mean, units being what varies independently."""
    parts = influence if units is None else np.bincount(units, influence)
    count = len(parts)
    squares = np.einsum("n,n", parts, parts)  # without threads, which on a busy machine cost more than they save
    return float(np.sqrt(count / (count - 1) * squares) / len(influence))


def _groups(case: Case, rng: np.random.Generator) -> Codes | None:
    """Return what is drawn as one: units, or random groups of very many of them."""
    count = _count(case)
    if count <= _GROUPS:
        return case.units
    dealt = rng.permutation(count) % _GROUPS
    return dealt if case.units is None else dealt[case.units]


def _grouped(columns: list[Numbers], groups: Codes | None) -> Numbers:
    """Return the sum of each column over each group."""
    return np.stack([column if groups is None else np.bincount(groups, column) for column in columns], axis=1)
