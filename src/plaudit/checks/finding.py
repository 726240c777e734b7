"""What a check found: one immutable value a flaw, each with concrete inputs that show it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Severity = Literal["warning", "advice"]
SEVERITIES: tuple[Severity, ...] = ("advice", "warning")
"""From the mildest to the gravest."""


class Place(NamedTuple):
    """Where a finding stands in the source."""

    file: str
    line: int
    text: str = ""
    """The line itself, without its indentation."""


@dataclass(frozen=True, slots=True)
class Step:
    """One row of a witness: what is fed to the reward, and what the reward really makes of it."""

    inputs: Mapping[str, float | bool | str]
    """By the names of a row: `distance`, `prev.phase`, `torque[0]`."""
    total: float | None = None
    """The reward of this row; None where it cannot be scored, which is then the finding."""
    note: str = ""
    """What this row is: "a step closer", "action 1 instead"."""
    about: tuple[str, ...] = ()
    """The inputs that matter; all of them where none are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A flaw of a reward."""

    code: str
    """The rule, which is also the name of its page: `loop-that-pays`."""
    severity: Severity
    term: str
    """The term it is about; "total" where it is about the reward as a whole."""
    message: str
    """What is wrong, with its numbers, in a sentence or two."""
    advice: str
    """What to do about it."""
    witness: tuple[Step, ...] = ()
    place: Place | None = None
    facts: tuple[str, ...] = ()
    """Declared facts that the finding rests on."""


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that its reward allows, and the reason on record."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Undecided:
    """A question that was asked and not answered."""

    code: str
    term: str
    why: str
    """"no answer within 3 s", "z3 is not installed (pip install plaudit[prove])"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that was found out about one reward."""

    reward: str
    version: str
    fingerprint: str
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Rules that did not run at all, and why."""
    rest: Mapping[str, float | bool | str] = field(default_factory=dict, repr=False)
    """What each input is when nothing happens; in a witness that goes without saying."""
    seconds: float = field(default=0.0, compare=False)

    def __iter__(self) -> Iterator[Finding]:
        """Walk through the findings, gravest first."""
        return iter(self.findings)

    def __len__(self) -> int:
        """Return how many findings there are."""
        return len(self.findings)

    def __str__(self) -> str:
        """Return the report as `plaudit check` prints it."""
        from plaudit.checks.formats.checked import Checked  # what it draws is made of findings
        from plaudit.checks.formats.text import as_text

        return as_text([Checked(self)]).rstrip("\n")

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the findings that are at least as grave as `severity`."""
        grave = SEVERITIES[SEVERITIES.index(severity) :]
        return tuple(finding for finding in self.findings if finding.severity in grave)

    def coded(self, code: str) -> tuple[Finding, ...]:
        """Return the findings of one rule."""
        return tuple(finding for finding in self.findings if finding.code == code)

    @property
    def ok(self) -> bool:
        """Whether there is no warning."""
        return not self.at_least("warning")
