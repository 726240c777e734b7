"""What each action would have earned, by regression: fitted to some decisions, asked about the others."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.learn.off_policy.log import Codes, LoggedDecisions

Numbers = NDArray[np.float64]

FOLDS = 5
_RIDGE = 1.0
"""How much regressions are held back, on features of standard deviation 1: as much as one decision says."""
_TOGETHER = 2048
"""Decisions to work on together: few enough to stay in a processor's cache, and for BLAS not to call other threads."""


class Predictions(NamedTuple):
    """What regressions say of each decision that they were not fitted to."""

    taken: Numbers
    """The reward of the action that was taken."""
    expected: Numbers
    """The mean reward of the actions that the policy would have taken."""
    noise: Numbers
    """How much each decision moved the regressions' answer for the policy: what makes that answer uncertain."""


class _Sums(NamedTuple):
    """Sums over the decisions of each fold and action, of rows that are a 1 and the features."""

    squares: Numbers
    """(F, K, d, d): of rows with rows."""
    products: Numbers
    """(F, K, d): of rows with rewards."""
    asked: Numbers
    """(K, d): of all rows, by how likely the policy makes each action there."""

    @property
    def spread(self) -> Numbers:
        """The standard deviation of each part of a row; 1 where it never varies."""
        squares = np.einsum("fkdd->d", self.squares)
        found: Numbers = np.where(squares > 0, np.sqrt(squares / squares[0]), 1.0)
        return found


def predicted(log: LoggedDecisions, likely: Numbers, units: Codes | None, seed: int) -> Predictions:
    """Return predictions for a policy that takes actions as `likely` says; decisions of one unit stay together.

    There is a ridge regression for each action. Decisions are dealt into folds, and those of one fold are predicted by
    the others, so that no reward is predicted from itself.
    """
    folds = _folds(len(log), units, seed)
    mean = np.empty(0) if log.contexts is None else log.contexts.mean(axis=0)
    sums = _sums(log, mean, likely, folds)
    weights, leverage = _fitted(sums), _leverage(sums)
    actions, width = leverage.shape
    made = Predictions(*(np.empty(len(log)) for _ in Predictions._fields))
    for where, rows in _parts(log, mean):
        each, chosen = np.arange(len(rows)), log.chosen[where]
        answers = (rows @ weights.reshape(-1, width).T).reshape(-1, FOLDS, actions)[each, folds[where]]
        made.expected[where] = np.einsum("na,na->n", answers, likely[where])
        taken = made.taken[where] = answers[each, chosen]
        made.noise[where] = (rows @ leverage.T)[each, chosen] * (log.rewards[where] - taken)
    return made


def _folds(count: int, units: Codes | None, seed: int) -> Codes:
    """Return the fold of each decision, drawn by the unit."""
    size = count if units is None else int(units.max()) + 1
    dealt = np.random.default_rng(seed).permutation(size) % FOLDS
    return dealt if units is None else dealt[units]


def _parts(log: LoggedDecisions, mean: Numbers) -> Iterator[tuple[slice, Numbers]]:
    """Yield a few decisions at a time: where they are, and a row for each, a 1 and its features less their mean."""
    for start in range(0, len(log), _TOGETHER):
        where = slice(start, min(start + _TOGETHER, len(log)))
        rows = np.ones((where.stop - start, log.features + 1))
        if log.contexts is not None:
            np.subtract(log.contexts[where], mean, out=rows[:, 1:])
        yield where, rows


def _sums(log: LoggedDecisions, mean: Numbers, likely: Numbers, folds: Codes) -> _Sums:
    actions, width = len(log.actions), log.features + 1
    count = FOLDS * actions
    small = np.min_scalar_type(count)  # whose sorting is a count of how many there are of each
    squares, products, asked = np.zeros((count, width, width)), np.zeros((count, width)), np.zeros((actions, width))
    for where, rows in _parts(log, mean):
        asked += likely[where].T @ rows
        cells = folds[where] * actions + log.chosen[where]
        order = np.argsort(cells.astype(small), kind="stable")
        edges = np.searchsorted(cells[order], np.arange(count + 1)).tolist()
        rows, rewards = rows[order], log.rewards[where][order]
        for cell, (start, end) in enumerate(pairwise(edges)):
            if start < end:
                own = rows[start:end]
                squares[cell] += own.T @ own
                products[cell] += own.T @ rewards[start:end]
    shape = (FOLDS, actions, width)
    return _Sums(squares.reshape(*shape, width), products.reshape(shape), asked)


def _fitted(sums: _Sums) -> Numbers:
    """Return the regression of each action from all folds but one; one without decisions predicts the mean reward."""
    squares = sums.squares.sum(axis=0) - sums.squares
    products = sums.products.sum(axis=0) - sums.products
    means = products[..., 0].sum(axis=1) / np.maximum(squares[..., 0, 0].sum(axis=1), 1.0)
    weights = _solved(squares, products - means[:, None, None] * squares[..., 0], sums.spread)
    weights[..., 0] += means[:, None]
    return weights


def _leverage(sums: _Sums) -> Numbers:
    """Return, for each action, how much a row moves its regression and thereby the policy's answer."""
    return _solved(sums.squares.sum(axis=0), sums.asked, sums.spread)


def _solved(squares: Numbers, products: Numbers, spread: Numbers) -> Numbers:
    """Return ridge regressions, held back as if every part of a row had the standard deviation 1."""
    held_back = squares / np.outer(spread, spread) + _RIDGE * np.eye(len(spread))
    found: Numbers = np.linalg.solve(held_back, (products / spread)[..., None])[..., 0] / spread
    return found
