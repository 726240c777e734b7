"""When a mission drifts from what was asked: a CUSUM over how similar each phase's output is to the goal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from plaudit.errors import DefinitionError, OutOfRange, UnknownCategory
from plaudit.learn.alignment import ACTIONS
from plaudit.learn.validate import parse_number, parse_numbers
from plaudit.systems.deepthinker.config import parse_settings

SEVERITIES = ("low", "medium", "severe")
OPINIONS = ("none", "severe")
"""What a model that was asked may say of an event, to overrule the rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftConfig:
    """Thresholds for drift warnings and drift events.

    >>> DriftConfig(low=0.5).drop
    0.15
    """

    warning: float = 0.6
    """Warn where the similarity is below this."""
    low: float = 0.4
    """An event: the similarity is below this …"""
    drop: float = 0.15
    """… or fell by more than this in one phase …"""
    most: float = 0.5
    """… or the CUSUM is above this."""
    slack: float = 0.05
    """How much it may fall in a phase without adding to the CUSUM."""
    recovery: float = 0.0
    """What a rise of the similarity by 1 takes off the CUSUM; with 0 only the slack does."""
    begin: int = 3
    """The first that can be a warning or an event, counted from 0, of the phases whose similarity was measured."""

    def __post_init__(self) -> None:
        """Refuse thresholds that are none."""
        parse_settings(self, "warning", "low", low=-1, high=1)
        parse_settings(self, "drop", "most", "slack", "recovery", "begin")
        if self.begin % 1:
            raise DefinitionError(f"begin = {self.begin!r} must be an integer.")


SENSITIVE = DriftConfig(warning=0.85, low=0.75, begin=1)
"""Thresholds for short missions and demonstrations."""


class DriftState(NamedTuple):
    """The drift of a mission so far; `observe` updates it.

    >>> DriftState().similarity
    1.0
    """

    phases: int = 0
    similarity: float = 1.0
    fallen: float = 0.0
    """All falls of the similarity, added up."""
    cusum: float = 0.0
    events: int = 0
    consecutive: int = 0
    """Events in a row; a phase without one resets it."""


class DriftPoint(NamedTuple):
    """The drift that was measured after one phase; `observe` returns it.

    >>> state, point = observe(DriftState(), 0.9)
    >>> point.event, point.warning
    (False, False)
    """

    phase: int
    """Its place in the mission, counted from 0."""
    similarity: float
    change: float
    cusum: float
    warning: bool
    reasons: tuple[str, ...]
    """Why it is an event; empty where it is none."""
    severity: str
    consecutive: int

    @property
    def event(self) -> bool:
        """Whether it is an alignment event, which the reward counts."""
        return bool(self.reasons)

    @property
    def drift(self) -> float:
        """How far it is from the goal, from 0 to 1; what points away from it is as far as can be."""
        return min(1.0, 1.0 - self.similarity)


def observe(
    state: DriftState,
    similarity: float,
    config: DriftConfig = DriftConfig(),  # noqa: B008 - it cannot be changed
    *,
    opinion: str | None = None,
) -> tuple[DriftState, DriftPoint]:
    """Update the drift of a mission after a phase.

    Args:
        state: The drift so far.
        similarity: The cosine between the goal and the phase's output.
        config: The thresholds.
        opinion: A verdict of your own on the drift, one of `OPINIONS`.

    Returns:
        The new state, and the drift after this phase.

    Raises:
        OutOfRange: The similarity is not from -1 to 1.

    >>> state, point = observe(DriftState(), 0.3, DriftConfig(begin=0))
    >>> point.reasons, point.severity
    (('similarity', 'drop', 'cusum'), 'medium')
    """
    similarity = parse_number(similarity, "similarity")
    if not -1 <= similarity <= 1:
        raise OutOfRange(f"similarity={similarity!r} is not a cosine: it must be from -1 to 1.")
    change = similarity - state.similarity
    fall = max(0.0, -change)
    cusum = max(0.0, state.cusum + fall - config.slack - config.recovery * max(0.0, change))
    counts = state.phases >= config.begin
    signs = {"similarity": similarity < config.low, "drop": change < -config.drop, "cusum": cusum > config.most}
    reasons = tuple(name for name, sign in signs.items() if sign and counts)
    consecutive = state.consecutive + 1 if reasons else 0
    severity = _judge_severity(similarity, cusum, config, opinion)
    point = DriftPoint(
        state.phases, similarity, change, cusum, counts and similarity < config.warning, reasons, severity, consecutive
    )
    after = DriftState(
        state.phases + 1, similarity, state.fallen + fall, cusum, state.events + bool(reasons), consecutive
    )
    return after, point


def _judge_severity(similarity: float, cusum: float, config: DriftConfig, opinion: str | None) -> str:
    """Return how bad it is; an opinion overrules the rule unless the rule says that it is severe."""
    if opinion is not None and opinion not in OPINIONS:
        raise UnknownCategory(f"opinion={opinion!r:.60} is not one of {', '.join(OPINIONS)}.")
    if similarity < 0.3 or cusum > 1.5 * config.most or opinion == "severe":
        return "severe"
    if opinion == "none" or (similarity > 0.6 and cusum < 0.7 * config.most):
        return "low"
    return "medium"


def choose_correction(point: DriftPoint) -> str:
    """Return the correction for an event by rule: a rung further with every event in a row, and pruning if severe.

    >>> choose_correction(DriftPoint(4, 0.5, -0.2, 0.1, True, ("drop",), "medium", 3))
    'switch_deepen_mode_to_evidence'
    """
    rung = max(0, min(point.consecutive, len(ACTIONS)) - 1)
    return ACTIONS[max(rung, 3) if point.severity == "severe" else rung]


def cosine(one: Sequence[float] | Any, other: Sequence[float] | Any) -> float:
    """Compute the cosine of two vectors, such as embeddings of the goal and of a phase's output.

    Args:
        one: A vector.
        other: A vector of the same length.

    Returns:
        The cosine, from -1 to 1.

    >>> round(cosine([1, 0], [1, 1]), 6)
    0.707107
    """
    first = _normalise(one, "the first vector")
    second = _normalise(other, "the second vector", len(first))
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(first, second, strict=True))))


def _normalise(values: Sequence[float] | Any, name: str, length: int | None = None) -> list[float]:
    vector = parse_numbers(values, name, length)
    largest = max(map(abs, vector), default=0.0)
    if not largest:
        raise OutOfRange(f"{name} has length 0: a cosine needs vectors longer than 0.")
    scaled = [value / largest for value in vector]
    norm = math.hypot(*scaled)
    return [value / norm for value in scaled]
