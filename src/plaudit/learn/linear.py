"""Bandits that see features: a ridge regression for each action, and a rule that turns what they say into a choice."""

import math
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from plaudit.errors import DefinitionError, InputError, NotFinite, ShapeMismatch, WrongType
from plaudit.learn import ridge as regression
from plaudit.learn.actions import checked_actions, checked_names, checked_number
from plaudit.learn.decision import Decision, number, unknown_action
from plaudit.learn.draws import MASK, normals, uniform
from plaudit.learn.explore import Explore, Numbers, Sampling, picked
from plaudit.learn.ridge import HUGE, RidgeState
from plaudit.learn.thompson import chance_of_best


@dataclass(frozen=True)
class LinearBandit:
    """A bandit with features. All that changes lives in the state; no method changes anything.

    >>> from plaudit.learn import linucb
    >>> bandit = linucb(("small", "large"), ("difficulty",))
    >>> state = bandit.init()
    >>> decision = bandit.choose(state, 7, [0.5])
    >>> decision.action, decision.probability
    ('small', 0.98)
    >>> bandit.update(state, decision, 1.0).pulls
    (1, 0)
    """

    kind: ClassVar[str] = "linear"

    actions: tuple[str, ...]
    features: tuple[str, ...]
    explore: Explore
    ridge: float = 1.0
    alpha: float = 0.0
    """How much an action gains for being uncertain."""

    def __post_init__(self) -> None:
        """Refuse actions, features and numbers that are none."""
        checked_actions(self.actions, self.explore)
        checked_names("features", self.features)
        if not self.features:
            raise DefinitionError("a linear bandit needs features; epsilon_greedy, ucb1 and thompson need none.")
        checked_number("ridge", self.ridge, above=0.0)
        checked_number("alpha", self.alpha)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.actions)}

    @cached_property
    def _numbers(self) -> tuple[float, ...]:
        """All that machine code needs to know of this bandit."""
        return () if isinstance(self.explore, Sampling) else (float(self.alpha), *self.explore.numbers())

    @cached_property
    def _shape(self) -> tuple[int]:
        return (len(self.features),)

    @cached_property
    def _compiled(self) -> Any:
        """The inner loops in machine code; None without the extra `fast`."""
        if find_spec("numba") is None:
            return None
        from plaudit.learn import compiled

        return compiled

    def init(self) -> RidgeState:
        """Return the state in which nothing is known; what is to be compiled is compiled now."""
        _ = self._compiled
        return regression.init(len(self.actions), len(self.features), self.ridge)

    def choose(self, state: RidgeState, key: int, context: Any = None) -> Decision:
        """Return a decision on the features `context`; the same state, key and features give the same one.

        The key is mixed with the number of decisions in the state, so one seed does for a run that learns after each
        decision. Where rewards come late, give each decision a key of its own.
        """
        explore, decisions = self.explore, state.decisions
        x = self._vector(context)
        if isinstance(explore, Sampling):
            return self._sampled(state, key, x, explore)
        if self._compiled is None:
            if not regression.bounded(x):
                raise self._refused(x)
            amount = explore.amount(decisions)
            likely = explore.probabilities(self._scores(state, x), decisions)
            at = picked(likely, uniform(key, decisions))
        else:
            array = np.empty(len(self.actions))
            at, amount = self._compiled.decided(state.table, x, key & MASK, decisions, *self._numbers, array)
            likely = array.tolist()
            if at < 0:
                raise self._refused(x)
        epsilon = None if explore.inverse_gap else amount
        # What Decision(…) would make, without its detour through Python, which takes a tenth of the time of all this.
        whole = (self.actions[at], likely[at], tuple(likely), tuple(x.tolist()), decisions, epsilon, None)
        return tuple.__new__(Decision, whole)

    def update(self, state: RidgeState, decision: Decision, reward: float, *, again: bool = False) -> RidgeState:
        """Return what is known once a decision earned `reward`; `again` credits one that was counted before.

        A decision or a reward that cannot be learnt from is an InputError, and `state` is what it was.
        """
        at = self._positions.get(decision.action, -1)
        if at < 0:
            raise unknown_action(decision.action, self.actions)
        earned = reward if type(reward) is float and -HUGE < reward < HUGE else number(reward, "reward")
        x = self._vector(decision.context)
        if abs(earned) > HUGE or (self._compiled is None and not regression.bounded(x)):
            raise self._refused(x, earned)
        learn = regression.learn if self._compiled is None else self._compiled.learn
        table = state.table.copy()
        if not learn(table, at, x, earned):
            raise self._refused(x, earned)
        return tuple.__new__(RidgeState, (table, state.decisions + (not again)))

    def probabilities(self, state: RidgeState, contexts: Any) -> Numbers:
        """Return how likely each action is for each row of features: the policy that the state amounts to."""
        rows = self._rows(contexts)
        if isinstance(self.explore, Sampling):
            return np.array([self._chances(state, row, self.explore) for row in rows]).reshape(len(rows), -1)
        scores = rows @ state.weights.T
        if self.alpha:
            spread = np.stack([np.einsum("nd,nd->n", rows @ inverse, rows) for inverse in state.inverse], axis=1)
            scores += self.alpha * np.sqrt(np.maximum(spread, 0.0))
        return self.explore.policy(scores, state.decisions)

    def _scores(self, state: RidgeState, x: Numbers) -> list[float]:
        scores = state.weights.dot(x)
        if self.alpha:
            scores += self.alpha * regression.widths(state, x)
        found: list[float] = scores.tolist()
        return found

    def _beliefs(self, state: RidgeState, x: Numbers, sampling: Sampling) -> tuple[list[float], list[float]]:
        """Return the mean of what each action may be worth here, and its standard deviation."""
        if not regression.bounded(x):
            raise self._refused(x)
        deviations = sampling.scale * np.maximum(regression.widths(state, x), 1e-12)
        return state.weights.dot(x).tolist(), deviations.tolist()

    def _sampled(self, state: RidgeState, key: int, x: Numbers, sampling: Sampling) -> Decision:
        means, deviations = self._beliefs(state, x, sampling)
        drawn = normals(key, state.decisions, len(means))
        values = [mean + deviation * z for mean, deviation, z in zip(means, deviations, drawn, strict=True)]
        at = values.index(max(values))
        likely = chance_of_best(means, deviations, at) if sampling.propensity else None
        return Decision(self.actions[at], likely, None, tuple(x.tolist()), state.decisions)

    def _chances(self, state: RidgeState, x: Numbers, sampling: Sampling) -> list[float]:
        means, deviations = self._beliefs(state, x, sampling)
        return [chance_of_best(means, deviations, at) for at in range(len(means))]

    def _vector(self, context: Any) -> Numbers:
        """Return the features of one decision, checked."""
        try:
            x = np.array(context, dtype=np.float64)
        except (TypeError, ValueError):
            raise WrongType(f"features {context!r:.60} are not a list of numbers.") from None
        if x.shape != self._shape:
            had = "none" if context is None else f"an array of shape {x.shape}"
            raise ShapeMismatch(f"the learner reads {len(self.features)} features, and {had} was given.")
        return x

    def _rows(self, contexts: Any) -> Numbers:
        rows = np.asarray(contexts, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.features):
            raise ShapeMismatch(f"the learner reads {len(self.features)} features a row, not an array {rows.shape}.")
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if len(bad):
            raise NotFinite(f"row {bad[0]}: the features {rows[bad[0]].tolist()} are not all finite.")
        return rows

    def _refused(self, x: Numbers, reward: float = 0.0) -> InputError:
        """Return the error for features that are not finite, or far too large for what is known."""
        for name, value in zip(self.features, x.tolist(), strict=True):
            if not math.isfinite(value):
                return NotFinite(f"feature {name!r} is {value!r}, which is not a finite number.")
        return regression.too_large(x, reward)
