"""A folder of Parquet parts: each is written whole or not at all, and a run that was stopped goes on where it was."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from plaudit.atomic import AtomicFile, build_write_error
from plaudit.errors import FileError
from plaudit.ledger.dataset.files import FileScoring
from plaudit.ledger.dataset.job import NOTE, Job, Progress, Run, build_outcome, make_tracks
from plaudit.rows.arrow import translate_read_errors

SUMMARY = "_plaudit.json"
"""Written when every part is there. Readers of Parquet folders pass over names that begin with an underscore."""


def score_parts(
    job: Job, source: str, parts: Sequence[Path], target: Path, *, overwrite: bool, progress: Progress | None
) -> FileScoring:
    """Score every part into the folder `target`."""
    if any(part.parent.resolve() == target.resolve() for part in parts):
        raise FileError(f"{target} is the folder that the rows are read from; write to another one.")
    changes = job.make_changes()
    # Every part has every column, before one is read.
    tracks = make_tracks()
    runs = [Run(job, str(part), "parquet", "parquet", changes, tracks=tracks) for part in parts]
    _make_folder(target)
    done = {run.source.name: _read_finished(job, run, target) for run in runs}
    if runs[0].in_order:  # what is carried into a part comes from those before it
        kept = set(takewhile(lambda name: done[name], done))
        done = {name: note if name in kept else None for name, note in done.items()}
    _refuse_others(target, [name for name, note in done.items() if note is None], overwrite)
    (target / SUMMARY).unlink(missing_ok=True)
    tally = _Tally(sum(run.source.rows or 0 for run in runs), progress)
    for run in runs:
        note = done[run.source.name]
        if note is None:
            run.write(str(target / Path(run.source.name).name), None, tally.report)
            note = {"rows": run.rows, "bad": run.scoring.bad, "reasons": run.scoring.reasons}
        elif changes is not None or run.in_order:
            for _ in run.score(None, tally.report):
                pass  # what changed is counted on the way, and what is carried goes on
        tally.add(note, run.source.rows or 0)
    resumed = sum(note is not None for note in done.values())
    remarks = dict.fromkeys(remark for run in runs for remark in run.scoring.remarks)
    counts = {**tally.counts, "resumed": resumed, "remarks": remarks}
    found = build_outcome(job, source, str(target), runs[0].scoring.target, counts, changes)
    with AtomicFile(target / SUMMARY) as draft:
        draft.file.write(json.dumps(found.to_dict(), indent=2, default=str) + "\n")
        draft.commit()
    return found


@dataclass(slots=True)
class _Tally:
    """What all parts add up to."""

    total: int
    progress: Progress | None
    done: int = 0
    rows: int = 0
    bad: int = 0
    reasons: Any = None

    def report(self, done: int, total: int | None) -> None:
        """Pass on how far one part has come."""
        if self.progress is not None:
            self.progress(self.done + done, self.total)

    def add(self, note: dict[str, Any], size: int) -> None:
        """Add a part that is finished."""
        self.done += size
        self.rows += note["rows"]
        self.bad += note["bad"]
        self.reasons = Counter(self.reasons or {}) + Counter(note["reasons"])
        self.report(0, 0)

    @property
    def counts(self) -> dict[str, Any]:
        return {"rows": self.rows, "bad": self.bad, "reasons": self.reasons or {}}


def _make_folder(target: Path) -> None:
    try:
        target.mkdir(exist_ok=True)
    except FileExistsError:
        raise FileError(f"{target} is a file; parts are written to a folder.") from None
    except OSError as error:
        raise build_write_error(os.fspath(target), error) from None


def _read_finished(job: Job, run: Run, target: Path) -> dict[str, Any] | None:
    """Return what a part that an earlier run wrote says of itself; None where it is to be written."""
    path = target / Path(run.source.name).name
    if not path.exists():
        return None
    with translate_read_errors(str(path)):
        footer = pq.ParquetFile(path).metadata
    note = (footer.metadata or {}).get(NOTE.encode())
    if note is None:
        return None
    content: dict[str, Any] = json.loads(note)
    mine = json.loads(json.dumps(job.identity))
    same = all(content.get(key) == value for key, value in mine.items()) and content["rows"] == run.source.rows
    fresh = path.stat().st_mtime >= Path(run.source.name).stat().st_mtime
    return content if same and fresh else None


def _refuse_others(target: Path, to_write: Sequence[str], overwrite: bool) -> None:
    """Refuse to write over a part that something else has made."""
    for name in to_write:
        path = target / Path(name).name
        if path.exists() and not overwrite:
            raise FileError(
                f"{path} already exists and is not a part of this job; name another folder, or pass "
                "overwrite=True (--force)."
            )
