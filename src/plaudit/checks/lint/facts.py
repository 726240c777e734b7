"""The rule about facts: together they must be true of at least one step."""

from collections.abc import Iterator

from plaudit.checks.contradiction import Contradiction, contradiction
from plaudit.checks.examination import Examination
from plaudit.checks.finding import Finding, Undecided
from plaudit.checks.subject import stands

WHY_NOT = "the facts contradict one another"
"""Why no other rule is asked about a reward whose facts do."""


def contradicted(examination: Examination) -> Contradiction | bool | None:
    """Return how the facts contradict one another; False where they do not, None where that is not decided."""
    if "contradiction" not in examination.known:
        examination.known["contradiction"] = contradiction(examination.subject, examination.solver)
    found: Contradiction | bool | None = examination.known["contradiction"]
    return found


def contradictory_facts(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find facts that are true of no step."""
    found = contradicted(examination)
    if found is None:
        yield examination.undecided("contradictory-facts", "total", "whether the facts can all be true")
    elif isinstance(found, Contradiction):
        first = next(fact for fact in examination.reward.facts if fact.name in found.facts)
        yield examination.finding(
            "contradictory-facts",
            "total",
            f"{found}: whatever is proved of such steps says nothing.",
            "Correct the fact, or the range, that is wrong; nothing else is checked before that.",
            place=stands(first.source),
            facts=(*found.facts, *found.changes),
        )
