"""Whether the logged probabilities can be those that actions were chosen with: what their weights tell."""

import math
from typing import NamedTuple

import numpy as np

from plaudit.learn.off_policy.estimators import Case, iterate_rows
from plaudit.learn.ridge import Numbers

FAR = 4.0
"""Standard errors by which a mean misses what it must be only if something is wrong."""
_ROUNDING = 1e-6
"""By how much weights that are all the same may miss their mean."""


class _Balance(NamedTuple):
    """How far weights are from keeping the mean of a 1 and of each feature, in standard deviations of that."""

    misses: Numbers
    errors: Numbers


def find_failed_test(case: Case) -> str | None:
    """Return which test the logged probabilities fail, in a sentence, or None.

    In every context weights average 1 if actions were chosen with the logged probabilities and could all be chosen. So
    they average 1 over the log, and weighting changes the mean of no feature but by chance. Decisions need not be
    independent: what a weight misses 1 by cannot be foreseen from those before.
    """
    balance = _measure_balance(case)
    far = math.sqrt(FAR**2 + 2.0 * math.log(len(balance.misses)))  # one of many misses by more than one alone
    beyond = np.abs(balance.misses) - np.maximum(far * balance.errors, _ROUNDING)
    worst = int(beyond.argmax())
    if beyond[0] > 0:
        found = f"the weights average {case.weights.mean():.3f} instead of 1"
    elif beyond[worst] > 0:
        by = f"{balance.misses[worst]:+.3f} standard deviations"
        found = f"weighting shifts the mean of feature {worst - 1} by {by} and should not shift it"
    else:
        return None
    return (
        f"{found}: the logged probabilities are not the ones actions were chosen with, or the policy takes "
        "actions that could not be chosen."
    )


def _measure_balance(case: Case) -> _Balance:
    log, excess = case.log, case.weights - 1.0
    mean = np.empty(0) if log.contexts is None else log.contexts.mean(axis=0)
    sums, squares, spread = (np.zeros(log.features + 1) for _ in range(3))
    for where, rows in iterate_rows(log, mean):
        sums += excess[where] @ rows
        rows *= rows
        spread += rows.sum(axis=0)
        squares += (excess[where] ** 2) @ rows
    scale = np.where(spread > 0, np.sqrt(spread / len(log)), 1.0)
    misses = sums / len(log) / scale
    variances = np.maximum(squares / len(log) / scale**2 - misses**2, 0.0)
    return _Balance(misses, np.sqrt(variances / len(log)))
