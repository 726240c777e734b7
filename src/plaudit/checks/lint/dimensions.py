"""The rule about units: what is added, compared or chosen between must be of one kind, and an angle in radians."""

from collections.abc import Iterator

from plaudit.checks.examination import Examination
from plaudit.checks.finding import Finding, Undecided
from plaudit.checks.units import OF_AN_ANGLE, Mismatch, mismatches


def unit_mismatch(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find operations on two units that do not go together."""
    told: set[tuple[str, str]] = set()
    for each in mismatches(examination.reward.program):
        term = each.terms[0] if each.terms else "total"
        message, repair = _told(term, each)
        if (term, message) in told:
            continue
        told.add((term, message))
        yield examination.finding("unit-mismatch", term, message, repair)


def _told(term: str, found: Mismatch) -> tuple[str, str]:
    """Return what is wrong and what to do."""
    if found.operation in OF_AN_ANGLE.values():
        return (
            f"{term!r} {found.operation} an angle in {found.left}, and it must be in {found.right}.",
            "Multiply the angle by math.pi / 180, or correct the unit= of a field.",
        )
    return (
        f"{term!r} {found.operation} {found.left} and {found.right}.",
        "Convert one of the two by a factor, or correct the unit= of a field.",
    )
