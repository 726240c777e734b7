"""What an engine has finished of a data set: a note of each part, beside the parts, that a later run reads."""

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from plaudit.atomic import build_write_error, sync_folder
from plaudit.errors import FileError
from plaudit.ledger.dataset.job import Job, Run
from plaudit.ledger.dataset.pieces import BAD, CHANGES, ROWS, Join, Piece, read_note, write_note
from plaudit.reward.reward import Reward
from plaudit.rows.addresses import find_local_path
from plaudit.rows.objects import find_object
from plaudit.rows.streams import Format

FOLDER = "_plaudit"
"""Holds the notes and pieces of a job. Readers of Parquet folders pass over names that begin with an underscore."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the data set, what it becomes, and what is known of it before its rows are read."""

    source: str
    target: Path
    folder: Path
    """Where its note and its pieces are."""
    read: Format
    written: Format
    stamp: tuple[int | str, ...]
    """Size and time of the source: a part whose source changed is scored again."""
    groups: tuple[int, ...]
    """The rows of each row group that can be scored by itself."""
    rows: int | None
    remarks: tuple[str, ...]
    in_order: bool
    """Whether a reward needs more than a row: what is carried into this part comes from those before it."""

    def find_note(self, job: Job) -> dict[str, Any] | None:
        """Return the note of this part if it is finished; None where it is to be scored."""
        note = read_note(self.folder)
        if note is None or note["source"] != [*self.stamp] or not self._is_made_by(job, note):
            return None
        compared = job.against is None or note["compared"] == hash_comparison(job)
        return note if compared and (job.masks or not note["bad"]) else None

    def refuse_other(self, job: Job) -> None:
        """Refuse to write over a file that this job did not write."""
        note = read_note(self.folder)
        if self.target.exists() and (note is None or not self._is_made_by(job, note)):
            raise FileError(
                f"{self.target} already exists and is not a part of this job; name another folder, or pass "
                "overwrite=True (--force)."
            )

    def _is_made_by(self, job: Job, note: dict[str, Any]) -> bool:
        try:
            return bool(note["job"] == hash_job(job) and note["bytes"] == self.target.stat().st_size)
        except OSError:
            return False

    def cut(self, job: Job, count: int, first: int, **options: Any) -> list[Piece]:
        """Return this part as so many pieces, or as many as it has row groups; `options` are those of each."""
        pieces = []
        for groups in _share(self.groups, count):
            about = [*_hash_both(job), self.stamp, self.written, groups and [groups.start, groups.stop]]
            folder = self.folder / _hash(about)
            before = first if groups is None else first + sum(self.groups[: groups.start])
            pieces.append(Piece(job, self.source, self.read, self.written, groups, before, folder, **options))
        return pieces

    def join(self, job: Job, pieces: Sequence[Piece]) -> Join:
        """Return what makes one file of pieces."""
        return Join(pieces, self.folder / _hash([*_hash_both(job), self.stamp, "joined", len(pieces)]))

    def finish(self, job: Job, folder: Path) -> dict[str, Any]:
        """Put the file in `folder`, which is complete, under the name of this part; return its note.

        The note comes first: a file under the name of a part always has a note.
        """
        note = read_note(folder)
        assert note is not None
        note |= {"part": self.target.name, "source": [*self.stamp], "identity": job.identity}
        note |= {"job": hash_job(job), "compared": hash_comparison(job)}
        try:
            for name in (CHANGES, BAD):
                if (folder / name).exists():
                    (folder / name).replace(self.folder / name)
            write_note(self.folder, note)
            (folder / ROWS).replace(self.target)
            sync_folder(self.target.parent)
        except OSError as error:
            raise build_write_error(os.fspath(self.target), error) from None
        for piece in self.folder.iterdir():
            if piece.is_dir():
                shutil.rmtree(piece, ignore_errors=True)
        return note


def inspect_part(job: Job, source: str, target: Path, work: Path, read: Format, written: Format) -> Part:
    """Return what is known of a part; a column that lacks is an error here, before any row is read."""
    run = Run(job, source, read, written, None)
    run.source.close()
    groups = tuple(getattr(run.source, "groups", ())) if written == "parquet" else ()
    folder = work / f"{target.name}.d"
    rows, remarks, in_order = run.source.rows, tuple(run.scoring.remarks), bool(run.in_order)
    return Part(source, target, folder, read, written, _read_stamp(source), groups, rows, remarks, in_order)


def _read_stamp(source: str) -> tuple[int, int]:
    if find_local_path(source) is not None:
        status = os.stat(source)
        return status.st_size, status.st_mtime_ns
    found = find_object(source)
    return int(found.size), int(found.mtime_ns)


def chain_stamps(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with stamps that change where a part before them does, if a reward carries something."""
    if not any(part.in_order for part in parts):
        return [*parts]
    chained, last = list[Part](), ""
    for part in parts:
        last = _hash([last, os.path.basename(part.source), part.stamp])
        chained.append(replace(part, stamp=(*part.stamp, last)))
    return chained


def hash_job(job: Job) -> str:
    """Return a name for what decides which numbers are written."""
    return _hash(job.identity)


def hash_comparison(job: Job) -> str | None:
    """Return a name for what the numbers are compared with."""
    if job.against is None:
        return None
    against = job.against.fingerprint if isinstance(job.against, Reward) else job.against
    return _hash([against, job.decision_class, job.decision])


def _hash_both(job: Job) -> tuple[str, str | None]:
    return hash_job(job), hash_comparison(job)


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _share(groups: Sequence[int], count: int) -> list[range | None]:
    """Return ranges of row groups with about as many rows each; None for a part that is scored whole."""
    if min(count, len(groups)) < 2:
        return [None]
    total, passed, ranges, start = sum(groups), 0, list[range | None](), 0
    for at, rows in enumerate(groups, start=1):
        passed += rows
        left = len(groups) - at
        if passed * count >= total * (len(ranges) + 1) or left < count - len(ranges) - 1:
            ranges.append(range(start, at))
            start = at
    if start < len(groups):
        ranges.append(range(start, len(groups)))
    return ranges
