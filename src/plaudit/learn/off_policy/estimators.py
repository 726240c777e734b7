"""Estimates of what a policy would have earned, from decisions that another one made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plaudit.learn.off_policy.log import Codes, LoggedDecisions
from plaudit.learn.off_policy.model import Predictions, predicted

Numbers = NDArray[np.float64]

SWITCH = 10.0
"""Beyond this weight the estimator `switch` trusts the regression alone."""


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
        return predicted(self.log, self.likely, self.units, self.seed)

    @cached_property
    def effective(self) -> float:
        """How many decisions of the policy the log is worth (Kish): as many if all weights are the same, else fewer."""
        squares = float(np.einsum("n,n", self.weights, self.weights))
        return float(self.weights.sum()) ** 2 / squares if squares else 0.0


def logged(case: Case) -> Ratio:
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
    return _corrected(case, case.weights)


def _switch(case: Case) -> Ratio:
    return _corrected(case, np.where(case.weights <= SWITCH, case.weights, 0.0))


def _corrected(case: Case, weights: Numbers) -> Ratio:
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
