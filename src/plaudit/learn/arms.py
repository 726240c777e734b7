"""Bandits without features."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from plaudit.errors import OutOfRange, ShapeMismatch
from plaudit.learn.decision import Decision
from plaudit.learn.draws import draw_uniform, parse_key
from plaudit.learn.explore import Explore, Sampling, pick_action
from plaudit.learn.ridge import Numbers
from plaudit.learn.validate import parse_number, unknown_action, validate_actions, validate_number

_LEAST_VARIANCE = 0.01
"""Below this a variance is a coincidence of few rewards."""


class ArmState(NamedTuple):
    """How often each action was tried, and what it earned: the state of a bandit without features.

    >>> from plaudit.learn import Decision, ucb1
    >>> bandit = ucb1(("small", "large"))
    >>> state = bandit.update(bandit.init(), Decision("small", 0.5, None, None, 0), 0.8)
    >>> state.pulls, state.means
    ((1, 0), (0.8, 0.0))
    """

    pulls: tuple[int, ...]
    totals: tuple[float, ...]
    squares: tuple[float, ...]
    decisions: int

    @property
    def means(self) -> tuple[float, ...]:
        """The mean reward of each action; 0 before the first try."""
        return tuple(total / pulls if pulls else 0.0 for total, pulls in zip(self.totals, self.pulls, strict=True))


@dataclass(frozen=True)
class ArmBandit:
    """A bandit without features. Its methods are pure functions over a state.

    >>> from plaudit.learn import epsilon_greedy
    >>> bandit = epsilon_greedy(("small", "large"))
    >>> state = bandit.init()
    >>> decision = bandit.choose(state, key=7)
    >>> bandit.update(state, decision, 0.5).means
    (0.5, 0.0)
    """

    kind: ClassVar[str] = "arms"

    actions: tuple[str, ...]
    explore: Explore
    width: float = 0.0
    """Weight of the bonus for rarely tried actions, sqrt(ln(N + 1) / n)."""
    features: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Refuse actions that cannot be chosen from, and a width that is not a number."""
        validate_actions(self.actions, self.explore)
        validate_number("width", self.width)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.actions)}

    def init(self) -> ArmState:
        """Return the initial state.

        Returns:
            A state in which nothing has been learned.
        """
        count = len(self.actions)
        return ArmState((0,) * count, (0.0,) * count, (0.0,) * count, 0)

    def choose(self, state: ArmState, key: int, context: Sequence[float] | None = None) -> Decision:
        """Choose an action.

        Args:
            state: What is known so far.
            key: The random seed; the same state and key give the same decision.
            context: Must be empty or omitted.

        Returns:
            The decision, with the exact probability of its action where it is known.

        Raises:
            InputError: Features were given, or the state belongs to another bandit.
        """
        self._check_state(state)
        if context is not None and len(context):
            raise ShapeMismatch(
                f"this bandit takes no features but was given {len(context)}; use linucb or another linear bandit."
            )
        if isinstance(self.explore, Sampling):
            at, likelihood = self.explore.choose(
                *self._compute_beliefs(state, self.explore), parse_key(key), state.decisions
            )
            return Decision(self.actions[at], likelihood, None, None, state.decisions)
        likely = self.explore.probabilities(self.scores(state), state.decisions)
        at = pick_action(likely, draw_uniform(parse_key(key), state.decisions))
        share = None if self.explore.inverse_gap else self.explore.amount(state.decisions)
        return Decision(self.actions[at], likely[at], tuple(likely), None, state.decisions, share)

    def update(self, state: ArmState, decision: Decision, reward: float, *, again: bool = False) -> ArmState:
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
        self._check_state(state)
        at = self._positions.get(decision.action, -1)
        if at < 0:
            raise unknown_action(decision.action, self.actions)
        earned = parse_number(reward, "reward")
        if not math.isfinite(state.squares[at] + earned * earned):
            raise OutOfRange(f"reward={earned!r} is too large to add up. Nothing was learned.")
        return ArmState(
            _add_at(state.pulls, at, 1),
            _add_at(state.totals, at, earned),
            _add_at(state.squares, at, earned * earned),
            state.decisions + (not again),
        )

    def scores(self, state: ArmState) -> list[float]:
        """Score the actions: the mean reward plus a bonus, infinite before the first try.

        Args:
            state: What is known so far.

        Returns:
            A score for each action.
        """
        if not self.width:
            return list(state.means)
        tries = math.log(sum(state.pulls) + 1)
        return [
            mean + self.width * math.sqrt(tries / pulls) if pulls else math.inf
            for mean, pulls in zip(state.means, state.pulls, strict=True)
        ]

    def probabilities(self, state: ArmState, contexts: Any) -> Numbers:
        """Compute the policy of this state.

        Args:
            state: What is known so far.
            contexts: One row per decision; the rows are counted, not read.

        Returns:
            The probability of each action, one row per decision.
        """
        self._check_state(state)
        if isinstance(self.explore, Sampling):
            row = self.explore.probabilities(*self._compute_beliefs(state, self.explore))
        else:
            row = self.explore.probabilities(self.scores(state), state.decisions)
        return np.tile(np.asarray(row), (len(contexts), 1))

    def _check_state(self, state: Any) -> None:
        if not isinstance(state, ArmState) or len(state.pulls) != len(self.actions):
            raise ShapeMismatch(f"the state is not that of a bandit with {len(self.actions)} actions and no features.")

    def _compute_beliefs(self, state: ArmState, sampling: Sampling) -> tuple[list[float], list[float]]:
        """Return the mean of what each action may be worth, and its standard deviation: 0 and 1 at first."""
        deviations = []
        for pulls, square, mean in zip(state.pulls, state.squares, state.means, strict=True):
            variance = max(_LEAST_VARIANCE, square / pulls - mean * mean) if pulls > 1 else 1.0
            deviations.append(sampling.scale * math.sqrt(variance / max(pulls, 1)))
        return list(state.means), deviations


def _add_at(values: tuple[Any, ...], at: int, more: float) -> tuple[Any, ...]:
    return (*values[:at], values[at] + more, *values[at + 1 :])
