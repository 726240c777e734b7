"""What a learner sees of a phase: 30 numbers for the router, 16 for a smaller bandit, or features of your own."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from plaudit.errors import MissingField, ShapeMismatch, WrongType
from plaudit.learn.validate import parse_number
from plaudit.systems.deepthinker.config import match_keys
from plaudit.systems.deepthinker.phase import Phase

Features = Callable[[Any], Mapping[str, float] | Sequence[float]]
"""A function of your own from a phase to its features: by name, or in the order in which the learner names them."""

TASKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "scholarly": ("literature", "scholarly", "academic", "citation", "peer-reviewed", "journal"),
        "research": ("research", "investigate", "survey", "find out", "sources", "evidence"),
        "code": ("code", "codebase", "implement", "program", "debug", "refactor", "function", "software"),
        "analysis": ("analyse", "analyze", "analysis", "compare", "evaluate", "assess"),
        "creative": ("creative", "story", "poem", "brainstorm", "imagine", "slogan"),
        "planning": ("plan", "roadmap", "schedule", "strategy", "milestone"),
    }
)
"""Kinds of task, and the words of an objective that name them; the first kind with a word in it is the task's.

A word may have an ending: plans, planned and planning are planning, and planets are not.
"""

_ENDING = r"(?:s|d|rs?|[a-z]?(?:ed|ing|ers?)|ations?|ments?)?"
_PATTERNS = {name: re.compile(rf"\b(?:{'|'.join(words)}){_ENDING}\b") for name, words in TASKS.items()}

PHASES = ("research", "plan", "code", "eval", "synth")
"""Parts of a phase's name that say what it does."""

PHASE_TYPES = ("reconnaissance", "research", "planning", "synthesis", "evaluation", "execution")
"""Names of phases, as the smaller bandit tells them apart."""

FEATURES = (
    *(f"task_{name}" for name in TASKS),
    *(f"phase_{name}" for name in PHASES),
    "input_length",
    "log_input_length",
    "objective_length",
    "has_code_block",
    "has_url",
    "has_long_number",
    "question_marks",
    "time_remaining_ratio",
    "log_minutes_remaining",
    "time_pressure",
    "drift_risk",
    "retries",
    "difficulty",
    "recent_score_mean",
    "recent_score_min",
    "recent_score_max",
    "recent_score_trend",
    "models_used",
    "councils_used",
)
"""The 30 features of the router, in their order."""

CONTEXT = (
    "time_remaining_minutes",
    "time_budget_used_pct",
    "current_score",
    "score_trend",
    "difficulty_estimate",
    "retry_count",
    "alignment_drift_risk",
    "alignment_corrections",
    "tokens_used_thousands",
    "gpu_pressure",
    *(f"phase_{name}" for name in PHASE_TYPES),
)
"""The 16 features of a smaller bandit, in their order; they are not scaled."""

_PRESSURES = {"low": 0.0, "medium": 0.5, "high": 1.0}


def encode_features(phase: Phase) -> tuple[float, ...]:
    """Return the 30 features of a phase.

    Args:
        phase: The phase.

    Returns:
        The features, in the order of `FEATURES`.

    >>> dict(zip(FEATURES, encode_features(Phase(name="planning", retries=2)), strict=True))["retries"]
    0.4
    """
    ratio = phase.ratio
    scores = phase.recent_scores or (0.5,)
    return (
        *_encode_task(phase.objective),
        *(float(part in phase.name.lower()) for part in PHASES),
        min(1.0, len(phase.text) / 10_000),
        math.log1p(len(phase.text)) / 10,
        min(1.0, len(phase.objective) / 1000),
        float("```" in phase.text),
        float("http://" in phase.text or "https://" in phase.text),
        float(re.search(r"[0-9]{3}", phase.text) is not None),
        min(1.0, phase.text.count("?") / 10),
        ratio,
        math.log1p(phase.minutes_remaining) / 10,
        max(0.0, 1.0 - ratio),
        phase.drift_risk,
        min(1.0, phase.retries / 5),
        estimate_difficulty(phase),
        sum(scores) / len(scores),
        min(scores),
        max(scores),
        phase.trend,
        phase.models_used / 10,
        phase.councils_used / 5,
    )


def encode_context(phase: Phase) -> tuple[float, ...]:
    """Return the 16 context features of a phase.

    Args:
        phase: The phase.

    Returns:
        The features, in the order of `CONTEXT`.

    >>> encode_context(Phase(name="research"))[-6:]
    (0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    """
    return (
        phase.minutes_remaining,
        1.0 - phase.ratio,
        phase.recent_scores[-1] if phase.recent_scores else 0.5,
        phase.trend,
        0.5 if phase.difficulty is None else phase.difficulty,
        float(phase.retries),
        phase.drift_risk,
        float(phase.corrections),
        phase.tokens_used / 1000,
        _PRESSURES[phase.gpu_pressure],
        *(float(phase.name.lower() == name) for name in PHASE_TYPES),
    )


def read_features(phase: Any, names: tuple[str, ...], function: Features | None = None) -> tuple[float, ...] | None:
    """Return the features of a phase that a learner reads, in its order; None for a learner that reads none.

    Without a function, `FEATURES`, any of them, and `CONTEXT` are computed from a `Phase`, and any other name is an
    attribute of the phase.

    Raises:
        InputError: A feature is missing, unknown or not a finite number.

    >>> read_features(Phase(name="planning", retries=2), ("retries", "tokens_used"))
    (0.4, 0.0)
    """
    if not names:
        return None
    given: Any = _read_attributes(phase, names) if function is None else function(phase)
    if isinstance(given, Mapping):
        by_name = match_keys(given, names, "the features function")
        given = [by_name[name] for name in names]
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise WrongType(f"the features function returned {given!r:.60}, not numbers.")
    if len(given) != len(names):
        raise ShapeMismatch(f"the features function returned {len(given)} numbers for {', '.join(names)}.")
    return tuple(
        float(value) if isinstance(value, bool) else parse_number(value, f"feature {name!r}")
        for name, value in zip(names, given, strict=True)
    )


def _read_attributes(phase: Any, names: tuple[str, ...]) -> Sequence[Any]:
    known: Mapping[str, float] = {}
    if isinstance(phase, Phase):
        if names == CONTEXT:
            return encode_context(phase)
        known = dict(zip(FEATURES, encode_features(phase), strict=True))
    missing = [name for name in names if name not in known and not hasattr(phase, name)]
    if missing:
        raise MissingField(
            f"phase {phase.name!r} has no {', '.join(map(repr, missing))}, which the learner reads. Give the phase "
            "these attributes, or the loop a function of the phase: Loop(…, features=function)."
        )
    return [known[name] if name in known else getattr(phase, name) for name in names]


def estimate_difficulty(phase: Phase) -> float:
    """Return how hard a phase is, from 0 to 1: as it is said to be, or guessed from its size and what came before.

    >>> estimate_difficulty(Phase(name="research", objective="x" * 600, retries=1))
    0.5
    """
    if phase.difficulty is not None:
        return phase.difficulty
    signs = (
        len(phase.objective) > 500,
        len(phase.objective) > 1000,
        len(phase.text) > 5000,
        len(phase.text) > 20_000,
        min(phase.recent_scores, default=0.5) < 0.4,
    )
    return min(1.0, (3 + sum(signs) + min(phase.retries, 2)) / 10)


def _encode_task(objective: str) -> tuple[float, ...]:
    """Return 1 for the kind of task that the objective names, and 0 for every other kind."""
    words = objective.lower()
    kind = next((name for name, pattern in _PATTERNS.items() if pattern.search(words)), None)
    return tuple(float(name == kind) for name in TASKS)
