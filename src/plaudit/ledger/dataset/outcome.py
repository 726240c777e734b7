"""What comes back from re-scoring a data set."""

from dataclasses import dataclass, field
from typing import Any

from plaudit.ledger.changes.changes import Changes
from plaudit.ledger.wording import counted


@dataclass(frozen=True, slots=True)
class FileRescoring:
    """What was scored, what could not be, and what changed."""

    reward: str
    """Name and version: `roadsense@R8`."""
    fingerprint: str
    source: str
    output: str
    """The file or folder that was written."""
    engine: str
    """What computed the scores: numpy or numba, ray, spark."""
    rows: int
    """Rows written, bad ones among them."""
    bad: int = 0
    """Rows that have no reward: `ok` is false there, and every number NULL."""
    reasons: dict[str, int] = field(default_factory=dict)
    """How many rows are bad for which reason, the first one of each row."""
    unreadable: int = 0
    """Lines that are no row at all, of CSV or JSON Lines; they are left out."""
    resumed: int = 0
    """Parts of a folder that an earlier run had finished."""
    changes: Changes | None = None
    """Against another reward, or a column of totals."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        plain = {name: getattr(self, name) for name in FileRescoring.__slots__}
        return {**plain, "reasons": dict(self.reasons), "changes": self.changes and self.changes.to_dict()}

    def __str__(self) -> str:
        """Return a few lines that a person can read."""
        scored = counted(self.rows - self.bad, "row")
        lines = [f"{scored} scored with {self.reward} and written to {self.output}."]
        if self.resumed:
            lines.append(f"{counted(self.resumed, 'part')} of it had been finished before.")
        if self.bad:
            lines.append(f"{counted(self.bad, 'row')} cannot be scored, and written with NULL:")
            lines += [f"  {count:,} × {reason}" for reason, count in self.reasons.items()]
        if self.unreadable:
            lines.append(f"{counted(self.unreadable, 'line')} left out: no row can be read there.")
        return "\n".join(lines if self.changes is None else [*lines, "", str(self.changes)])
