"""What a research agent decides, and advice for a phase: which models and how many rounds, learnt or by rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

from plaudit.errors import UnknownCategory, did_you_mean
from plaudit.learn.alignment import ACTIONS
from plaudit.learn.router import Advice, Guess, Router, RouterState
from plaudit.learn.validate import parse_numbers
from plaudit.systems.deepthinker.features import FEATURES, TASKS, encode_features
from plaudit.systems.deepthinker.phase import Phase

TIERS = ("SMALL", "MEDIUM", "LARGE")
ROUNDS = (1, 2, 3)

CANDIDATES = tuple(f"{tier}_{rounds}" for tier, rounds in product(TIERS, ROUNDS))
"""A tier and a number of rounds, as the router of both names them: MEDIUM_2."""

NOTE_CONFIDENCE = 0.6
"""Advice is a note to whoever decides, never a command; below this confidence it is not worth one."""

DECISIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "model_tier": TIERS,
        "council_set": ("standard", "deep", "fast", "research", "coder"),
        "tool_selection": ("web_search", "code_exec", "rag_query", "file_read", "none"),
        "escalation_depth": ("1_round", "2_rounds", "3_rounds"),
        "alignment_action": ACTIONS,
    }
)
"""The decisions known by name, and the actions of each. Another name, with actions of your own, will do as well."""

_INDEX = {name: index for index, name in enumerate(FEATURES)}


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
        return self.confidence > NOTE_CONFIDENCE


def advise(router: Router, state: RouterState, phase: Phase) -> PhaseAdvice:
    """Return what a router advises for a phase; where its candidates are tiers alone, the rounds are the rule's."""
    x = encode_features(phase)
    return translate_advice(router.advise(state, x), x)


def advise_by_rule(x: Sequence[float]) -> PhaseAdvice:
    """Return advice by rule, from the 30 features: for as long as too little is known to learn from.

    >>> advice = advise_by_rule(encode_features(Phase(name="research", objective="Survey the field", difficulty=0.9)))
    >>> advice.model_tier, advice.num_rounds, advice.council_set
    ('LARGE', 3, 'research')
    """
    x = parse_numbers(x, "features", len(FEATURES))
    hard, pressure = x[_INDEX["difficulty"]], x[_INDEX["time_pressure"]]
    score = 0.5 * hard - 0.3 * pressure + 0.2 * x[_INDEX["retries"]] + 0.1 * x[_INDEX["input_length"]]
    depth = 0.4 * hard - 0.5 * pressure + 0.3 * x[_INDEX["drift_risk"]]
    tier = "LARGE" if score > 0.4 else "MEDIUM" if score > 0.1 else "SMALL"
    rounds = 3 if depth > 0.3 else 2 if depth > 0 else 1
    rationale = f"by rule: {tier} for a score of {score:.2f}, {rounds} of 3 rounds for {depth:.2f}"
    return PhaseAdvice(choose_council(x), tier, rounds, min(0.9, 0.5 + 0.3 * abs(score)), rationale, x)


def guess_tier(x: Sequence[float]) -> Guess:
    """Return the rule's advice for a router whose candidates are the tiers."""
    advice = advise_by_rule(x)
    return Guess(advice.model_tier, advice.confidence, advice.rationale)


def guess_candidate(x: Sequence[float]) -> Guess:
    """Return the rule's advice for a router whose candidates are `CANDIDATES`."""
    advice = advise_by_rule(x)
    return Guess(f"{advice.model_tier}_{advice.num_rounds}", advice.confidence, advice.rationale)


def get_actions(decision_class: str) -> tuple[str, ...]:
    """Return the actions of a decision.

    >>> get_actions("escalation_depth")
    ('1_round', '2_rounds', '3_rounds')
    """
    if decision_class not in DECISIONS:
        near = did_you_mean(str(decision_class), DECISIONS)
        raise UnknownCategory(f"{decision_class!r:.60} is none of {', '.join(DECISIONS)}.{near}")
    return DECISIONS[decision_class]


def translate_advice(advice: Advice, x: tuple[float, ...]) -> PhaseAdvice:
    """Return a router's advice in the words of a phase."""
    tier, _, rounds = advice.candidate.partition("_")
    if tier not in TIERS or (rounds and rounds not in map(str, ROUNDS)):
        raise UnknownCategory(
            f"the candidate {advice.candidate!r} is neither a tier nor one with rounds, as MEDIUM_2 is."
        )
    count = int(rounds) if rounds else advise_by_rule(x).num_rounds
    return PhaseAdvice(choose_council(x), tier, count, advice.confidence, advice.rationale, x)


def choose_council(x: Sequence[float]) -> str:
    """Return the council for the kind of task that the features name."""
    kind = next((name for name in TASKS if x[_INDEX[f"task_{name}"]]), None)
    if kind in ("scholarly", "research"):
        return "research"
    return "coder" if kind == "code" else "standard"
