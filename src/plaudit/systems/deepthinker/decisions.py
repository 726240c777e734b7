"""What a research agent decides again and again, and between what: plain data, one learner for each."""

from collections.abc import Mapping
from types import MappingProxyType

from plaudit.errors import UnknownCategory, did_you_mean
from plaudit.learn.alignment import ACTIONS
from plaudit.systems.deepthinker.advisor import TIERS

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


def actions(decision_class: str) -> tuple[str, ...]:
    """Return the actions of a decision.

    >>> actions("escalation_depth")
    ('1_round', '2_rounds', '3_rounds')
    """
    if decision_class not in DECISIONS:
        near = did_you_mean(str(decision_class), DECISIONS)
        raise UnknownCategory(f"{decision_class!r:.60} is none of {', '.join(DECISIONS)}.{near}")
    return DECISIONS[decision_class]
