"""The files of a data set: their parts, and what came of scoring them."""

import glob
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plaudit.errors import FileError
from plaudit.terminal import escape_controls, format_count

if TYPE_CHECKING:
    from plaudit.ledger.rescore.changes import Changes


@dataclass(frozen=True, slots=True)
class FileScoring:
    """What was scored, what could not be, and what changed."""

    reward: str
    """Name and version: `following@1`."""
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
    """Lines that are not rows, of CSV or JSON lines; they are left out."""
    bad_rows: str | None = None
    """The file that keeps bad rows, and lines that are not rows, as they were."""
    resumed: int = 0
    """Parts of a folder that an earlier run had finished."""
    remarks: tuple[str, ...] = ()
    """Columns that may be misspelt: an input has nearly their name, and takes its default."""
    changes: "Changes | None" = None
    """Against another reward, or a column of totals."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        plain = {name: getattr(self, name) for name in FileScoring.__slots__}
        return {**plain, "reasons": dict(self.reasons), "changes": self.changes and self.changes.to_dict()}

    def __str__(self) -> str:
        """Return a few lines that a person can read."""
        scored = format_count(self.rows - self.bad, "row")
        written = "" if self.output == "-" else f" and written to {self.output}"
        lines = [f"{scored} scored with {self.reward}{written}."]
        if self.resumed:
            lines.append(f"{format_count(self.resumed, 'part')} of it had been finished before.")
        if self.bad:
            verb = "is" if self.bad == 1 else "are"
            lines.append(f"{format_count(self.bad, 'row')} cannot be scored, and {verb} written with NULL:")
            lines += [f"  {count:,} × {reason}" for reason, count in self.reasons.items()]
        if self.unreadable:
            lines.append(f"{format_count(self.unreadable, 'line')} left out: no row can be read there.")
        if self.bad_rows is not None:
            lines.append(f"Bad rows are kept in {self.bad_rows}.")
        lines += self.remarks
        return escape_controls("\n".join(lines if self.changes is None else [*lines, "", str(self.changes)]))


def find_parts(source: str) -> list[Path] | None:
    """Return the Parquet parts of a folder or a pattern in order; None where `source` is a single file."""
    path = Path(source)
    if path.is_dir():
        found = [part for part in path.iterdir() if part.suffix == ".parquet" and not part.name.startswith((".", "_"))]
        if any(part.parent != path for part in path.rglob("*.parquet")):
            raise FileError(f"{source} has Parquet files in folders below it; score one folder at a time.")
        if not found:
            raise FileError(f"the folder {source} has no .parquet file.")
        return sorted(found)
    if glob.has_magic(source) and not path.exists():
        matching = sorted(map(Path, glob.glob(source)))
        names = [part.name for part in matching]
        if not matching:
            raise FileError(f"no file matches {source}.")
        for part in matching:
            if part.suffix not in (".parquet", ".pq"):
                raise FileError(f"{part} is not Parquet; a pattern names Parquet files, and other files one at a time.")
            if names.count(part.name) > 1:
                raise FileError(f"two files that match {source} are called {part.name}; score one folder at a time.")
        return matching
    return None
