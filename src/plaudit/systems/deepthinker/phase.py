"""A phase of a mission: what is known before it runs, and what was measured when it has run."""

from dataclasses import dataclass
from typing import Any

from plaudit.errors import OutOfRange, UnknownCategory, WrongType
from plaudit.learn.validate import parse_number, parse_numbers
from plaudit.ledger.context import validate_string
from plaudit.systems.deepthinker.config import RewardConfig
from plaudit.systems.deepthinker.reward_signal import RewardSignal
from plaudit.systems.deepthinker.reward_weights import RewardWeights

PRESSURES = ("low", "medium", "high")
"""How busy the machine is, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """What is known of a phase before it runs; everything but its name has a default.

    >>> Phase(name="research", objective="Survey the literature", minutes_remaining=30, minutes_budget=60).ratio
    0.5
    """

    name: str
    objective: str = ""
    """What the mission is asked for."""
    text: str = ""
    """What the phase is given to work on."""
    minutes_remaining: float = 0.0
    minutes_budget: float = 0.0
    """Minutes of the whole mission; 0 where there is no limit."""
    drift_risk: float = 0.0
    """How far the mission seems to be from what was asked, from 0 to 1."""
    corrections: int = 0
    """Corrections of its course so far."""
    retries: int = 0
    difficulty: float | None = None
    """How hard it is, from 0 to 1, where somebody knows."""
    recent_scores: tuple[float, ...] = ()
    """Quality scores of the phases before it, the newest last."""
    models_used: int = 0
    councils_used: int = 0
    tokens_used: int = 0
    gpu_pressure: str = "medium"

    def __post_init__(self) -> None:
        """Refuse what no phase can be."""
        validate_name("phase name", self.name)
        for name in ("objective", "text"):
            if not isinstance(getattr(self, name), str):
                raise WrongType(f"phase {name}={getattr(self, name)!r:.60} must be a string.")
        for name in ("minutes_remaining", "minutes_budget", "drift_risk"):
            object.__setattr__(self, name, _parse_nonnegative(name, getattr(self, name)))
        for name in ("corrections", "retries", "models_used", "councils_used", "tokens_used"):
            object.__setattr__(self, name, _parse_count(name, getattr(self, name)))
        if self.difficulty is not None:
            object.__setattr__(self, "difficulty", _parse_share("difficulty", self.difficulty))
        _parse_share("drift_risk", self.drift_risk)
        object.__setattr__(self, "recent_scores", parse_numbers(self.recent_scores, "phase recent_scores"))
        if self.gpu_pressure not in PRESSURES:
            raise UnknownCategory(f"phase gpu_pressure={self.gpu_pressure!r:.60} is not one of {PRESSURES}.")

    @property
    def ratio(self) -> float:
        """How much of the time is left, from 0 to 1; all of it where there is no limit."""
        return min(1.0, self.minutes_remaining / self.minutes_budget) if self.minutes_budget else 1.0

    @property
    def trend(self) -> float:
        """How the recent scores move: the last less the first, over how many there are."""
        scores = self.recent_scores
        return (scores[-1] - scores[0]) / len(scores) if scores else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The measurements of a phase that has run.

    >>> Outcome(score_delta=0.1, cost_tokens=5000).to_measurements(0)["cost_tokens"]
    5000
    """

    score_delta: float = 0.0
    consistency_delta: float = 0.0
    grounding_delta: float = 0.0
    cost_tokens: int = 0
    cost_latency_ms: float = 0.0
    time_budget_used_pct: float = 0.0
    similarity: float | None = None
    """The cosine between what was asked and what came out, where it was measured: see `drift.cosine`."""
    relevance: float | None = None
    """How much of what came out bears on the question, from 0 to 1; by default the similarity."""
    blocked: str | None = None
    """Why nothing may be learned from this phase, where a rule says so."""

    def __post_init__(self) -> None:
        """Refuse what cannot be recorded; the measurements themselves are the reward's to check."""
        if self.similarity is not None:
            object.__setattr__(self, "similarity", _parse_similarity(self.similarity))
        if self.relevance is not None:
            object.__setattr__(self, "relevance", _parse_share("relevance", self.relevance))
        _validate_reason(self.blocked)

    def to_measurements(self, events: int) -> dict[str, float]:
        """Return the inputs of the reward.

        Args:
            events: Alignment events in the phase.

        Returns:
            Keyword arguments for `RewardSignal.from_phase_outcome`.
        """
        return {
            "score_delta": self.score_delta,
            "consistency_delta": self.consistency_delta,
            "grounding_delta": self.grounding_delta,
            "cost_tokens": self.cost_tokens,
            "cost_latency_ms": self.cost_latency_ms,
            "alignment_events": events,
            "time_budget_used_pct": self.time_budget_used_pct,
        }

    def build_signal(self, events: int, weights: RewardWeights, config: RewardConfig) -> RewardSignal:
        """Compute the reward of the phase.

        Args:
            events: Alignment events in the phase.
            weights: The weights of the components.
            config: The settings of the penalties.

        Returns:
            The signal.
        """
        return RewardSignal.from_phase_outcome(**self.to_measurements(events), weights=weights, config=config)


def validate_name(what: str, value: Any) -> str:
    """Return a name that a record can keep; it is checked before a phase runs, which may cost something."""
    if not isinstance(value, str) or not value:
        raise WrongType(f"{what}={value!r:.60} must be a non-empty string.")
    validate_string(what, value)
    return value


def _validate_reason(blocked: Any) -> None:
    if blocked is not None and (not isinstance(blocked, str) or not blocked):
        raise WrongType(f"blocked={blocked!r:.60} must be the reason, as a string.")


def _parse_nonnegative(name: str, value: Any) -> float:
    parsed = parse_number(value, f"phase {name}")
    if parsed < 0:
        raise OutOfRange(f"phase {name}={parsed!r} is below 0.")
    return parsed


def _parse_count(name: str, value: Any) -> int:
    parsed = _parse_nonnegative(name, value)
    if parsed % 1:
        raise OutOfRange(f"phase {name}={parsed!r} is not an integer.")
    return int(parsed)


def _parse_share(name: str, value: Any) -> float:
    parsed = parse_number(value, f"phase {name}")
    if not 0 <= parsed <= 1:
        raise OutOfRange(f"phase {name}={parsed!r} is not from 0 to 1.")
    return parsed


def _parse_similarity(value: Any) -> float:
    parsed = parse_number(value, "phase similarity")
    if not -1 - 1e-9 <= parsed <= 1 + 1e-9:
        raise OutOfRange(f"phase similarity={parsed!r} is not from -1 to 1.")
    return max(-1.0, min(1.0, parsed))
