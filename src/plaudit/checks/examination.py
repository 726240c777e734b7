"""One examination of one reward: what every rule asks with, and the words in which it answers."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from plaudit.checks.ask import Solver
from plaudit.checks.bounds import Ranges, Span
from plaudit.checks.finding import Finding, Place, Severity, Step, Undecided
from plaudit.checks.rules import RULES
from plaudit.checks.smt import available
from plaudit.checks.subject import Subject
from plaudit.reward.reward import Reward

ROUGH = 40
"""How many boxes are cut where a rough bound will do."""
INSTALL = "z3 is not installed: pip install 'plaudit[prove]'"


@dataclass(frozen=True)
class Examination:
    """A reward, and the means to ask about it; what is expensive to know is kept."""

    subject: Subject
    solver: Solver
    known: dict[str, Any] = field(default_factory=dict)
    """What one rule found out and another wants to know."""
    _spans: dict[tuple[str, bool], Span] = field(default_factory=dict)

    @cached_property
    def _ranges(self) -> tuple[Ranges, Ranges]:
        rough = replace(self.solver, z3=False, boxes=ROUGH)
        return Ranges(self.subject, rough), Ranges(self.subject, self.solver)

    @property
    def reward(self) -> Reward:
        """The reward that is examined."""
        return self.subject.reward

    def span(self, output: str, *, tight: bool = False) -> Span:
        """Return the lowest and highest value of an output over every step that can happen.

        Boxes are quick and mostly exact; z3 is asked as well where the bounds must be `tight`.
        """
        if (output, tight) not in self._spans:
            rough = self._spans.get((output, False))
            known = rough is not None and rough.exact
            self._spans[output, tight] = rough if known and rough else self._ranges[tight].span(output)
        return self._spans[output, tight]

    def finding(
        self,
        code: str,
        term: str,
        message: str,
        advice: str,
        *,
        witness: tuple[Step, ...] = (),
        severity: Severity | None = None,
        facts: tuple[str, ...] = (),
        place: Place | None = None,
    ) -> Finding:
        """Return a finding of a rule, as grave as the rule says unless told otherwise."""
        return Finding(
            code=code,
            severity=severity or RULES[code].severity,
            term=term,
            message=message,
            advice=advice,
            witness=witness,
            place=place or self.subject.where(term),
            facts=facts,
        )

    def undecided(self, code: str, term: str, what: str = "") -> Undecided:
        """Return that a question was asked and not answered."""
        why = unanswered(self.solver)
        return Undecided(code, term, f"{what}: {why}" if what else why)


def unanswered(solver: Solver) -> str:
    """Return why a question was left open."""
    if solver.late:
        return "the time for this reward was up"
    if solver.proves:
        return f"no answer within {solver.timeout:g} s a query"
    return INSTALL if not available() else "z3 was not to be used"


def number(value: Any) -> str:
    """Return a number as people write it.

    >>> number(12000.0), number(0.30000000000000004), number(-0.0)
    ('12,000', '0.3', '0')
    """
    rounded = float(f"{value:.6g}") + 0.0
    return f"{rounded:,.0f}" if abs(rounded) < 1e15 and rounded == int(rounded) else f"{rounded:g}"
