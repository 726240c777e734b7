"""Missions that never happened: three models, each with its strengths, and a course that drifts; all by a seed.

Nothing here is random but through `plaudit.learn.draws`, so a seed gives the same missions on every machine. What a
model would do in a phase does not depend on which model ran those before: every choice is judged in the same phases.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from plaudit.learn.alignment import ACTIONS
from plaudit.learn.draws import draw_normals, draw_uniform
from plaudit.systems.deepthinker.advisor import TIERS
from plaudit.systems.deepthinker.drift import cosine
from plaudit.systems.deepthinker.phase import Outcome, Phase


class Model(NamedTuple):
    """What a model costs in a phase of middling difficulty, and how it bears a difficult one."""

    tokens: int
    latency_ms: float
    time: float
    """The share of the mission's time budget."""
    difficulty_effect: float
    """What a difficulty of 1 instead of 0 adds to its quality."""


MODELS: Mapping[str, Model] = MappingProxyType(
    dict(
        zip(
            TIERS,
            (Model(1_500, 2_000, 0.03, -0.20), Model(6_000, 8_000, 0.07, 0.0), Model(80_000, 60_000, 0.15, 0.15)),
            strict=True,
        )
    )
)

QUALITY: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {
        "reconnaissance": (0.40, 0.30, 0.20),  # a quick look is all it takes; the large one gets lost
        "research": (0.15, 0.30, 0.55),
        "planning": (0.25, 0.45, 0.30),
        "code_execution": (0.10, 0.50, 0.35),  # the one in the middle was trained on code
        "evaluation": (0.40, 0.30, 0.25),  # the small one judges strictly, the large one kindly
        "synthesis": (0.20, 0.38, 0.46),  # the large one writes best, by little
    }
)
"""The gain in quality that each model makes in a phase, on average; a mission has these phases in this order."""

PHASES = tuple(QUALITY)

EFFECTS: Mapping[str, tuple[float, float]] = MappingProxyType(
    dict(zip(ACTIONS, ((0.8, 0.0), (0.7, -0.02), (0.2, 0.0), (0.2, -0.15), (0.1, -0.25)), strict=True))
)
"""What each correction leaves of the drift, and what it does to the quality of the phase that it disturbs."""

OBJECTIVES = (
    "Survey the literature on battery recycling and name the open questions",
    "Investigate why the sensor network loses packets at night",
    "Implement a scheduler for the telescope and explain its choices",
    "Compare three ways of storing heat for a village",
    "Imagine a museum for people who cannot see",
    "Plan the move of an archive into a new building",
)
_NOISE = 0.12
_MINUTES = 60.0
_DIMENSIONS = 16


@dataclass(frozen=True, slots=True)
class World:
    """All missions of one seed."""

    seed: int

    def build_phase(self, mission: int, gains: Sequence[float], *, drift: float = 0.0, corrections: int = 0) -> Phase:
        """Return the phase of a mission that follows those with these gains."""
        step, key = len(gains), self._derive_key(mission)
        name = PHASES[step]
        words = int(400 + 3000 * draw_uniform(key, step, 1))
        return Phase(
            name=name,
            objective=OBJECTIVES[int(len(OBJECTIVES) * draw_uniform(key, 0, 2))],
            text="word " * words + ("```run()```" if name == "code_execution" else "Which of the 1200 sources?"),
            minutes_remaining=_MINUTES * (1 - step / len(PHASES)),
            minutes_budget=_MINUTES,
            drift_risk=drift,
            corrections=corrections,
            difficulty=self.compute_difficulty(mission),
            recent_scores=tuple(max(0.0, min(1.0, 0.5 + gain)) for gain in gains),
        )

    def compute_difficulty(self, mission: int) -> float:
        """Return how hard a mission is, from 0.2 to 0.8."""
        return 0.2 + 0.6 * draw_uniform(self._derive_key(mission), 0, 3)

    def simulate_outcomes(self, mission: int, corrections: Sequence[str | None]) -> dict[str, Outcome]:
        """Return what each model would do in a phase of a mission; `corrections` are what its phases began with.

        There is one correction, or None, for every phase up to this one.
        """
        step = len(corrections) - 1
        name, drift, hard = PHASES[step], self._compute_drift(mission, corrections), self.compute_difficulty(mission)
        disturbance = EFFECTS[corrections[-1]][1] if corrections[-1] else 0.0
        similarity = cosine(*self._build_vectors(mission, step, drift))
        drawn = draw_normals(self._derive_key(mission), 100 + step, 3 * len(MODELS))
        outcomes = {}
        for at, (tier, model) in enumerate(MODELS.items()):
            quality = QUALITY[name][at] + model.difficulty_effect * (hard - 0.5) - 0.8 * drift + disturbance
            score, consistency, grounding = (_NOISE * z for z in drawn[3 * at : 3 * at + 3])
            outcomes[tier] = Outcome(
                score_delta=quality + score,
                consistency_delta=quality / 2 + consistency,
                grounding_delta=quality / 2 + grounding,
                cost_tokens=round(model.tokens * (0.6 + 0.8 * hard)),
                cost_latency_ms=model.latency_ms * (0.6 + 0.8 * hard),
                time_budget_used_pct=model.time * (0.6 + 0.8 * hard),
                similarity=similarity,
                relevance=1 - drift,
            )
        return outcomes

    def _compute_drift(self, mission: int, corrections: Sequence[str | None]) -> float:
        """Return how far a mission is from its goal in the last of these phases; each adds to it."""
        drift, key = 0.05, self._derive_key(mission)
        for step, correction in enumerate(corrections):
            kept = EFFECTS[correction][0] if correction else 1.0
            drift = min(0.9, drift * kept + 0.2 * draw_uniform(key, step, 4) ** 2)
        return drift

    def _build_vectors(self, mission: int, step: int, drift: float) -> tuple[list[float], list[float]]:
        """Return embeddings of the goal and of what a phase wrote, so far apart that their cosine is 1 − `drift`."""
        key = self._derive_key(mission)
        goal = _normalise(draw_normals(key, 200, _DIMENSIONS))
        other = draw_normals(key, 201 + step, _DIMENSIONS)
        along = sum(a * b for a, b in zip(goal, other, strict=True))
        aside = _normalise([b - along * a for a, b in zip(goal, other, strict=True)])
        near, far = 1 - drift, math.sqrt(1 - (1 - drift) ** 2)
        return goal, [near * a + far * b for a, b in zip(goal, aside, strict=True)]

    def _derive_key(self, mission: int) -> int:
        return self.seed * 1_000_003 + mission


def _normalise(vector: Sequence[float]) -> list[float]:
    length = math.hypot(*vector)
    return [value / length for value in vector]
