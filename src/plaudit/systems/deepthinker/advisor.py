"""Which models, how many of them and for how many rounds: advice for a phase, learnt or by rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from plaudit.errors import UnknownCategory
from plaudit.learn.decision import numbers
from plaudit.learn.router import Advice, Guess, Router, RouterState
from plaudit.systems.deepthinker.features import FEATURES, TASKS, features
from plaudit.systems.deepthinker.phase import Phase

TIERS = ("SMALL", "MEDIUM", "LARGE")
ROUNDS = (1, 2, 3)
CANDIDATES = tuple(f"{tier}_{rounds}" for tier, rounds in product(TIERS, ROUNDS))
"""A tier and a number of rounds, as the router of both names them: MEDIUM_2."""
NOTED = 0.6
"""Advice is a note to whoever decides, never a command; below this confidence it is not worth one."""

_AT = {name: at for at, name in enumerate(FEATURES)}


@dataclass(frozen=True, slots=True)
class PhaseAdvice:
    """What to run a phase with, and why."""

    council_set: str
    model_tier: str
    num_rounds: int
    confidence: float
    rationale: str
    features: tuple[float, ...]

    @property
    def noted(self) -> bool:
        """Whether it is sure enough to be a note."""
        return self.confidence > NOTED


def weighted(x: Sequence[float]) -> PhaseAdvice:
    """Return advice by rule, from the 30 features: for as long as too little is known to learn from.

    >>> advice = weighted(features(Phase(name="research", objective="Survey the field", difficulty=0.9)))
    >>> advice.model_tier, advice.num_rounds, advice.council_set
    ('LARGE', 3, 'research')
    """
    x = numbers(x, "features", len(FEATURES))
    hard, pressure = x[_AT["difficulty"]], x[_AT["time_pressure"]]
    score = 0.5 * hard - 0.3 * pressure + 0.2 * x[_AT["retries"]] + 0.1 * x[_AT["input_length"]]
    depth = 0.4 * hard - 0.5 * pressure + 0.3 * x[_AT["drift_risk"]]
    tier = "LARGE" if score > 0.4 else "MEDIUM" if score > 0.1 else "SMALL"
    rounds = 3 if depth > 0.3 else 2 if depth > 0 else 1
    rationale = f"by rule: {tier} for a score of {score:.2f}, {rounds} of 3 rounds for {depth:.2f}"
    return PhaseAdvice(council(x), tier, rounds, min(0.9, 0.5 + 0.3 * abs(score)), rationale, x)


def weighted_tier(x: Sequence[float]) -> Guess:
    """Return the rule's advice for a router whose candidates are the tiers."""
    advice = weighted(x)
    return Guess(advice.model_tier, advice.confidence, advice.rationale)


def weighted_candidate(x: Sequence[float]) -> Guess:
    """Return the rule's advice for a router whose candidates are `CANDIDATES`."""
    advice = weighted(x)
    return Guess(f"{advice.model_tier}_{advice.num_rounds}", advice.confidence, advice.rationale)


def council(x: Sequence[float]) -> str:
    """Return the council for the kind of task that the features tell."""
    kind = next((name for name in TASKS if x[_AT[f"task_{name}"]]), None)
    if kind in ("scholarly", "research"):
        return "research"
    return "coder" if kind == "code" else "standard"


def advise(router: Router, state: RouterState, phase: Phase) -> PhaseAdvice:
    """Return what a router advises for a phase; where its candidates are tiers alone, the rounds are the rule's."""
    x = features(phase)
    return of_candidate(router.advise(state, x), x)


def of_candidate(advice: Advice, x: tuple[float, ...]) -> PhaseAdvice:
    """Return a router's advice in the words of a phase."""
    tier, _, rounds = advice.candidate.partition("_")
    if tier not in TIERS or (rounds and rounds not in map(str, ROUNDS)):
        raise UnknownCategory(
            f"the candidate {advice.candidate!r} is neither a tier nor one with rounds, as MEDIUM_2 is."
        )
    count = int(rounds) if rounds else weighted(x).num_rounds
    return PhaseAdvice(council(x), tier, count, advice.confidence, advice.rationale, x)
