"""Ridge regressions learnt a row at a time, one for each action or candidate: pure functions over a state."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import OutOfRange

Numbers = NDArray[np.float64]

LARGEST = 1e13
"""How many times a single row may change what is known in its direction: beyond it doubles have no digits left."""
HUGE = 1e100
"""What no sum of features and no reward may reach: beyond it products overflow."""
BELOW = 3
"""Rows of a model's table below the inverse: the moment, the weights, and one whose first number counts rows learnt."""


class RidgeState(NamedTuple):
    """What is known of several models, and how many decisions that took.

    `table` holds all of it in one array, so that a step copies one thing: for each model the inverse of its regularised
    moment matrix, the moment with the rewards, the weights that follow from the two, and how many rows it has learnt.
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
        """How many rows each model has learnt."""
        return tuple(int(count) for count in self.table[:, -1, 0].tolist())


def init(models: int, dimension: int, ridge: float) -> RidgeState:
    """Return the state in which nothing is known.

    >>> init(2, 3, 0.5).inverse[0].diagonal().tolist()
    [2.0, 2.0, 2.0]
    """
    table = np.zeros((models, dimension + BELOW, dimension))
    table[:, :dimension] = np.eye(dimension) / ridge
    return RidgeState(table, 0)


def bounded(x: Numbers) -> bool:
    """Return whether features are finite and small enough to be multiplied."""
    return bool(sum(map(abs, x.tolist())) <= HUGE)


def learn(table: Numbers, model: int, x: Numbers, reward: float) -> bool:
    """Learn one more row of a model, by Sherman and Morrison's formula: the table is changed, and is it still sound?

    Features are bounded, and the reward is not huge.
    """
    part = table[model]
    inverse, moment = part[:-BELOW], part[-3]
    step = inverse.dot(x)
    scale = 1.0 + x.dot(step).item()
    inverse -= np.multiply.outer(step, step / scale)
    moment += reward * x
    part[-2] = inverse.dot(moment)
    part[-1, 0] += 1.0
    return bool(1.0 <= scale <= LARGEST)


def update(state: RidgeState, model: int, x: Numbers, reward: float, *, again: bool = False) -> RidgeState:
    """Return what is known after one more row: features `x`, which are finite, and the reward they came with.

    `again` says that the row belongs to a decision that was counted before.

    >>> state = update(init(1, 1, 1.0), 0, np.array([1.0]), 3.0)
    >>> state.weights.item(), state.pulls, state.decisions
    (1.5, (1,), 1)
    """
    if not (bounded(x) and abs(reward) <= HUGE):
        raise too_large(x, reward)
    table = state.table.copy()
    if not learn(table, model, x, reward):
        raise too_large(x, reward)
    return RidgeState(table, state.decisions + (not again))


def widths(state: RidgeState, x: Numbers) -> Numbers:
    """Return how uncertain each model is about `x`: the root of x' A⁻¹ x."""
    spread: Numbers = (state.inverse @ x) @ x
    return np.sqrt(np.maximum(spread, 0.0))


def too_large(x: Numbers, reward: float) -> OutOfRange:
    """Return the error for a row that doubles cannot hold together with what is known."""
    return OutOfRange(
        f"features of up to {np.abs(x).max():.3g} with a reward of {reward:.3g} go beyond what doubles can hold: "
        "scale features to about 1. Nothing was learnt."
    )
