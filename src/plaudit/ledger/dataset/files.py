"""The files of a data set: their parts, and what came of scoring them."""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from plaudit.errors import FileError
from plaudit.ledger.dataset.sources import Part, list_parts
from plaudit.rows.addresses import find_local_path, resolve_address
from plaudit.terminal import escape_controls, format_count

if TYPE_CHECKING:
    from plaudit.ledger.rescore.changes import Changes


@dataclass(frozen=True, slots=True)
class FileScoring:
    """The result of `score_file`: rows scored, rows that cannot be scored, and what changed.

    Example:
        ```python
        done = score_file(reward, "drive.parquet", "scored.parquet", against="old_total")
        print(done)                              # a summary
        print(done.rows, done.bad, done.reasons) # counts
        print(done.changes)                      # old totals against new ones
        ```
    """

    reward: str
    """Name and version: `following@1`."""
    fingerprint: str
    source: str
    output: str
    """The file or folder that was written."""
    engine: str
    """The engine: numpy, numba, ray or spark."""
    rows: int
    """Rows written, bad ones among them."""
    bad: int = 0
    """Rows that cannot be scored: `ok` is false, and every new number is NULL."""
    reasons: dict[str, int] = field(default_factory=dict)
    """The number of bad rows by reason (the first one of each row)."""
    unreadable: int = 0
    """Lines of CSV or JSON Lines that are not rows; they are left out."""
    bad_rows: str | None = None
    """The file with bad rows, and lines that are not rows."""
    resumed: int = 0
    """Parts that an earlier run had finished."""
    remarks: tuple[str, ...] = ()
    """Columns that may be misspelled: an input with nearly the same name takes its default."""
    changes: "Changes | None" = None
    """Changes against another reward, or a column of totals."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON.

        Returns:
            The fields by name.
        """
        plain = {name: getattr(self, name) for name in FileScoring.__slots__}
        return {**plain, "reasons": dict(self.reasons), "changes": self.changes and self.changes.to_dict()}

    def __str__(self) -> str:
        """Return a few lines that a person can read."""
        scored = format_count(self.rows - self.bad, "row")
        written = "" if self.output == "-" else f" and written to {self.output}"
        lines = [f"{scored} scored with {self.reward}{written}."]
        if self.resumed:
            lines.append(f"Resumed: {format_count(self.resumed, 'part')} finished by an earlier run.")
        if self.bad:
            verb = "is" if self.bad == 1 else "are"
            lines.append(f"{format_count(self.bad, 'row')} cannot be scored, and {verb} written with NULL:")
            lines += [f"  {count:,} × {reason}" for reason, count in self.reasons.items()]
        if self.unreadable:
            lines.append(f"{format_count(self.unreadable, 'line')} left out: not readable as rows.")
        if self.bad_rows is not None:
            lines.append(f"Bad rows are in {self.bad_rows}.")
        lines += self.remarks
        return escape_controls("\n".join(lines if self.changes is None else [*lines, "", str(self.changes)]))


def find_parts(source: str) -> list[Part] | None:
    """Return the parts that an engine of many processes reads, in order; None where `source` is a single file.

    They may be CSV or JSON Lines; those of a folder count where it has no Parquet.
    """
    found = list_parts(resolve_address(source), text=True)
    if found is not None and found[0].table is not None:
        raise FileError(f"{source} is a Delta table, which the engines ray and spark do not read; use the local one.")
    return found


def locate(path: str) -> str:
    """Return a path as every process sees it, an address as it is."""
    local = find_local_path(path)
    return path if local is None else os.path.realpath(local)
