"""A part of a data set cut into pieces, each scored by itself in any process, and joined to a part again."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plaudit.atomic import AtomicFile, AtomicPath
from plaudit.errors import DefinitionError, InputError, PlauditError
from plaudit.ledger.dataset.earlier import catch_up
from plaudit.ledger.dataset.job import NOTE, Job, Run, make_tracks
from plaudit.rows.bad_rows import BadRows
from plaudit.rows.streams import Format

ROWS, NOTES, CHANGES, BAD = "rows", "note.json", "changes.npz", "bad.jsonl"
"""The files of a piece in its folder; the note is written last, and says that the others are complete."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a part, to be scored: all of a file, or some row groups of a Parquet file."""

    job: Job
    part: str
    read: Format
    written: Format
    groups: range | None
    first: int
    """How many rows of the data set come before them."""
    folder: Path
    data: str = ""
    """The data set."""
    keeps_bad: bool = False
    begins: float | None = None
    """The number of the first step of its first episode, where rewards carry something from row to row."""

    def run(self) -> None:
        """Score the rows, compare them, and write what came of it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        changes = self.job.make_changes(self.first)
        tracks = make_tracks(self.begins if self.begins in (0, 1) else None)
        run = Run(self.job, self.part, self.read, self.written, changes, self.groups, tracks)
        if run.in_order:
            catch_up(self.job, self.data, run, self.groups, self.read, self.begins)
        with BadRows(os.fspath(self.folder / BAD)) if self.keeps_bad else nullcontext() as bad:
            run.write(os.fspath(self.folder / ROWS), bad, None)
        if changes is not None:
            _save_changes(changes, self.folder)
        _write_counts(self.folder, {**run.count(), "unreadable": run.unreadable})


@dataclass(frozen=True, slots=True)
class Join:
    """The pieces of one Parquet part, to become one file: batch by batch, in the order of the rows."""

    pieces: Sequence[Piece]
    folder: Path

    @property
    def part(self) -> str:
        """The file that the pieces are from."""
        return self.pieces[0].part

    def run(self) -> None:
        """Copy the rows of all pieces, and add up what their notes say."""
        self.folder.mkdir(parents=True, exist_ok=True)
        notes = [read_note(piece.folder) or {} for piece in self.pieces]
        note = {
            **{name: sum(each[name] for each in notes) for name in ("rows", "bad", "unreadable")},
            "reasons": dict(sum((Counter(each["reasons"]) for each in notes), Counter())),
        }
        job = self.pieces[0].job
        self._join_rows({**job.identity, **{name: note[name] for name in ("rows", "bad", "reasons")}})
        if self.pieces[0].keeps_bad:
            join_texts([piece.folder / BAD for piece in self.pieces], self.folder / BAD)
        if job.against is not None:
            from plaudit.ledger.rescore.stored import load_changes

            changes = load_changes(self.pieces[0].folder / CHANGES)
            for piece in self.pieces[1:]:
                changes.merge(load_changes(piece.folder / CHANGES))
            _save_changes(changes, self.folder)
        _write_counts(self.folder, note)

    def _join_rows(self, about: dict[str, Any]) -> None:
        from plaudit.rows.parquet_files import copy_parquet

        with AtomicPath(self.folder / ROWS) as draft:
            sources = [os.fspath(piece.folder / ROWS) for piece in self.pieces]
            copy_parquet(sources, os.fspath(draft.path), {NOTE: json.dumps(about)})
            draft.commit()


Task = Piece | Join


def run_task(task: Task) -> PlauditError | None:
    """Do a task, in a process of an engine; an error that a second attempt would meet again is returned.

    At any other one the engine tries again, somewhere else perhaps.
    """
    try:
        task.run()
    except (InputError, DefinitionError) as error:
        return error
    return None


def _write_counts(folder: Path, counts: dict[str, Any]) -> None:
    write_note(folder, {**counts, "bytes": (folder / ROWS).stat().st_size})


def write_note(folder: Path, note: dict[str, Any]) -> None:
    """Write a note into a folder."""
    with AtomicFile(folder / NOTES) as draft:
        draft.file.write(json.dumps(note) + "\n")
        draft.commit()


def read_note(folder: Path) -> dict[str, Any] | None:
    """Return the note in a folder; None where there is none."""
    try:
        found: dict[str, Any] = json.loads((folder / NOTES).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found


def join_texts(sources: Sequence[Path], target: Path) -> None:
    """Write files of lines one behind the other."""
    with AtomicPath(target) as draft:
        with draft.path.open("wb") as joined:
            for source in sources:
                with source.open("rb") as file:
                    shutil.copyfileobj(file, joined)
        draft.commit()


def _save_changes(changes: Any, folder: Path) -> None:
    from plaudit.ledger.rescore.stored import save_changes

    with AtomicPath(folder / CHANGES) as draft:
        save_changes(changes, draft.path)
        draft.commit()
