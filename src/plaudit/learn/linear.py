"""Bandits with features: a ridge regression per action, and an exploration rule."""

import math
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from plaudit.errors import DefinitionError, InputError, NotFinite, OutOfRange, ShapeMismatch, WrongType
from plaudit.learn import ridge as regression
from plaudit.learn.decision import Decision
from plaudit.learn.draws import MASK, draw_uniform, parse_key
from plaudit.learn.explore import Explore, Sampling, pick_action
from plaudit.learn.ridge import BELOW, HUGE, Numbers, RidgeState
from plaudit.learn.validate import parse_number, unknown_action, validate_actions, validate_names, validate_number


@dataclass(frozen=True)
class LinearBandit:
    """A bandit with features. Its methods are pure functions over a state.

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
    """Weight of the uncertainty bonus."""
    intercept: bool = True
    """Whether each regression has a constant: the reward where all features are 0."""

    def __post_init__(self) -> None:
        """Refuse actions, features and numbers that make no bandit."""
        validate_actions(self.actions, self.explore)
        validate_names("features", self.features)
        if not self.features:
            raise DefinitionError("a linear bandit needs features; epsilon_greedy, ucb1 and thompson need none.")
        validate_number("ridge", self.ridge, above=0.0)
        validate_number("alpha", self.alpha)
        if self.intercept and self._limit < 2.0:
            raise DefinitionError(
                f"ridge={self.ridge!r} is too small for an intercept, which counts as a feature of 1. Give ridge=1e-9 "
                "or more, or intercept=False."
            )

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: what is worked out on the way is worked out there again."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled; before there were intercepts, that was without one."""
        vars(self).update({"intercept": False} | state)

    def init(self) -> RidgeState:
        """Return the initial state, and compile what is to be compiled.

        Returns:
            A state in which nothing has been learned.
        """
        _ = self._compiled
        return regression.init(len(self.actions), self.width, self.ridge)

    def choose(self, state: RidgeState, key: int, context: Any = None) -> Decision:
        """Choose an action for these features.

        The key is mixed with the number of decisions in the state, so one seed is enough for a run that learns after
        each decision. If rewards come late, give each decision its own key.

        Args:
            state: What is known so far.
            key: The random seed; the same state, key and features give the same decision.
            context: The features, in the order of `features`.

        Returns:
            The decision, with the exact probability of its action where it is known.

        Raises:
            InputError: The features are not those of the learner, or the state belongs to another one.
        """
        if type(state) is not RidgeState or state.table.shape != self._table:
            raise self._foreign_state()
        if type(key) is not int:
            key = parse_key(key)
        x = self._parse_vector(context)
        row = self._add_constant(x)
        explore, decisions = self.explore, state.decisions
        if isinstance(explore, Sampling):
            self._check_length(x)
            at, likelihood = explore.choose(*self._compute_beliefs(state, row, explore), key, decisions)
            return Decision(self.actions[at], likelihood, None, tuple(x.tolist()), decisions)
        if self._compiled is None:
            self._check_length(x)
            amount = explore.amount(decisions)
            likely = explore.probabilities(self._compute_scores(state, row), decisions)
            at = pick_action(likely, draw_uniform(key, decisions))
        else:
            array = np.empty(len(self.actions))
            at, amount = self._compiled.decide(state.table, row, key & MASK, decisions, *self._numbers, array)
            if at < 0:
                raise self._bad_features(x)
            likely = array.tolist()
        epsilon = None if explore.inverse_gap else amount
        # What Decision(…) would make, without its detour through Python, which takes a tenth of the time of all this.
        parts = (self.actions[at], likely[at], tuple(likely), tuple(x.tolist()), decisions, epsilon, None)
        return tuple.__new__(Decision, parts)

    def update(self, state: RidgeState, decision: Decision, reward: float, *, again: bool = False) -> RidgeState:
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
        at = self._positions.get(decision.action, -1)
        if at < 0:
            raise unknown_action(decision.action, self.actions)
        if type(state) is not RidgeState or state.table.shape != self._table:
            raise self._foreign_state()
        table, x = state.table.copy(), self._parse_vector(decision.context)
        earned = reward if type(reward) is float and -HUGE < reward < HUGE else self._parse_reward(reward)
        if self._compiled is None:
            self._check_length(x)
            sound = regression.learn(table, at, self._add_constant(x), earned)
        else:
            sound = self._compiled.learn(table, at, self._add_constant(x), earned, self._limit)
        if not sound:
            raise self._bad_features(x)
        return tuple.__new__(RidgeState, (table, state.decisions + (not again)))

    def probabilities(self, state: RidgeState, contexts: Any) -> Numbers:
        """Compute the policy of this state.

        Args:
            state: What is known so far.
            contexts: One row of features per decision.

        Returns:
            The probability of each action, one row per decision.

        Raises:
            InputError: A row does not have the learner's features.
        """
        if type(state) is not RidgeState or state.table.shape != self._table:
            raise self._foreign_state()
        rows, explore, decisions = self._parse_rows(contexts), self.explore, state.decisions
        if isinstance(explore, Sampling):
            chances = [explore.probabilities(*self._compute_beliefs(state, row, explore)) for row in rows]
            return np.array(chances).reshape(len(rows), -1)
        if self._compiled is not None:
            likely = np.empty((len(rows), len(self.actions)))
            self._compiled.weigh_rows(state.table, rows, decisions, *self._numbers[1:], likely)
            return likely
        scores = rows @ state.weights.T
        if self.alpha:
            spread = np.stack([np.einsum("nd,nd->n", rows @ inverse, rows) for inverse in state.inverse], axis=1)
            scores += self.alpha * np.sqrt(np.maximum(spread, 0.0))
        return explore.policy(scores, decisions)

    def parse_context(self, context: Any) -> Numbers:
        """Validate the features of one decision; InputError if they are not those of the learner.

        Args:
            context: The features.

        Returns:
            The features as an array.
        """
        x = self._parse_vector(context)
        self._check_length(x)
        return x

    def build_row(self, context: Any) -> Numbers:
        """Build the input of the regressions: the features of one decision, and a 1 for the intercept.

        Args:
            context: The features.

        Returns:
            The row.
        """
        return self._add_constant(self.parse_context(context))

    @cached_property
    def width(self) -> int:
        """The number of coefficients of a regression."""
        return len(self.features) + self.intercept

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
        return regression.find_limit(self.ridge)

    @cached_property
    def _row(self) -> tuple[int]:
        return (len(self.features),)

    @cached_property
    def _table(self) -> tuple[int, int, int]:
        """The shape of a state's table. Machine code does not look where its arrays end, so no other goes there."""
        return len(self.actions), self.width + BELOW, self.width

    @cached_property
    def _compiled(self) -> Any:
        return load_machine_code()

    def _foreign_state(self) -> ShapeMismatch:
        parts = f"{len(self.actions)} actions, {len(self.features)} features"
        also = "an intercept" if self.intercept else "no intercept"
        return ShapeMismatch(f"the state is not that of a bandit with {parts} and {also}.")

    def _compute_scores(self, state: RidgeState, x: Numbers) -> list[float]:
        scores = state.weights.dot(x)
        if self.alpha:
            scores += self.alpha * regression.compute_widths(state, x)
        found: list[float] = scores.tolist()
        return found

    def _compute_beliefs(self, state: RidgeState, x: Numbers, sampling: Sampling) -> tuple[list[float], list[float]]:
        """Return the mean of what each action may be worth here, and its standard deviation."""
        deviations = sampling.scale * np.maximum(regression.compute_widths(state, x), 1e-12)
        return state.weights.dot(x).tolist(), deviations.tolist()

    def _parse_vector(self, context: Any) -> Numbers:
        """Return the features of one decision as an array; how large they are is not looked at yet."""
        try:
            x = np.array(context)
        except ValueError:
            raise _not_numbers(context) from None
        if x.shape == self._row and x.dtype.char == "d":
            return x
        x = _to_array(context)
        if x.shape != self._row:
            had = "none were" if context is None else f"an array of shape {x.shape} was"
            raise ShapeMismatch(f"the learner reads {len(self.features)} features, but {had} given.")
        return x

    def _add_constant(self, x: Numbers) -> Numbers:
        if not self.intercept:
            return x
        row = np.empty(self.width)
        row[:-1] = x
        row[-1] = 1.0
        return row

    def _parse_rows(self, contexts: Any) -> Numbers:
        rows = np.ascontiguousarray(_to_array(contexts))
        if rows.ndim != 2 or rows.shape[1] != len(self.features):
            raise ShapeMismatch(f"the learner reads {len(self.features)} features a row, not an array {rows.shape}.")
        bad = np.flatnonzero(~(np.abs(rows).max(axis=1) <= math.sqrt(self._limit)))
        if len(bad):
            error = self._bad_features(rows[bad[0]])
            raise type(error)(f"row {bad[0]}: {error}")
        return np.column_stack([rows, np.ones(len(rows))]) if self.intercept else rows

    def _check_length(self, x: Numbers) -> None:
        if not regression.sum_of_squares(x) + self.intercept <= self._limit:
            raise self._bad_features(x)

    def _bad_features(self, x: Numbers) -> InputError:
        """Return the error for features that are not finite, or far too large."""
        for name, value in zip(self.features, x.tolist(), strict=True):
            if not math.isfinite(value):
                return NotFinite(f"feature {name!r} is {value!r}, which is not a finite number.")
        return OutOfRange(
            f"features of up to {np.abs(x).max():.3g} are too large: with ridge={self.ridge:g}, updates from "
            "features of a "
            f"length beyond {math.sqrt(self._limit):.3g} are mostly rounding error. Scale them to about 1. Nothing "
            "was learned."
        )

    def _parse_reward(self, reward: Any) -> float:
        earned = parse_number(reward, "reward")
        if abs(earned) >= HUGE:
            raise OutOfRange(f"reward={earned!r} is too large to add up. Nothing was learned.")
        return earned


@cache
def load_machine_code() -> Any:
    """Return the inner loops in machine code, compiled when first asked for; None without a Numba that works."""
    try:
        from plaudit.learn import numba as compiled
    except ImportError:  # it is not there, or not made for this NumPy
        return None
    return compiled if compiled.COMPILES else None


def _to_array(values: Any) -> Numbers:
    """Return numbers as an array of doubles; a string, a bool or a complex number is refused."""
    if values is None:
        return np.empty(0)
    try:
        array = np.array(values)
    except ValueError:  # rows of different lengths
        raise _not_numbers(values) from None
    if array.dtype.kind not in "fiu":
        raise _not_numbers(values)
    return array.astype(np.float64, copy=False)


def _not_numbers(values: Any) -> WrongType:
    return WrongType(f"features {values!r:.60} are not a list of numbers.")
