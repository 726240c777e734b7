"""What a research agent decides, and advice for a phase: which models and how many rounds, learned or by rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any

from plaudit.errors import DefinitionError, UnknownCategory, did_you_mean
from plaudit.learn.alignment import ACTIONS
from plaudit.learn.router import Advice, Guess, Router, RouterState
from plaudit.learn.validate import parse_numbers
from plaudit.systems.deepthinker.features import FEATURES, TASKS, Features, encode_features, read_features
from plaudit.systems.deepthinker.phase import Phase

TIERS = ("SMALL", "MEDIUM", "LARGE")
ROUNDS = (1, 2, 3)

CANDIDATES = tuple(f"{tier}_{rounds}" for tier, rounds in product(TIERS, ROUNDS))
"""A tier and a number of rounds, as the router of both names them: MEDIUM_2."""

NOTE_CONFIDENCE = 0.6
"""Advice is never a command; at or below this confidence it is not even noted."""

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

_RULE_READS = ("difficulty", "time_pressure", "retries", "input_length", "drift_risk")


@dataclass(frozen=True, slots=True)
class PhaseAdvice:
    """Advice on how to run a phase; `advise` and `advise_by_rule` return it.

    >>> advise_by_rule(encode_features(Phase(name="research", difficulty=0.9))).model_tier
    'LARGE'
    """

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


def advise(router: Router, state: RouterState, phase: Any, *, features: Features | None = None) -> PhaseAdvice:
    """Advise how to run a phase.

    If the router's candidates are tiers alone, the number of rounds comes from the rule. The rule and the council
    read the 30 features of a `Phase`; for your own class of phases, they read the router's features.

    Args:
        router: The router.
        state: Its state.
        phase: The phase to advise on.
        features: The features function of the loop, if it has one.

    Returns:
        The advice.

    Example:
        advice = advise(router, state, Phase(name="research"))
        print(advice.model_tier, advice.num_rounds)
    """
    x = read_features(phase, router.features, features) or ()
    ruled = (encode_features(phase), FEATURES) if isinstance(phase, Phase) else (x, router.features)
    return replace(translate_advice(router.advise(state, x), *ruled), features=x)


def advise_by_rule(x: Sequence[float], names: tuple[str, ...] = FEATURES) -> PhaseAdvice:
    """Return advice by rule: for as long as too little is known to learn from.

    With features of your own, `names` says what they are; those that the rule reads must be among them.

    >>> advice = advise_by_rule(encode_features(Phase(name="research", objective="Survey the field", difficulty=0.9)))
    >>> advice.model_tier, advice.num_rounds, advice.council_set
    ('LARGE', 3, 'research')
    """
    x = parse_numbers(x, "features", len(names))
    by_name = dict(zip(names, x, strict=True))
    missing = [name for name in _RULE_READS if name not in by_name]
    if missing:
        raise DefinitionError(
            f"the rule reads {', '.join(missing)}, which are not among the features {', '.join(names)}. Pass the "
            "router your own rule: a function from the features to a Guess."
        )
    hard, pressure, retries, length, drift = (by_name[name] for name in _RULE_READS)
    score = 0.5 * hard - 0.3 * pressure + 0.2 * retries + 0.1 * length
    depth = 0.4 * hard - 0.5 * pressure + 0.3 * drift
    tier = "LARGE" if score > 0.4 else "MEDIUM" if score > 0.1 else "SMALL"
    rounds = 3 if depth > 0.3 else 2 if depth > 0 else 1
    rationale = f"by rule: {tier} for a score of {score:.2f}, {rounds} of 3 rounds for {depth:.2f}"
    return PhaseAdvice(choose_council(by_name), tier, rounds, min(0.9, 0.5 + 0.3 * abs(score)), rationale, x)


def guess_tier(x: Sequence[float], names: tuple[str, ...] = FEATURES) -> Guess:
    """Return the rule's advice for a router whose candidates are the tiers.

    Args:
        x: The features.
        names: Their names.

    Returns:
        The tier, the confidence and the reason.

    >>> guess_tier(encode_features(Phase(name="research", difficulty=0.9))).candidate
    'LARGE'
    """
    advice = advise_by_rule(x, names)
    return Guess(advice.model_tier, advice.confidence, advice.rationale)


def guess_candidate(x: Sequence[float], names: tuple[str, ...] = FEATURES) -> Guess:
    """Return the rule's advice for a router with `CANDIDATES`.

    Args:
        x: The features.
        names: Their names.

    Returns:
        The candidate, the confidence and the reason.

    >>> guess_candidate(encode_features(Phase(name="research", difficulty=0.9))).candidate
    'LARGE_3'
    """
    advice = advise_by_rule(x, names)
    return Guess(f"{advice.model_tier}_{advice.num_rounds}", advice.confidence, advice.rationale)


def get_actions(decision_class: str) -> tuple[str, ...]:
    """Return the actions of a decision.

    >>> get_actions("escalation_depth")
    ('1_round', '2_rounds', '3_rounds')
    """
    if decision_class not in DECISIONS:
        near = did_you_mean(str(decision_class), DECISIONS)
        raise UnknownCategory(f"{decision_class!r:.60} is not one of {', '.join(DECISIONS)}.{near}")
    return DECISIONS[decision_class]


def translate_advice(advice: Advice, x: tuple[float, ...], names: tuple[str, ...] = FEATURES) -> PhaseAdvice:
    """Return a router's advice in the words of a phase; `x` are the features that the rule reads, by their names."""
    tier, _, rounds = advice.candidate.partition("_")
    if tier not in TIERS or (rounds and rounds not in map(str, ROUNDS)):
        raise UnknownCategory(
            f"the candidate {advice.candidate!r} is neither a tier nor a tier with rounds, such as MEDIUM_2."
        )
    count = int(rounds) if rounds else advise_by_rule(x, names).num_rounds
    council = choose_council(dict(zip(names, x, strict=True)))
    return PhaseAdvice(council, tier, count, advice.confidence, advice.rationale, x)


def choose_council(features: Mapping[str, float]) -> str:
    """Return the council for the kind of task that the features name; the standard one where they name none."""
    kind = next((name for name in TASKS if features.get(f"task_{name}")), None)
    if kind in ("scholarly", "research"):
        return "research"
    return "coder" if kind == "code" else "standard"
