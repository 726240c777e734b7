"""A router: expected rewards of candidates, and a rule to follow until enough is known."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np

from plaudit.errors import DefinitionError, OutOfRange, WrongType
from plaudit.learn.decision import Decision
from plaudit.learn.draws import draw_uniform, parse_key
from plaudit.learn.explore import chance_of_best, pick_action
from plaudit.learn.linear import LinearBandit
from plaudit.learn.ridge import Numbers, RidgeState, compute_widths
from plaudit.learn.validate import parse_number, unknown_action, validate_number

_NORMAL = NormalDist()


class Guess(NamedTuple):
    """The advice of a fallback rule, which has learned nothing.

    >>> def rule(features):
    ...     return Guess("large" if features[0] > 0.5 else "small", 0.6, "difficult tasks need the large model")
    >>> rule([0.9]).candidate
    'large'
    """

    candidate: str
    confidence: float
    rationale: str


Fallback = Callable[[tuple[float, ...]], Guess]
"""A rule to go by while too little is known: features in, a guess out."""


class Advice(NamedTuple):
    """The candidate with the highest expected reward, and the confidence in it.

    Example:
        ```python
        advice = router.advise(state, [0.9])
        print(advice.candidate, advice.confidence, advice.rationale)
        print(dict(zip(router.actions, advice.expected)))
        ```
    """

    candidate: str
    confidence: float
    """The probability that it is the best; the rule's own confidence if `learnt` is false."""
    rationale: str
    expected: tuple[float, ...]
    """The expected reward of each candidate, in the router's order."""
    errors: tuple[float, ...]
    """The standard error of each of these."""
    records: int
    """The number of rewards learned from."""
    learnt: bool


class RouterState(NamedTuple):
    """What a router has learned: a regression for each candidate, and how much rewards vary.

    Example:
        ```python
        state = router.update(router.init(), decision, reward=0.7)
        print(state.decisions, state.pulls)
        ```
    """

    ridge: RidgeState
    squares: tuple[float, ...]
    """The sum of squared rewards of each candidate."""

    @property
    def decisions(self) -> int:
        """The number of decisions learned from."""
        return self.ridge.decisions

    @property
    def pulls(self) -> tuple[int, ...]:
        """The number of rewards of each candidate."""
        return self.ridge.pulls


@dataclass(frozen=True)
class Router:
    """A linear bandit that gives advice, and follows a fallback rule until it has seen `minimum` rewards.

    It is a learner like any bandit; `bandit` determines how it explores.

    >>> from plaudit.learn import squarecb
    >>> bandit = squarecb(("small", "large"), ("difficulty",))
    >>> router = Router(bandit, lambda x: Guess("large" if x[0] > 0.5 else "small", 0.6, "by rule"), minimum=1)
    >>> state = router.init()
    >>> router.advise(state, [0.9]).candidate
    'large'
    >>> state = router.update(state, Decision("small", None, None, (0.9,), 0), 0.7)
    >>> router.advise(state, [0.9]).candidate
    'small'
    """

    kind: ClassVar[str] = "router"

    bandit: LinearBandit
    fallback: Fallback
    minimum: int = 30
    trial: float = 0.2
    """The share of random choices while the rule is followed; the rule alone would never learn about the others."""
    noise: float = 0.5
    """Assumed standard deviation of rewards before any came; it counts as one reward."""

    def __post_init__(self) -> None:
        """Refuse settings that make no router."""
        if not isinstance(self.bandit, LinearBandit):
            raise DefinitionError(f"bandit={self.bandit!r:.60} must be a linear bandit, such as squarecb(…).")
        if not callable(self.fallback):
            raise DefinitionError(f"fallback={self.fallback!r:.60} must be a function of the features.")
        validate_number("minimum", self.minimum)
        validate_number("noise", self.noise, above=0.0)
        validate_number("trial", self.trial)
        if self.trial > 1:
            raise DefinitionError(f"trial={self.trial!r} must be a share, from 0 to 1.")

    @property
    def actions(self) -> tuple[str, ...]:
        """The candidates."""
        return self.bandit.actions

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.bandit.features

    def init(self) -> RouterState:
        """Return the initial state.

        Returns:
            A state in which nothing has been learned.
        """
        return RouterState(self.bandit.init(), (0.0,) * len(self.actions))

    def ready(self, state: RouterState) -> bool:
        """Say whether the router has seen enough rewards to use what it has learned.

        Args:
            state: What is known so far.

        Returns:
            False while the fallback rule is followed.
        """
        return sum(state.pulls) >= self.minimum

    def advise(self, state: RouterState, context: Any) -> Advice:
        """Recommend a candidate for these features.

        Args:
            state: What is known so far.
            context: The features.

        Returns:
            The candidate, the confidence, the reasons, and the expected reward of every candidate.
        """
        x = tuple(self.bandit.parse_context(context).tolist())
        expected, errors = self.estimate(state, x)
        records = sum(state.pulls)
        if not self.ready(state):
            guess = self._ask_fallback(x)
            why = f"{guess.rationale} ({records} of {self.minimum} records to learn from so far)"
            return Advice(guess.candidate, guess.confidence, why, expected, errors, records, False)
        best = expected.index(max(expected))
        rivals = [at for at in range(len(expected)) if at != best]
        rival = max(
            rivals,
            key=lambda at: _chance_above_zero(expected[at] - expected[best], math.hypot(errors[best], errors[at])),
        )
        why = self._explain(state, x, expected, errors, best, rival)
        sure = chance_of_best(expected, [max(error, 1e-12) for error in errors], best)
        return Advice(self.actions[best], sure, why, expected, errors, records, True)

    def choose(self, state: RouterState, key: int, context: Any = None) -> Decision:
        """Choose a candidate for these features.

        Args:
            state: What is known so far.
            key: The random seed; the same state, key and features give the same decision.
            context: The features, in the order of `features`.

        Returns:
            The decision, with the exact probability of its candidate where it is known.
        """
        if self.ready(state):
            return self.bandit.choose(state.ridge, key, context)
        x = tuple(self.bandit.parse_context(context).tolist())
        likely = self._compute_trials(x)
        at = pick_action(likely, draw_uniform(parse_key(key), state.decisions))
        return Decision(self.actions[at], likely[at], tuple(likely), x, state.decisions, self.trial)

    def update(self, state: RouterState, decision: Decision, reward: float, *, again: bool = False) -> RouterState:
        """Learn from the reward of a decision; the given state does not change.

        Args:
            state: What is known so far.
            decision: The decision that earned the reward.
            reward: The reward.
            again: This is a further reward of a decision that was counted before.

        Returns:
            The new state.

        Raises:
            InputError: The decision or the reward cannot be learned from; the state stays valid.
        """
        ridge = self.bandit.update(state.ridge, decision, reward, again=again)
        earned, at = parse_number(reward, "reward"), self.actions.index(decision.action)
        total = state.squares[at] + earned * earned
        if not math.isfinite(total):
            raise OutOfRange(f"reward={earned!r} is too large to square. Nothing was learned.")
        return RouterState(ridge, (*state.squares[:at], total, *state.squares[at + 1 :]))

    def probabilities(self, state: RouterState, contexts: Any) -> Numbers:
        """Compute the policy of this state.

        Args:
            state: What is known so far.
            contexts: One row of features per decision.

        Returns:
            The probability of each candidate, one row per decision.
        """
        if self.ready(state):
            return self.bandit.probabilities(state.ridge, contexts)
        rows = [self._compute_trials(tuple(self.bandit.parse_context(row).tolist())) for row in contexts]
        return np.asarray(rows).reshape(len(rows), len(self.actions))

    def estimate(self, state: RouterState, x: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Estimate the reward of each candidate.

        Args:
            state: What is known so far.
            x: The features.

        Returns:
            The expected rewards and their standard errors.
        """
        vector = self.bandit.build_row(x)
        errors = self.deviation(state) * compute_widths(state.ridge, vector)
        return tuple(state.ridge.weights.dot(vector).tolist()), tuple(errors.tolist())

    def deviation(self, state: RouterState) -> float:
        """Estimate the standard deviation of rewards around what the regressions predict; `noise` counts as one reward.

        Args:
            state: What is known so far.

        Returns:
            The standard deviation.
        """
        weights = state.ridge.weights
        explained = float((weights * state.ridge.moment).sum() + self.bandit.ridge * (weights * weights).sum())
        left = max(0.0, sum(state.squares) - explained)
        return math.sqrt((self.noise * self.noise + left) / (1 + sum(state.pulls)))

    def _ask_fallback(self, x: tuple[float, ...]) -> Guess:
        guess = self.fallback(x)
        if not isinstance(guess, Guess):
            raise WrongType(f"the fallback gave {guess!r:.60}, which is not a Guess.")
        if guess.candidate not in self.actions:
            raise unknown_action(guess.candidate, self.actions)
        if not 0 <= guess.confidence <= 1:
            raise OutOfRange(f"the fallback gave a confidence of {guess.confidence!r}, which is not from 0 to 1.")
        return guess

    def _compute_trials(self, x: tuple[float, ...]) -> list[float]:
        """Return how likely each candidate is while the rule is followed."""
        at = self.actions.index(self._ask_fallback(x).candidate)
        likely = [self.trial / len(self.actions)] * len(self.actions)
        likely[at] += 1.0 - self.trial
        return likely

    def _explain(
        self,
        state: RouterState,
        x: tuple[float, ...],
        expected: Sequence[float],
        errors: Sequence[float],
        best: int,
        rival: int,
    ) -> str:
        """Return what is expected of the best candidate and its rival, and which features speak for the best."""
        ridge = state.ridge
        speaks = (ridge.weights[best] - ridge.weights[rival])[: len(x)] * np.asarray(x)
        most = [at for at in np.argsort(-speaks, kind="stable")[:3].tolist() if speaks[at] > 0]
        sides = [f"{self.actions[at]} {expected[at]:+.3f} ± {errors[at]:.3f}" for at in (best, rival)]
        because = f"; in its favor: {', '.join(self.features[at] for at in most)}" if most else ""
        return f"{sides[0]}, against {sides[1]}{because}"


def _chance_above_zero(margin: float, error: float) -> float:
    """Return how likely a normal number with this mean and standard deviation is above 0."""
    return _NORMAL.cdf(margin / error) if error > 0 else 0.5 if margin == 0 else 1.0
