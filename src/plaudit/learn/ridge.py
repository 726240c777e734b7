"""Ridge regressions updated one row at a time, one per action: pure functions over a state."""

from operator import mul
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

CLEAR = 1e10
"""How many times a row may outweigh what was known in its direction: beyond it, rounding shows in what is learnt."""
HUGE = 1e100
"""What no reward may reach: beyond it products overflow."""
BELOW = 3
"""Rows of a model's table below the inverse: the moment, the weights, and one whose first number counts rows learnt."""


class RidgeState(NamedTuple):
    """The ridge regressions of several models, and the number of decisions: the state of a bandit with features.

    `table` holds everything in one array, so a step copies one thing: for each model the inverse of its regularized
    moment matrix, the moment with the rewards, the resulting weights, and the number of rows it has learned.

    >>> from plaudit.learn import Decision, linucb
    >>> bandit = linucb(("small", "large"), ("difficulty",), intercept=False)
    >>> state = bandit.update(bandit.init(), Decision("small", 0.5, None, (1.0,), 0), 0.8)
    >>> state.pulls, state.weights.tolist()
    ((1, 0), [[0.4], [0.0]])
    """

    table: Numbers
    decisions: int

    @property
    def inverse(self) -> Numbers:
        """The inverse matrices, one for each model."""
        return self.table[:, :-BELOW]

    @property
    def moment(self) -> Numbers:
        """The sums of features times reward, one row for each model."""
        return self.table[:, -3]

    @property
    def weights(self) -> Numbers:
        """The coefficients, one row for each model."""
        return self.table[:, -2]

    @property
    def pulls(self) -> tuple[int, ...]:
        """How many rows each model has learned."""
        return tuple(int(count) for count in self.table[:, -1, 0].tolist())


def init(models: int, dimension: int, ridge: float) -> RidgeState:
    """Return the state in which nothing is known.

    >>> init(2, 3, 0.5).inverse[0].diagonal().tolist()
    [2.0, 2.0, 2.0]
    """
    table = np.zeros((models, dimension + BELOW, dimension))
    table[:, :dimension] = np.eye(dimension) / ridge
    return RidgeState(table, 0)


def find_limit(ridge: float) -> float:
    """Return the largest sum of squares that features may have, so that no row outweighs what was known too much."""
    return CLEAR * ridge


def sum_of_squares(x: Numbers) -> float:
    """Return the sum of squares of features; NaN or infinite where one of them is."""
    values = x.tolist()
    return float(sum(map(mul, values, values)))


def learn(table: Numbers, model: int, x: Numbers, reward: float) -> bool:
    """Learn one more row of a model, by Sherman and Morrison's formula: the table is changed, and is it still sound?

    Features are within the limit, and the reward is not huge.
    """
    part = table[model]
    inverse, moment = part[:-BELOW], part[-3]
    step = inverse.dot(x)
    scale = 1.0 + x.dot(step).item()
    inverse -= np.multiply.outer(step, step / scale)
    moment += reward * x
    part[-2] = inverse.dot(moment)
    part[-1, 0] += 1.0
    return bool(scale >= 1.0)


def compute_widths(state: RidgeState, x: Numbers) -> Numbers:
    """Return how uncertain each model is about `x`: the root of x' A⁻¹ x."""
    spread: Numbers = (state.inverse @ x) @ x
    return np.sqrt(np.maximum(spread, 0.0))
