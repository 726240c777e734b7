"""What an event of drift should cost: a bounded least-squares fit of the penalty for one event to outcomes."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import DefinitionError, NotEvaluable, OutOfRange
from plaudit.learn.decision import numbers
from plaudit.learn.quantiles import two_sided

Numbers = NDArray[np.float64]


class PerEvent(NamedTuple):
    """The penalty for one event that fits best, and which others fit nearly as well."""

    value: float
    low: float
    high: float
    """The ends of the interval of `level`, within the bounds."""
    level: float
    records: int
    at_bound: bool
    """Whether a bound stopped it: without the bound another value would have fitted better."""


class _Piece(NamedTuple):
    """Between two penalties the sum of squares is a parabola: `square`·p² + 2·`cross`·p + `constant`."""

    start: float
    end: float
    square: float
    cross: float
    constant: float

    def __call__(self, penalty: float) -> float:
        return (self.square * penalty + 2 * self.cross) * penalty + self.constant

    def best(self) -> float:
        """Return the penalty between the ends that fits best."""
        free = -self.cross / self.square if self.square > 0 else self.start
        return min(max(free, self.start), self.end)

    def below(self, limit: float) -> list[float]:
        """Return the first and the last penalty of the piece whose sum of squares is at most `limit`, if any is."""
        if self.square <= 0:
            return [self.start, self.end] if self(self.start) <= limit else []
        middle = -self.cross / self.square
        depth = (limit - self(middle)) / self.square
        if depth < 0:
            return []
        ends = max(self.start, middle - math.sqrt(depth)), min(self.end, middle + math.sqrt(depth))
        return list(ends) if ends[0] <= ends[1] else []


def fit_per_event(
    events: Sequence[float] | Any,
    outcomes: Sequence[float] | Any,
    *,
    weight: float = 0.1,
    cap: float = 0.4,
    bounds: tuple[float, float] = (0.0, 0.4),
    level: float = 0.95,
) -> PerEvent:
    """Return the penalty for an event with which the reward says best what events cost in outcomes.

    `outcomes` are in units of the reward, such as what the next phase gained. The fit is of outcome = constant −
    `weight` · min(`cap`, penalty · events), by least squares, for penalties within `bounds`; it is exact, not iterated.
    The interval holds every penalty that fits no worse than chance explains at the `level`, for normal errors.

    >>> round(fit_per_event([0, 1, 2, 3], [0.2, 0.18, 0.16, 0.16]).value, 6)
    0.2
    """
    n = np.asarray(numbers(events, "events"))
    y = np.asarray(numbers(outcomes, "outcomes", len(n)))
    _check(n, weight, cap, bounds, level)
    pieces = list(_pieces(n, y, weight, cap, bounds))
    best = min(pieces, key=lambda piece: piece(piece.best()))
    value = best.best()
    least = max(0.0, best(value))
    width = two_sided(level, len(n) - 2)
    limit = least * (1 + width * width / (len(n) - 2)) + 1e-12 * float(y @ y)
    ends = [end for piece in pieces for end in piece.below(limit)] or [value]
    slope = 2 * (best.square * value + best.cross)
    stopped = (value == bounds[0] and slope > 0) or (value == bounds[1] and slope < 0)
    return PerEvent(value, min(*ends, value), max(*ends, value), level, len(n), stopped)


def _check(n: Numbers, weight: float, cap: float, bounds: tuple[float, float], level: float) -> None:
    for name, number in (("weight", weight), ("cap", cap)):
        if not (math.isfinite(number) and number > 0):
            raise DefinitionError(f"{name}={number!r} must be a finite number above 0.")
    if not 0 <= bounds[0] < bounds[1] < math.inf:
        raise DefinitionError(f"bounds={bounds!r} must be two finite numbers from 0 up, the smaller first.")
    if not 0 < level < 1:
        raise DefinitionError(f"level={level!r} must lie between 0 and 1.")
    if (n < 0).any():
        raise OutOfRange(f"events[{int(np.argmax(n < 0))}]={n.min()!r} is below 0.")
    if len(n) < 3:
        raise NotEvaluable(f"{len(n)} outcomes tell no penalty: there must be three at least.")
    if n.min() == n.max():
        raise NotEvaluable(f"every outcome had {n.min():g} events, so nothing says what another one would cost.")


def _pieces(n: Numbers, y: Numbers, weight: float, cap: float, bounds: tuple[float, float]) -> Iterator[_Piece]:
    """Yield the sum of squares over the penalty, cut where a number of events reaches the cap."""
    reached = {cap / count for count in np.unique(n[n > 0]).tolist()}
    cuts = sorted({*bounds, *(cut for cut in reached if bounds[0] < cut < bounds[1])})
    for start, end in pairwise(cuts):
        free = n * ((start + end) / 2) < cap
        fixed = y + np.where(free, 0.0, weight * cap)
        moving = np.where(free, weight * n, 0.0)
        fixed, moving = fixed - fixed.mean(), moving - moving.mean()
        yield _Piece(start, end, float(moving @ moving), float(fixed @ moving), float(fixed @ fixed))
