"""What a comparison found: how many rows agreed, and the simplest one that does not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plaudit.checks.parity.answer import Answer
from plaudit.checks.parity.rows import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A row on which the two do not agree, or on which the program failed."""

    inputs: Mapping[str, Value]
    """By the names of a row: `distance`, `prev.phase`, `torque[0]`."""
    row: str
    """The row as the program gets it: one line of JSON."""
    expected: Answer
    """What the reward makes of it."""
    got: Answer | None
    """What the program answered; None where it failed."""
    terms: tuple[str, ...] = ()
    """The terms that differ; those that may be it where the program does not give their values; "total" where every
    value is right and the total is not; none where it failed."""
    kind: str = "different"
    """`different`, or how the program failed: `timeout`, `ended`, `garbage` …"""
    failure: str = ""
    """How the program failed, in a sentence without its subject: `ended with exit code 3`."""
    tolerance: float = 0.0
    """How far the numbers of this row may be apart."""
    breaks: tuple[str, ...] = ()
    """Declared facts that this row breaks."""
    simplest: bool = True
    """Whether simpler rows were tried; they are not where each would take the whole time limit."""
    line: int | None = None
    """The line of a file of recorded pairs."""
    note: str = ""
    """What else is odd about it."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "kind": self.kind,
            "inputs": {name: _plain(value) for name, value in self.inputs.items()},
            "row": self.row,
            "expected": _answer(self.expected),
            "got": _answer(self.got) if self.got else None,
            "terms": list(self.terms),
            "failure": self.failure,
            "tolerance": self.tolerance,
            "breaks": list(self.breaks),
            "simplest": self.simplest,
            "line": self.line,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityReport:
    """How a reward and another implementation of it compare."""

    reward: str
    version: str
    fingerprint: str
    against: str
    """The program, the function or the file."""
    tested: int
    """Rows that were compared until the two disagreed, or until the end."""
    refused: int = 0
    """Rows that the reward itself refuses: they are not compared."""
    aside: int = 0
    """Rows set aside: they stand so close to a boundary of an inexact number that rounding alone decides the side."""
    differing: int = 0
    """Of a file of recorded pairs, the lines that differ; else 1 where there is a mismatch."""
    mismatch: Mismatch | None = None
    tolerance: float | None = None
    """How far two numbers may be apart; None where each row says for itself (see `Mismatch.tolerance`)."""

    @property
    def ok(self) -> bool:
        """Whether the two agree on every row that was compared."""
        return self.mismatch is None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        names = ("reward", "version", "fingerprint", "against", "ok", "tested", "refused", "aside", "differing")
        found = {name: getattr(self, name) for name in names}
        return {
            **found,
            "tolerance": self.tolerance,
            "mismatch": self.mismatch.to_dict() if self.mismatch else None,
        }


def _answer(answer: Answer) -> dict[str, Any]:
    return {"total": answer.total, "values": dict(answer.values)}


def _plain(value: Value) -> Value:
    return str(value) if value in (float("inf"), float("-inf")) else value
