"""Exploration: from scores to probabilities."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from plaudit.errors import DefinitionError
from plaudit.learn.draws import draw_normals
from plaudit.learn.ridge import Numbers

_REACH = 9.0
"""Standard deviations beyond which a normal number never lies: the tail holds less than 1e-18."""
_BREAKS = (-9.0, -6.0, -4.0, -2.5, -1.25, 0.0, 1.25, 2.5, 4.0, 6.0, 9.0)
"""Where, in standard deviations from a mean, the integrand changes its course: between them it is smooth."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass(frozen=True, slots=True)
class EpsilonMix:
    """Epsilon-greedy: the best action, with a share of uniformly random decisions that falls linearly.

    >>> mix = EpsilonMix(start=0.20, end=0.05, over=5000)
    >>> mix.amount(0), mix.amount(2500), mix.amount(9000)
    (0.2, 0.125, 0.05)
    """

    inverse_gap: ClassVar[bool] = False

    start: float
    end: float
    over: int

    def __post_init__(self) -> None:
        """Refuse shares that are not from 0 to 1."""
        for name in ("start", "end"):
            _coerce_float(self, name)
        if not (0 <= self.start <= 1 and 0 <= self.end <= 1):
            raise DefinitionError(f"the exploration rates {self.start!r} and {self.end!r} must be from 0 to 1.")
        over: Any = self.over
        if not isinstance(over, int) or isinstance(over, bool) or over < 1:
            raise DefinitionError(f"over={over!r} must be a number of decisions, at least 1.")

    def amount(self, number: int) -> float:
        """Compute the share of random decisions.

        Args:
            number: The number of decisions so far.

        Returns:
            The share, from 0 to 1.
        """
        if number >= self.over:
            return self.end
        return self.start - (self.start - self.end) * (number / self.over)

    def numbers(self) -> tuple[bool, float, float, float, float]:
        """Return the rule as numbers, for machine code.

        Returns:
            Whether it uses inverse gaps, then its parameters.
        """
        return False, float(self.start), float(self.end), float(self.over), 0.0

    def probabilities(self, scores: Sequence[float], number: int) -> list[float]:
        """Turn scores into probabilities.

        Args:
            scores: A score for each action.
            number: The number of decisions so far.

        Returns:
            The probability of each action.
        """
        count, epsilon = len(scores), self.amount(number)
        likely = [epsilon / count] * count
        likely[scores.index(max(scores))] += 1.0 - epsilon
        return likely

    def policy(self, scores: Numbers, number: int) -> Numbers:
        """Turn many rows of scores into probabilities.

        Args:
            scores: A row of scores per decision.
            number: The number of decisions so far.

        Returns:
            A row of probabilities per decision.
        """
        count, epsilon = scores.shape[1], self.amount(number)
        likely = np.full(scores.shape, epsilon / count)
        likely[np.arange(len(scores)), scores.argmax(axis=1)] += 1.0 - epsilon
        return likely


@dataclass(frozen=True, slots=True)
class SquareCB:
    """SquareCB: the further the score of an action is behind, and the more decisions were made, the less likely it is.

    By inverse gaps (Foster and Rakhlin, 2020): 1 / (actions + gamma · gap), and the rest to the best action. Gamma
    grows with the number of decisions, and no action falls below `floor`.

    >>> SquareCB(gamma=10.0, exponent=0.5, floor=0.0).probabilities([1.0, 0.2], 0)
    [0.9, 0.1]
    """

    inverse_gap: ClassVar[bool] = True

    gamma: float
    exponent: float
    floor: float

    def __post_init__(self) -> None:
        """Refuse what makes no probability."""
        for name in ("gamma", "exponent", "floor"):
            _coerce_float(self, name)
        for name in ("gamma", "exponent"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise DefinitionError(f"{name}={value!r} must be a finite number, 0 or more.")
        if not 0 <= self.floor <= 1:
            raise DefinitionError(f"floor={self.floor!r} must be a probability.")

    def amount(self, number: int) -> float:
        """Compute gamma.

        Args:
            number: The number of decisions so far.

        Returns:
            Gamma.
        """
        return self.gamma * math.pow(number + 1, self.exponent)

    def numbers(self) -> tuple[bool, float, float, float, float]:
        """Return the rule as numbers, for machine code.

        Returns:
            Whether it uses inverse gaps, then its parameters.
        """
        return True, float(self.gamma), float(self.exponent), 1.0, float(self.floor)

    def probabilities(self, scores: Sequence[float], number: int) -> list[float]:
        """Turn scores into probabilities.

        Args:
            scores: A score for each action.
            number: The number of decisions so far.

        Returns:
            The probability of each action.
        """
        count, sharpness = len(scores), self.amount(number)
        top = max(scores)
        best = scores.index(top)
        likely = [max(self.floor, 1.0 / (count + sharpness * (top - score))) for score in scores]
        likely[best] = 0.0
        likely[best] = 1.0 - sum(likely)
        return likely

    def policy(self, scores: Numbers, number: int) -> Numbers:
        """Turn many rows of scores into probabilities.

        Args:
            scores: A row of scores per decision.
            number: The number of decisions so far.

        Returns:
            A row of probabilities per decision.
        """
        count, rows, best = scores.shape[1], np.arange(len(scores)), scores.argmax(axis=1)
        gaps = scores[rows, best][:, None] - scores
        likely: Numbers = np.maximum(self.floor, 1.0 / (count + self.amount(number) * gaps))
        likely[rows, best] = 0.0
        likely[rows, best] = 1.0 - likely.sum(axis=1)
        return likely


@dataclass(frozen=True, slots=True)
class Sampling:
    """Thompson sampling: draw a possible value for each action, and take the best draw.

    With `propensity`, each decision has the exact probability of its action, an integral that takes some time. Without
    it the probability is unknown, and no other policy can be evaluated on the decision.

    >>> Sampling(scale=1.0, propensity=True).probabilities([0.0, 0.0], [1.0, 1.0])
    [0.5, 0.5]
    """

    scale: float
    propensity: bool

    def __post_init__(self) -> None:
        """Refuse a scale that is not above 0."""
        _coerce_float(self, "scale")
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise DefinitionError(f"scale={self.scale!r} must be a finite number above 0.")

    def choose(
        self, means: Sequence[float], deviations: Sequence[float], key: int, number: int
    ) -> tuple[int, float | None]:
        """Draw a value for each action and take the best.

        Args:
            means: The mean of each action.
            deviations: The standard deviation of each.
            key: The random seed.
            number: The number of decisions so far, mixed into the seed.

        Returns:
            The position of the action and its probability; None without `propensity`.
        """
        drawn = draw_normals(key, number, len(means))
        values = [mean + deviation * z for mean, deviation, z in zip(means, deviations, drawn, strict=True)]
        best = values.index(max(values))
        return best, chance_of_best(means, deviations, best) if self.propensity else None

    def probabilities(self, means: Sequence[float], deviations: Sequence[float]) -> list[float]:
        """Compute how likely each action has the best draw.

        Args:
            means: The mean of each action.
            deviations: The standard deviation of each.

        Returns:
            The probability of each action.
        """
        return [chance_of_best(means, deviations, at) for at in range(len(means))]


Explore = EpsilonMix | SquareCB | Sampling

RULES: dict[str, type[Any]] = {"epsilon": EpsilonMix, "squarecb": SquareCB, "sampling": Sampling}
"""The ways to explore, by the name they have in a saved learner."""


def pick_action(probabilities: Sequence[float], uniform: float) -> int:
    """Return the action that a number from 0 up to 1 falls on.

    >>> pick_action([0.25, 0.0, 0.75], 0.25)
    2
    """
    passed, last = 0.0, 0
    for at, likely in enumerate(probabilities):
        if likely > 0.0:
            passed += likely
            last = at
            if uniform < passed:
                return at
    return last  # the probabilities add up to a little less than 1


def chance_of_best(means: Sequence[float], deviations: Sequence[float], of: int) -> float:
    """Return how likely the number `of` is the largest, to 1e-9: a Gauss–Legendre integral over its density.

    >>> round(chance_of_best([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], 0), 9)
    0.333333333
    """
    mean, deviation = means[of], deviations[of]
    nodes, weights = _build_panels(means, deviations, of)
    density = np.exp(-0.5 * nodes * nodes) * (weights / np.sqrt(2 * np.pi))
    for at, (other, spread) in enumerate(zip(means, deviations, strict=True)):
        if at != of:
            density *= _normal_cdf(((mean - other) + deviation * nodes) / spread)
    return float(min(1.0, max(0.0, density.sum())))


def _normal_cdf(z: Numbers) -> Numbers:
    """Return how likely a standard normal number lies below each of `z`; without SciPy it takes five times as long."""
    try:
        from scipy.special import ndtr
    except ImportError:
        return np.fromiter((0.5 * math.erfc(-each / math.sqrt(2.0)) for each in z.tolist()), np.float64, len(z))
    below: Numbers = ndtr(z)
    return below


def _build_panels(means: Sequence[float], deviations: Sequence[float], of: int) -> tuple[Numbers, Numbers]:
    """Return nodes, in standard deviations of the number `of`, and their weights."""
    centres = (np.asarray(means) - means[of]) / deviations[of]
    spreads = np.asarray(deviations) / deviations[of]
    breaks = (centres[:, None] + spreads[:, None] * np.asarray(_BREAKS)).reshape(-1)
    edges = np.unique(np.clip(np.append(breaks, (-_REACH, _REACH)), -_REACH, _REACH))
    half = 0.5 * np.diff(edges)
    middle = 0.5 * (edges[1:] + edges[:-1])
    nodes = middle[:, None] + half[:, None] * _NODES
    return nodes.reshape(-1), (half[:, None] * _WEIGHTS).reshape(-1)


def _coerce_float(rule: Explore, name: str) -> None:
    try:
        object.__setattr__(rule, name, float(getattr(rule, name)))
    except (TypeError, ValueError):
        raise DefinitionError(f"{name}={getattr(rule, name)!r:.60} must be a number.") from None
