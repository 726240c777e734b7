"""The rule about units: what is added, compared or chosen between must be of one kind."""

from collections.abc import Iterator

from plaudit.checks.examination import Examination
from plaudit.checks.finding import Finding, Undecided
from plaudit.checks.units import mismatches


def unit_mismatch(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find operations on two units that do not go together."""
    told: set[tuple[str, str]] = set()
    for each in mismatches(examination.reward.program):
        term = each.terms[0] if each.terms else "total"
        message = f"{term!r} {each.operation} {each.left} and {each.right}."
        if (term, message) in told:
            continue
        told.add((term, message))
        yield examination.finding(
            "unit-mismatch",
            term,
            message,
            "Convert one of the two by a factor, or correct the unit= of a field.",
        )
