"""What `plaudit check` says of a version from its definition alone, before anybody has driven."""

from typing import NamedTuple

from plaudit.checks.check import check
from plaudit.systems.roadsense.versions import version

TELLING = ("dominated-action", "pays-for-staying")
"""Rules about what a policy gets for doing always the same; their sentences stand beside the table."""
STAYING = TELLING[1]


class Said(NamedTuple):
    """The findings about one version, gravest first."""

    version: str
    codes: tuple[str, ...]
    """All rules that found something, each once."""
    warnings: tuple[str, ...]
    """Those whose findings are warnings."""
    telling: tuple[str, ...]
    """What the telling rules found, a sentence each."""
    staying: tuple[str, ...]
    """Where a step that changes nothing pays, from the nearest to the farthest."""
    undecided: int
    """Questions that stayed open."""


def said(label: str) -> Said:
    """Return what is said of a version.

    >>> said("R0").warnings
    ('unreachable-branch', 'dominated-action')
    >>> said("R0").staying
    ('distance from 20 to 40: 1 a step', 'distance beyond 40: 0.5 a step')
    """
    report = check(version(label))
    return Said(
        label,
        tuple(dict.fromkeys(finding.code for finding in report)),
        tuple(dict.fromkeys(finding.code for finding in report.at_least("warning"))),
        tuple(f"{finding.code}: {finding.message}" for finding in report if finding.code in TELLING),
        tuple(step.note for finding in report.coded(STAYING) for step in finding.witness),
        len(report.undecided),
    )
