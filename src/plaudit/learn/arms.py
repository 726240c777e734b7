"""Bandits that see no features: what each action has earned so far, and what that says of the next choice."""

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
    """How often each action was tried, and what it earned."""

    pulls: tuple[int, ...]
    totals: tuple[float, ...]
    squares: tuple[float, ...]
    decisions: int

    @property
    def means(self) -> tuple[float, ...]:
        """The mean reward of each action; 0 for one that was never tried."""
        return tuple(total / pulls if pulls else 0.0 for total, pulls in zip(self.totals, self.pulls, strict=True))


@dataclass(frozen=True)
class ArmBandit:
    """A bandit without features. All that changes lives in the state; no method changes anything.

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
    """How much an action gains for being little tried: the factor of sqrt(ln(N + 1) / n)."""
    features: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Refuse actions that cannot be chosen from, and a width that is not a number."""
        validate_actions(self.actions, self.explore)
        validate_number("width", self.width)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.actions)}

    def init(self) -> ArmState:
        """Return the state in which nothing was tried."""
        count = len(self.actions)
        return ArmState((0,) * count, (0.0,) * count, (0.0,) * count, 0)

    def choose(self, state: ArmState, key: int, context: Sequence[float] | None = None) -> Decision:
        """Return a decision; the same state and key give the same one."""
        self._check_state(state)
        if context is not None and len(context):
            raise ShapeMismatch(f"a bandit without features was given {len(context)} of them; use linucb or the like.")
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
        """Return what is known once a decision earned `reward`; `again` credits one that was counted before."""
        self._check_state(state)
        at = self._positions.get(decision.action, -1)
        if at < 0:
            raise unknown_action(decision.action, self.actions)
        earned = parse_number(reward, "reward")
        if not math.isfinite(state.squares[at] + earned * earned):
            raise OutOfRange(f"reward={earned!r} is too large to be added up. Nothing was learnt.")
        return ArmState(
            _add_at(state.pulls, at, 1),
            _add_at(state.totals, at, earned),
            _add_at(state.squares, at, earned * earned),
            state.decisions + (not again),
        )

    def scores(self, state: ArmState) -> list[float]:
        """Return what each action is thought to be worth, with its bonus, which is infinite before the first try."""
        if not self.width:
            return list(state.means)
        tries = math.log(sum(state.pulls) + 1)
        return [
            mean + self.width * math.sqrt(tries / pulls) if pulls else math.inf
            for mean, pulls in zip(state.means, state.pulls, strict=True)
        ]

    def probabilities(self, state: ArmState, contexts: Any) -> Numbers:
        """Return how likely each action is, one row for each row of `contexts`, in which nothing is read."""
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
