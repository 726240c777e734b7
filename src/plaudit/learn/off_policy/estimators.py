"""Estimates of what a policy would have earned from decisions of another one, and the regressions behind them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from plaudit.learn.off_policy.log import Codes, LoggedDecisions
from plaudit.learn.ridge import Numbers

SWITCH = 10.0
"""Beyond this weight the estimator `switch` trusts the regression alone."""
FOLDS = 5
_RIDGE = 1.0
"""How much regressions are held back, on features of standard deviation 1: as much as one decision says."""
_TOGETHER = 2048
"""Decisions to work on together: few enough to stay in a processor's cache, and for BLAS not to call other threads."""


@dataclass(frozen=True, eq=False)
class Ratio:
    """An estimate as one sum over decisions, divided by another, or by their number."""

    above: Numbers
    below: Numbers | None = None

    @cached_property
    def value(self) -> float:
        """The estimate."""
        return float(self.above.mean() if self.below is None else self.above.sum() / self.below.sum())

    @cached_property
    def influence(self) -> Numbers:
        """How much each decision moves the estimate; the mean is 0."""
        if self.below is None:
            return self.above - self.value
        found: Numbers = (self.above - self.value * self.below) / self.below.mean()
        return found

    @property
    def sides(self) -> tuple[Numbers, Numbers]:
        """What is summed above and below."""
        return self.above, np.ones(len(self.above)) if self.below is None else self.below


class Predictions(NamedTuple):
    """What regressions say of each decision that they were not fitted to."""

    taken: Numbers
    """The reward of the action that was taken."""
    expected: Numbers
    """The mean reward of the actions that the policy would have taken."""
    noise: Numbers
    """How much each decision moved the regressions' answer for the policy: what makes that answer uncertain."""


@dataclass(frozen=True, eq=False)
class Case:
    """A log, and how likely a policy makes the actions in it."""

    log: LoggedDecisions
    likely: Numbers
    """(n, K): how likely the policy makes each action."""
    units: Codes | None = None
    """What belongs together (an episode) and is drawn as one; None where every decision is drawn by itself."""
    seed: int = 0

    @cached_property
    def weights(self) -> Numbers:
        """How many decisions of the policy each logged one stands for."""
        taken: Numbers = self.likely[np.arange(len(self.log)), self.log.chosen] / self.log.probabilities
        return taken

    @cached_property
    def model(self) -> Predictions:
        """What regressions say of each decision."""
        return predict_rewards(self.log, self.likely, self.units, self.seed)

    @cached_property
    def effective(self) -> float:
        """How many decisions of the policy the log is worth (Kish): as many if all weights are the same, else fewer."""
        squares = float(np.einsum("n,n", self.weights, self.weights))
        return float(self.weights.sum()) ** 2 / squares if squares else 0.0


def logged_mean(case: Case) -> Ratio:
    """Return what was earned."""
    return Ratio(case.log.rewards)


def _ips(case: Case) -> Ratio:
    return Ratio(case.weights * case.log.rewards)


def _snips(case: Case) -> Ratio:
    return Ratio(case.weights * case.log.rewards, case.weights)


def _dm(case: Case) -> Ratio:
    noise = case.model.noise - case.model.noise.mean()  # the regressions are what is uncertain about it
    return Ratio(case.model.expected + noise)


def _dr(case: Case) -> Ratio:
    return _correct(case, case.weights)


def _switch(case: Case) -> Ratio:
    return _correct(case, np.where(case.weights <= SWITCH, case.weights, 0.0))


def _correct(case: Case, weights: Numbers) -> Ratio:
    missed = case.log.rewards - case.model.taken
    return Ratio(case.model.expected + weights * missed)


ESTIMATORS: Mapping[str, Callable[[Case], Ratio]] = {
    "ips": _ips,
    "snips": _snips,
    "dm": _dm,
    "dr": _dr,
    "switch": _switch,
}
"""By name: inverse propensity scores, the same self-normalised, the regression alone ("direct method"), the regression
corrected by weighted errors ("doubly robust"), and that without the largest weights ("switch")."""


def predict_rewards(log: LoggedDecisions, likely: Numbers, units: Codes | None, seed: int) -> Predictions:
    """Return predictions for a policy that takes actions as `likely` says; decisions of one unit stay together.

    There is a ridge regression for each action. Decisions are dealt into folds, and those of one fold are predicted by
    the others, so that no reward is predicted from itself.
    """
    folds = _deal_folds(len(log), units, seed)
    mean = np.empty(0) if log.contexts is None else log.contexts.mean(axis=0)
    sums = _sum_up(log, mean, likely, folds)
    weights, leverage = _fit(sums), _compute_leverage(sums)
    actions, width = leverage.shape
    made = Predictions(*(np.empty(len(log)) for _ in Predictions._fields))
    for where, rows in iterate_rows(log, mean):
        each, chosen = np.arange(len(rows)), log.chosen[where]
        answers = (rows @ weights.reshape(-1, width).T).reshape(-1, FOLDS, actions)[each, folds[where]]
        made.expected[where] = np.einsum("na,na->n", answers, likely[where])
        taken = made.taken[where] = answers[each, chosen]
        made.noise[where] = (rows @ leverage.T)[each, chosen] * (log.rewards[where] - taken)
    return made


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


def _deal_folds(count: int, units: Codes | None, seed: int) -> Codes:
    """Return the fold of each decision, drawn by the unit."""
    size = count if units is None else int(units.max()) + 1
    dealt = np.random.default_rng(seed).permutation(size) % FOLDS
    return dealt if units is None else dealt[units]


def iterate_rows(log: LoggedDecisions, mean: Numbers) -> Iterator[tuple[slice, Numbers]]:
    """Yield a few decisions at a time: where they are, and a row for each, a 1 and its features less their mean."""
    for start in range(0, len(log), _TOGETHER):
        where = slice(start, min(start + _TOGETHER, len(log)))
        rows = np.ones((where.stop - start, log.features + 1))
        if log.contexts is not None:
            np.subtract(log.contexts[where], mean, out=rows[:, 1:])
        yield where, rows


def _sum_up(log: LoggedDecisions, mean: Numbers, likely: Numbers, folds: Codes) -> _Sums:
    actions, width = len(log.actions), log.features + 1
    count = FOLDS * actions
    small = np.min_scalar_type(count)  # whose sorting is a count of how many there are of each
    squares, products, asked = np.zeros((count, width, width)), np.zeros((count, width)), np.zeros((actions, width))
    for where, rows in iterate_rows(log, mean):
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


def _fit(sums: _Sums) -> Numbers:
    """Return the regression of each action from all folds but one; one without decisions predicts the mean reward."""
    squares = sums.squares.sum(axis=0) - sums.squares
    products = sums.products.sum(axis=0) - sums.products
    means = products[..., 0].sum(axis=1) / np.maximum(squares[..., 0, 0].sum(axis=1), 1.0)
    weights = _solve(squares, products - means[:, None, None] * squares[..., 0], sums.spread)
    weights[..., 0] += means[:, None]
    return weights


def _compute_leverage(sums: _Sums) -> Numbers:
    """Return, for each action, how much a row moves its regression and thereby the policy's answer."""
    return _solve(sums.squares.sum(axis=0), sums.asked, sums.spread)


def _solve(squares: Numbers, products: Numbers, spread: Numbers) -> Numbers:
    """Return ridge regressions, held back as if every part of a row had the standard deviation 1."""
    held_back = squares / np.outer(spread, spread) + _RIDGE * np.eye(len(spread))
    found: Numbers = np.linalg.solve(held_back, (products / spread)[..., None])[..., 0] / spread
    return found
