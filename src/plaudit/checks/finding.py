"""What a check found: one immutable value a flaw, each with concrete inputs that show it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from plaudit.language.reading.source import SourceLine
from plaudit.reward.task.statements import Basis

Severity = Literal["warning", "advice", "note"]
"""A warning is a flaw; advice is worth a look; a note is a fact about the formula, said in one line."""
SEVERITIES: tuple[Severity, ...] = ("note", "advice", "warning")
"""From the mildest to the gravest."""
BASES: tuple[Basis, ...] = ("declared", "seen", "default")
"""From the firmest to the weakest."""


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
    record: int | None = None
    """The record of a ledger that it is: `plaudit ledger why` opens it."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A statement about steps that a finding rests on, and where that statement comes from."""

    says: str
    """"that speed happens in single steps", "the range of x"."""
    basis: Basis
    seen: str = ""
    """In how many cases of how many it was seen: "9,975 of 9,975 steps"."""


Claim = Literal["stay", "cycle", "step", "end"]
"""What a witness says can be done: stay in a state, go round, make such a step, end so."""
Verdict = Literal["seen", "contradicted", "not tried"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What steps that happened say of a finding's witness."""

    verdict: Verdict
    """"contradicted" where enough was tried near there, and it went otherwise."""
    says: str
    """In a sentence: "Seen: 214 of 10,000 steps were like this."."""


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
    place: SourceLine | None = None
    """Where it stands in the source."""
    facts: tuple[str, ...] = ()
    """Declared facts that the finding rests on."""
    grounds: tuple[Ground, ...] = ()
    """What else it rests on: what a task says, was seen, or is assumed where nobody says anything."""
    claims: Claim | None = None
    """What its witness says can be done; None where it is about the formula, whatever can be done."""
    evidence: Evidence | None = None
    """What steps that happened say of it; None where none were given, or they say nothing."""

    @property
    def basis(self) -> Basis:
        """The weakest of what it rests on: "declared", "seen" or "default"."""
        return max((each.basis for each in self.grounds), key=BASES.index, default="declared")

    @property
    def is_seen(self) -> bool:
        """Whether steps that happened show it."""
        return self.evidence is not None and self.evidence.verdict == "seen"

    @property
    def is_contradicted(self) -> bool:
        """Whether enough was tried near there, and it went otherwise."""
        return self.evidence is not None and self.evidence.verdict == "contradicted"

    def list_weak_grounds(self) -> list[str]:
        """Return what it rests on that nobody declared, a sentence each for what was seen and what was assumed."""
        seen = [f"{each.says} ({each.seen})" for each in self.grounds if each.basis == "seen"]
        assumed = [each.says for each in self.grounds if each.basis == "default"]
        lines = [f"Seen, not declared: {', '.join(seen)}."] if seen else []
        return [*lines, f"Assumed by default: {', '.join(assumed)}."] if assumed else lines


IncentiveKind = Literal["step", "stay", "lap", "pace", "goal", "end", "bad end", "event", "idle"]


@dataclass(frozen=True, slots=True)
class Incentive:
    """What an agent that knows nothing but the reward has a reason to do: one way of life, and what it pays."""

    kind: IncentiveKind
    """A single step; staying in a place; going round a lap; a step that reaches the goal; what the best end adds to a
    step, and the cheapest end that costs; doing nothing."""
    pay: float
    """What its witness earns: a stay, a lap and doing nothing in each step, anything else once. Infinite where there
    is no bound, of which a witness shows a part."""
    where: str
    """Where that is, in words: "distance beyond 40 m"."""
    witness: tuple[Step, ...]
    """A step of it, or all steps of a lap, with what the reward really makes of them."""
    bound: float
    """What it pays at most, as far as is known; equal to `pay` where that is proved."""
    worth: str = ""
    """What it adds up to, in words: "500 over 1,000 steps"; empty where neither discount nor horizon is declared."""
    value: float = 0.0
    """What it adds up to, as a number: what pays in each step without end is infinite where nobody says how long."""


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that its reward allows, and the reason on record."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A rule that failed: a fault of plaudit, not of the reward."""

    code: str
    error: str
    """What was raised, and where: "ValueError: Exceeds the limit (z3.py, line 230)"."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """A question that was asked and not answered."""

    code: str
    term: str
    why: str
    """"no answer within 3 s", "z3 is not installed (pip install plaudit[prove])"."""
