"""Bandits that see features: a ridge regression for each action, and a rule that turns what they say into a choice."""

import math
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from plaudit.errors import DefinitionError, InputError, NotFinite, OutOfRange, ShapeMismatch, WrongType
from plaudit.learn import ridge as regression
from plaudit.learn.actions import checked_actions, checked_names, checked_number
from plaudit.learn.decision import Decision, number, unknown_action
from plaudit.learn.draws import MASK, normals, uniform, whole
from plaudit.learn.explore import Explore, Numbers, Sampling, picked
from plaudit.learn.ridge import BELOW, HUGE, RidgeState
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

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: what is worked out on the way is worked out there again."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def init(self) -> RidgeState:
        """Return the state in which nothing is known; what is to be compiled is compiled now."""
        _ = self._compiled
        return regression.init(len(self.actions), len(self.features), self.ridge)

    def choose(self, state: RidgeState, key: int, context: Any = None) -> Decision:
        """Return a decision on the features `context`; the same state, key and features give the same one.

        The key is mixed with the number of decisions in the state, so one seed does for a run that learns after each
        decision. Where rewards come late, give each decision a key of its own.
        """
        if type(state) is not RidgeState or state.table.shape != self._table:
            raise self._stranger()
        if type(key) is not int:
            key = whole(key)
        x = self._vector(context)
        explore, decisions = self.explore, state.decisions
        if isinstance(explore, Sampling):
            return self._sampled(state, key, x, explore)
        if self._compiled is None:
            self._check_length(x)
            amount = explore.amount(decisions)
            likely = explore.probabilities(self._scores(state, x), decisions)
            at = picked(likely, uniform(key, decisions))
        else:
            array = np.empty(len(self.actions))
            at, amount = self._compiled.decided(state.table, x, key & MASK, decisions, *self._numbers, array)
            if at < 0:
                raise self._refused(x)
            likely = array.tolist()
        epsilon = None if explore.inverse_gap else amount
        # What Decision(…) would make, without its detour through Python, which takes a tenth of the time of all this.
        made = (self.actions[at], likely[at], tuple(likely), tuple(x.tolist()), decisions, epsilon, None)
        return tuple.__new__(Decision, made)

    def update(self, state: RidgeState, decision: Decision, reward: float, *, again: bool = False) -> RidgeState:
        """Return what is known once a decision earned `reward`; `again` credits one that was counted before.

        A decision or a reward that cannot be learnt from is an InputError, and `state` is what it was.
        """
        at = self._positions.get(decision.action, -1)
        if at < 0:
            raise unknown_action(decision.action, self.actions)
        if type(state) is not RidgeState or state.table.shape != self._table:
            raise self._stranger()
        table, x = state.table.copy(), self._vector(decision.context)
        earned = reward if type(reward) is float and -HUGE < reward < HUGE else self._earned(reward)
        if self._compiled is None:
            self._check_length(x)
            sound = regression.learn(table, at, x, earned)
        else:
            sound = self._compiled.learn(table, at, x, earned, self._limit)
        if not sound:
            raise self._refused(x)
        return tuple.__new__(RidgeState, (table, state.decisions + (not again)))

    def probabilities(self, state: RidgeState, contexts: Any) -> Numbers:
        """Return how likely each action is for each row of features: the policy that the state amounts to."""
        if type(state) is not RidgeState or state.table.shape != self._table:
            raise self._stranger()
        rows, explore, decisions = self._rows(contexts), self.explore, state.decisions
        if isinstance(explore, Sampling):
            return np.array([self._chances(state, row, explore) for row in rows]).reshape(len(rows), -1)
        if self._compiled is not None:
            likely = np.empty((len(rows), len(self.actions)))
            self._compiled.policies(state.table, rows, decisions, *self._numbers[1:], likely)
            return likely
        scores = rows @ state.weights.T
        if self.alpha:
            spread = np.stack([np.einsum("nd,nd->n", rows @ inverse, rows) for inverse in state.inverse], axis=1)
            scores += self.alpha * np.sqrt(np.maximum(spread, 0.0))
        return explore.policy(scores, decisions)

    def checked(self, context: Any) -> Numbers:
        """Return the features of one decision as an array; an InputError where they are not what the learner reads."""
        x = self._vector(context)
        self._check_length(x)
        return x

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.actions)}

    @cached_property
    def _numbers(self) -> tuple[float, ...]:
        """All that machine code needs to know of this bandit: the limit of features, and how it explores."""
        rule = () if isinstance(self.explore, Sampling) else self.explore.numbers()
        return (self._limit, float(self.alpha), *rule)

    @cached_property
    def _limit(self) -> float:
        return regression.limit(self.ridge)

    @cached_property
    def _row(self) -> tuple[int]:
        """The shape of the features."""
        return (len(self.features),)

    @cached_property
    def _table(self) -> tuple[int, int, int]:
        """The shape of a state's table. Machine code does not look where its arrays end, so no other goes there."""
        return len(self.actions), len(self.features) + BELOW, len(self.features)

    @cached_property
    def _compiled(self) -> Any:
        return machine_code()

    def _stranger(self) -> ShapeMismatch:
        """Return the error for a state of another learner."""
        return ShapeMismatch(
            f"the state is not that of a bandit with {len(self.actions)} actions and {len(self.features)} features."
        )

    def _scores(self, state: RidgeState, x: Numbers) -> list[float]:
        scores = state.weights.dot(x)
        if self.alpha:
            scores += self.alpha * regression.widths(state, x)
        found: list[float] = scores.tolist()
        return found

    def _beliefs(self, state: RidgeState, x: Numbers, sampling: Sampling) -> tuple[list[float], list[float]]:
        """Return the mean of what each action may be worth here, and its standard deviation."""
        self._check_length(x)
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
        """Return the features of one decision as an array; how large they are is not looked at yet."""
        try:
            x = np.array(context)
        except ValueError:
            raise _no_numbers(context) from None
        if x.shape == self._row and x.dtype.char == "d":
            return x
        x = _plain(context)
        if x.shape != self._row:
            had = "none were" if context is None else f"an array of shape {x.shape} was"
            raise ShapeMismatch(f"the learner reads {len(self.features)} features, and {had} given.")
        return x

    def _rows(self, contexts: Any) -> Numbers:
        rows = np.ascontiguousarray(_plain(contexts))
        if rows.ndim != 2 or rows.shape[1] != len(self.features):
            raise ShapeMismatch(f"the learner reads {len(self.features)} features a row, not an array {rows.shape}.")
        bad = np.flatnonzero(~(np.abs(rows).max(axis=1) <= math.sqrt(self._limit)))
        if len(bad):
            error = self._refused(rows[bad[0]])
            raise type(error)(f"row {bad[0]}: {error}")
        return rows

    def _check_length(self, x: Numbers) -> None:
        if not regression.squared(x) <= self._limit:
            raise self._refused(x)

    def _refused(self, x: Numbers) -> InputError:
        """Return the error for features that are not finite, or far too large."""
        for name, value in zip(self.features, x.tolist(), strict=True):
            if not math.isfinite(value):
                return NotFinite(f"feature {name!r} is {value!r}, which is not a finite number.")
        return OutOfRange(
            f"features of up to {np.abs(x).max():.3g} are too large: with ridge={self.ridge:g} what is learnt from a "
            f"length beyond {math.sqrt(self._limit):.3g} is mostly rounding. Scale them to about 1. Nothing was learnt."
        )

    def _earned(self, reward: Any) -> float:
        """Return a reward as a plain number."""
        earned = number(reward, "reward")
        if abs(earned) >= HUGE:
            raise OutOfRange(f"reward={earned!r} is too large to be added up. Nothing was learnt.")
        return earned


@cache
def machine_code() -> Any:
    """Return the inner loops in machine code, compiled when first asked for; None without a Numba that works."""
    try:
        from plaudit.learn import compiled
    except ImportError:  # it is not there, or not made for this NumPy
        return None
    return compiled if compiled.COMPILES else None


def _plain(values: Any) -> Numbers:
    """Return numbers as an array of doubles; a text, a flag or a complex number is none."""
    if values is None:
        return np.empty(0)
    try:
        array = np.array(values)
    except ValueError:  # rows of different lengths
        raise _no_numbers(values) from None
    if array.dtype.kind not in "fiu":
        raise _no_numbers(values)
    return array.astype(np.float64, copy=False)


def _no_numbers(values: Any) -> WrongType:
    return WrongType(f"features {values!r:.60} are not a list of numbers.")
