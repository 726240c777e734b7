"""What a check found: one immutable value per flaw, each with concrete inputs that show it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from plaudit.language.reading.source import SourceLine
from plaudit.reward.task.statements import Basis

Severity = Literal["warning", "advice", "note"]
"""A warning is a flaw; advice is worth a look; a note is a fact about the formula, printed in one line."""
SEVERITIES: tuple[Severity, ...] = ("note", "advice", "warning")
"""From the least to the most severe."""
BASES: tuple[Basis, ...] = ("declared", "seen", "default")
"""From the strongest to the weakest."""


@dataclass(frozen=True, slots=True)
class Step:
    """One row of a witness: the inputs, and the total that the reward computes from them."""

    inputs: Mapping[str, float | bool | str]
    """Inputs by name: `distance`, `prev.phase`, `torque[0]`."""
    total: float | None = None
    """The reward of this row; None if it cannot be scored."""
    note: str = ""
    """A label for this row: "better", "at the edge of the goal"."""
    about: tuple[str, ...] = ()
    """The inputs that matter; empty means all of them."""
    record: int | None = None
    """The ledger record that it is, for `plaudit ledger why`."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A statement about steps that a finding rests on, and where it comes from."""

    says: str
    """"that speed happens in single steps", "the range of x"."""
    basis: Basis
    seen: str = ""
    """How often it was observed: "9,975 of 9,975 steps"."""


Claim = Literal["stay", "cycle", "step", "end"]
"""What a witness says can be done: stay in a state, repeat a cycle, make a step, end the episode."""
Verdict = Literal["seen", "contradicted", "not tried"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What observed steps say about a finding's witness."""

    verdict: Verdict
    """"contradicted" if enough steps came near the witness and none of them agrees with it."""
    says: str
    """One sentence: "Seen: 214 of 10,000 steps were like this."."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A flaw of a reward, with the inputs that show it.

    `check` returns them in a `Report`. The message says what is wrong, the witness holds rows to score, and the advice
    says what to do.

    >>> from plaudit import Field, Reward, check, term
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> [finding] = check(Reward("r", version="1", terms=[near], fields=[Field("distance", low=0, high=9)]))
    >>> finding.code, finding.severity, finding.term
    ('jump', 'note', 'near')
    >>> [(row.inputs, row.total) for row in finding.witness]
    [({'distance': 1.999}, 1.0), ({'distance': 2.0}, 0.0), ({'distance': 2.001}, 0.0)]
    """

    code: str
    """The code of the rule: `loop-that-pays`."""
    severity: Severity
    term: str
    """The term it is about; "total" if it is about the whole reward."""
    message: str
    """What is wrong, in a sentence or two."""
    advice: str
    """What to do about it."""
    witness: tuple[Step, ...] = ()
    place: SourceLine | None = None
    """The source line."""
    facts: tuple[str, ...] = ()
    """Declared facts that the finding rests on."""
    grounds: tuple[Ground, ...] = ()
    """Statements of the task that it rests on: declared, observed, or assumed by default."""
    claims: Claim | None = None
    """What its witness says can be done; None if it is about the formula alone."""
    evidence: Evidence | None = None
    """What observed steps say about it; None if there are none, or they say nothing."""

    @property
    def basis(self) -> Basis:
        """The weakest basis of its grounds: "declared", "seen" or "default"."""
        return max((each.basis for each in self.grounds), key=BASES.index, default="declared")

    @property
    def is_seen(self) -> bool:
        """Whether observed steps show it."""
        return self.evidence is not None and self.evidence.verdict == "seen"

    @property
    def is_contradicted(self) -> bool:
        """Whether observed steps contradict it."""
        return self.evidence is not None and self.evidence.verdict == "contradicted"

    def list_weak_grounds(self) -> list[str]:
        """Return the grounds that were not declared: one sentence for observed ones, one for defaults.

        Returns:
            Up to two sentences, as a report prints them.
        """
        seen = [f"{each.says} ({each.seen})" for each in self.grounds if each.basis == "seen"]
        assumed = [each.says for each in self.grounds if each.basis == "default"]
        lines = [f"Seen, not declared: {', '.join(seen)}."] if seen else []
        return [*lines, f"Assumed by default: {', '.join(assumed)}."] if assumed else lines


IncentiveKind = Literal["step", "stay", "lap", "pace", "goal", "end", "bad end", "event", "idle"]


@dataclass(frozen=True, slots=True)
class Incentive:
    """One behavior that a reward pays for, and how much it pays.

    `incentives(reward)` and `report.incentives` hold them, best paid first.

    >>> from plaudit import Field, Reward, Task, incentives, term
    >>> @term
    ... def back(distance):
    ...     return 0.5 if distance > 40 else 0.0
    >>> fields, task = [Field("distance", low=0, high=200, unit="m")], Task(states=["distance"])
    >>> [stay] = incentives(Reward("follow", version="1", terms=[back], fields=fields, task=task))
    >>> stay.kind, stay.where, stay.pay
    ('stay', 'distance beyond 40 m', 0.5)
    """

    kind: IncentiveKind
    """A single step; staying put; a cycle ("lap"); keeping up a speed ("pace"); a step that reaches the goal; what the
    best end adds to a step, and the cheapest bad end; an event; doing nothing."""
    pay: float
    """The reward of its witness: per step for a stay, a cycle, a speed and doing nothing, otherwise once. Infinite if
    there is no bound; the witness then shows a large value."""
    where: str
    """Where, in words: "distance beyond 40 m"."""
    witness: tuple[Step, ...]
    """A step, or all steps of a cycle, with the rewards computed for them."""
    bound: float
    """An upper bound on what it pays; equal to `pay` if that is proved to be the maximum."""
    worth: str = ""
    """The sum over an episode, in words: "500 over 1,000 steps". Empty if neither discount nor horizon is declared."""
    value: float = 0.0
    """The sum over an episode, as a number; infinite if it pays in every step and no length is declared."""


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that its reward allows, and the reason on record."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A rule that failed: a bug in plaudit, not in the reward."""

    code: str
    error: str
    """The error, and where it was raised: "ValueError: Exceeds the limit (z3.py, line 230)"."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """A question that was asked but not answered."""

    code: str
    term: str
    why: str
    """"z3 ran out of time", "z3 is not installed: pip install 'plaudit[prove]'"."""
