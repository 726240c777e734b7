"""Alignment: which correction brings a drifting mission back, and how much an event of drift should cost."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from plaudit.errors import DefinitionError, NotEvaluable, OutOfRange, ShapeMismatch
from plaudit.language.field import Field
from plaudit.learn.decision import Decision
from plaudit.learn.ridge import Numbers
from plaudit.learn.validate import parse_numbers, unknown_action
from plaudit.quantiles import t_quantile
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal
from plaudit.reward.term import term

ACTIONS = (
    "reanchor_internal",
    "increase_skeptic_weight",
    "switch_deepen_mode_to_evidence",
    "prune_or_park_focus_areas",
    "trigger_user_event_drift_confirmation",
)
"""What can be done about drift, from what disturbs a mission least to what disturbs it most."""

CAPS: Mapping[str, int] = MappingProxyType(
    {
        "increase_skeptic_weight": 5,
        "switch_deepen_mode_to_evidence": 3,
        "prune_or_park_focus_areas": 2,
        "trigger_user_event_drift_confirmation": 1,
    }
)
"""How often a mission may use each; what is not named has no limit."""


def apply_caps(
    decision: Decision,
    used: Mapping[str, int],
    *,
    actions: Sequence[str] = ACTIONS,
    caps: Mapping[str, int] = CAPS,
    otherwise: str = ACTIONS[0],
) -> Decision:
    """Replace a decision for an action that is used up, and adjust the probabilities.

    An action that is used up becomes `otherwise`, which gets all of its probability. If the probabilities of all
    actions are not known, that of `otherwise` is not known either.

    >>> decision = Decision("b", 0.3, (0.5, 0.3, 0.2), None, 0)
    >>> apply_caps(decision, {"b": 1}, actions=("a", "b", "c"), caps={"b": 1}, otherwise="a")[:3]
    ('a', 0.8, (0.8, 0.0, 0.2))
    """
    for name in (decision.action, otherwise, *caps):
        if name not in actions:
            raise unknown_action(name, actions)
    if decision.probabilities is not None and len(decision.probabilities) != len(actions):
        raise ShapeMismatch(
            f"{len(decision.probabilities)} probabilities do not match the actions {', '.join(actions)}."
        )
    if otherwise in caps:
        raise DefinitionError(f"{otherwise!r} replaces actions that are used up, so it cannot have a cap.")
    over = {name for name, cap in caps.items() if used.get(name, 0) >= cap}
    if not over:
        return decision
    action = otherwise if decision.action in over else decision.action
    if decision.probabilities is None:
        likely = None if action == otherwise else decision.probability
        return decision._replace(action=action, probability=likely)
    chances = dict(zip(actions, decision.probabilities, strict=True))
    moved = sum(chances[name] for name in over)
    chances |= dict.fromkeys(over, 0.0)
    chances[otherwise] += moved
    return decision._replace(action=action, probability=chances[action], probabilities=tuple(chances.values()))


@term(kind="goal")
def drift_reduction(drift_before: float, drift_after: float) -> float:
    """Come nearer to what was asked."""
    return drift_before - drift_after


@term(weight=0.5, high=0.0, kind="penalty")
def relevance_loss(relevance_before: float, relevance_after: float) -> float:
    """Lose what bears on the question."""
    return relevance_after - relevance_before


correction = Reward(
    "alignment_correction",
    version="1.0.0",
    terms=[drift_reduction, relevance_loss],
    fields=[
        Field("drift_before", low=0, high=1, doc="How far the mission was from the goal before the correction."),
        Field("drift_after", low=0, high=1, doc="How far the next phase was from the goal."),
        Field("relevance_before", low=-1, high=1, doc="Relevance to the question before the correction."),
        Field("relevance_after", low=-1, high=1, doc="Relevance to the question in the next phase."),
    ],
    low=-1.0,
    high=1.0,
    doc="How a correction changed the course of a mission.",
)
"""A reward for corrections alone, for those who would not credit them with what the whole phase earned."""


class Parts(NamedTuple):
    """What is known before a correction and after the phase that follows it.

    >>> Parts(0.75, 0.25, 0.5, 0.25).signal().total
    0.375
    """

    drift_before: float
    drift_after: float
    relevance_before: float
    relevance_after: float

    def signal(self) -> Signal:
        """Return the reward of the correction by its own formula."""
        return correction.score(**self._asdict())


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
    n = np.asarray(parse_numbers(events, "events"))
    y = np.asarray(parse_numbers(outcomes, "outcomes", len(n)))
    _validate_arguments(n, weight, cap, bounds, level)
    pieces = list(_build_pieces(n, y, weight, cap, bounds))
    best = min(pieces, key=lambda piece: piece(piece.best()))
    value = best.best()
    least = max(0.0, best(value))
    width = t_quantile(level, len(n) - 2)
    limit = least * (1 + width * width / (len(n) - 2)) + 1e-12 * float(y @ y)
    ends = [end for piece in pieces for end in piece.below(limit)] or [value]
    slope = 2 * (best.square * value + best.cross)
    stopped = (value == bounds[0] and slope > 0) or (value == bounds[1] and slope < 0)
    return PerEvent(value, min(*ends, value), max(*ends, value), level, len(n), stopped)


def _validate_arguments(n: Numbers, weight: float, cap: float, bounds: tuple[float, float], level: float) -> None:
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
        raise NotEvaluable(f"{len(n)} outcomes are too few to estimate a penalty; at least three are needed.")
    if n.min() == n.max():
        raise NotEvaluable(f"every outcome had {n.min():g} events, so the cost of one more cannot be estimated.")


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


def _build_pieces(n: Numbers, y: Numbers, weight: float, cap: float, bounds: tuple[float, float]) -> Iterator[_Piece]:
    """Yield the sum of squares over the penalty, cut where a number of events reaches the cap."""
    reached = {cap / count for count in np.unique(n[n > 0]).tolist()}
    cuts = sorted({*bounds, *(cut for cut in reached if bounds[0] < cut < bounds[1])})
    for start, end in pairwise(cuts):
        free = n * ((start + end) / 2) < cap
        fixed = y + np.where(free, 0.0, weight * cap)
        moving = np.where(free, weight * n, 0.0)
        fixed, moving = fixed - fixed.mean(), moving - moving.mean()
        yield _Piece(start, end, float(moving @ moving), float(fixed @ moving), float(fixed @ fixed))
