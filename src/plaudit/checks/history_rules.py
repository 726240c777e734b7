"""Rules that only recorded steps can answer: their codes, and why they matter. `plaudit.analysis.audit` finds them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from plaudit.checks.finding import Severity
from plaudit.checks.rules import RULES
from plaudit.checks.rules.registry import Rule


@dataclass(frozen=True, slots=True)
class HistoryRule:
    """What a finding's code stands for where recorded steps show it; `docs/audit/<code>.md` says more."""

    code: str
    severity: Severity
    """What a finding of this rule usually is."""
    why: str
    """Why it matters, in a sentence."""

    @property
    def page(self) -> str:
        """Where the documentation says more."""
        return f"docs/audit/{self.code}.md"


_LISTED = (
    HistoryRule("walked-laps", "warning", "The agent goes round and is paid for it, and gets nowhere."),
    HistoryRule("stayed-put", "warning", "The agent stays where it is and is paid for it."),
    HistoryRule("parted-from-goal", "warning", "The reward rises while what is wanted falls: it is being gamed."),
    HistoryRule("goal-earned-less", "warning", "Episodes that reach the goal earn less than those that do not."),
    HistoryRule("one-term-paid", "advice", "One term paid nearly everything: the others had no say."),
    HistoryRule("length-paid", "advice", "How long an episode lasts explains what it earns; nothing else does."),
    HistoryRule("shaping-reordered", "warning", "Shaping decides which episodes are best, and it should not."),
    HistoryRule("action-repeated", "advice", "The agent does one thing whatever it sees."),
    HistoryRule("clamp-bound", "warning", "Where a clamp binds in nearly every step, the term says nothing."),
    HistoryRule("branch-not-taken", "advice", "What never happened was never paid: the number there is untested."),
    HistoryRule("constant-in-practice", "advice", "A term that was the same in every step taught nothing."),
    HistoryRule("drowned-in-practice", "advice", "A term that never made a difference was not heard."),
    HistoryRule("redundant-terms", "advice", "Two terms that rise and fall together pay twice for one thing."),
    HistoryRule("spike", "warning", "A few steps outweigh all others, and learning follows them."),
    HistoryRule("outside-range", "warning", "What was proved for the declared range does not hold outside it."),
    HistoryRule("fact-broken", "warning", "What was proved with a fact does not hold where the fact is false."),
)

HISTORY_RULES: Mapping[str, HistoryRule] = MappingProxyType({rule.code: rule for rule in _LISTED})
"""Every rule that needs recorded steps, by its code."""

ALL_RULES: Mapping[str, Rule | HistoryRule] = MappingProxyType({**RULES, **HISTORY_RULES})
"""Every rule by its code, whatever it needs."""
