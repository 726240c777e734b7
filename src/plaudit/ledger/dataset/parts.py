"""A folder of Parquet parts: each is written whole or not at all, and a run that was stopped goes on where it was."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyarrow.fs import FileInfo, FileSelector

from plaudit.atomic import build_write_error
from plaudit.errors import FileError
from plaudit.ledger.dataset.files import FileScoring
from plaudit.ledger.dataset.job import NOTE, Job, Progress, Run, build_outcome, make_tracks
from plaudit.ledger.dataset.sources import Part, find_folder, is_table
from plaudit.rows.addresses import explain_storage_errors, find_local_path, join_address, open_address
from plaudit.rows.parquet_files import explain_read_errors
from plaudit.rows.streams import Output

SUMMARY = "_plaudit.json"
"""Written when every part is there. Readers of Parquet folders pass over names that begin with an underscore."""


def score_parts(
    job: Job, source: str, parts: Sequence[Part], target: str, *, overwrite: bool, progress: Progress | None
) -> FileScoring:
    """Score every part into the folder `target`; those of a Delta table become a Delta table."""
    if _find_place(target) in {_find_place(each) for each in (source, *(find_folder(part.path) for part in parts))}:
        raise FileError(f"{target} is the folder that the rows are read from; write to another one.")
    changes = job.make_changes()
    # Every part has every column, before one is read.
    tracks = make_tracks()
    runs = [Run(job, part.path, "parquet", "parquet", changes, tracks=tracks, table=part.table) for part in parts]
    if parts[0].table is not None:
        from plaudit.ledger.dataset.table_target import TableTarget

        table = TableTarget(target, runs[0], parts, overwrite=overwrite)
        names = table.names
    else:
        table, names = None, [part.name for part in parts]
        if is_table(target):
            raise FileError(f"{target} is a Delta table, and {source} is not; name another folder.")
    folder = PartsFolder(target)
    done = [folder.read_finished(*each) for each in zip(runs, names, (p.table is not None for p in parts), strict=True)]
    if runs[0].in_order:  # what is carried into a part comes from those before it
        whole = len([*takewhile(bool, done)])
        done[whole:] = [None] * (len(done) - whole)
    if not overwrite:
        folder.refuse_others(name for name, note in zip(names, done, strict=True) if note is None)
    folder.remove_summary()
    tally = _Tally(sum(run.source.rows or 0 for run in runs), progress)
    for run, name, note in zip(runs, names, done, strict=True):
        if note is None:
            run.write(join_address(target, name), None, tally.report)
            note = {"rows": run.rows, "bad": run.scoring.bad, "reasons": run.scoring.reasons}
        elif changes is not None or run.in_order:
            for _ in run.score(None, tally.report):
                pass  # what changed is counted on the way, and what is carried goes on
        tally.add(note, run.source.rows or 0)
    resumed = sum(note is not None for note in done)
    remarks = dict.fromkeys(remark for run in runs for remark in run.scoring.remarks)
    counts = {**tally.counts, "resumed": resumed, "remarks": remarks}
    found = build_outcome(job, source, target, runs[0].scoring.target, counts, changes)
    if table is not None:
        table.commit(folder.measure(), [run.source.rows or 0 for run in runs])
    else:
        folder.write_summary(found)
    return found


def _find_place(folder: str) -> str:
    """Return what two names of a folder have in common."""
    local = find_local_path(folder)
    return folder.rstrip("/") if local is None else os.path.realpath(local)


class PartsFolder:
    """A folder that parts are written to, on a disk or in object storage."""

    def __init__(self, target: str) -> None:
        """Make the folder where it is one of a disk, and list what is in it."""
        self._target = target
        self._files, self._path = open_address(target)
        if find_local_path(target) is not None:
            _make_folder(Path(self._path), target)
        self._there = self._list()

    def _list(self) -> dict[str, FileInfo]:
        with explain_storage_errors(self._target):
            infos = self._files.get_file_info(FileSelector(self._path, allow_not_found=True))
        return {info.base_name: info for info in infos}

    def read_finished(self, run: Run, name: str, of_table: bool) -> dict[str, Any] | None:
        """Return what a part that an earlier run wrote says of itself; None where it is to be written."""
        info = self._there.get(name)
        if info is None:
            return None
        with explain_read_errors(join_address(self._target, name)):
            footer = pq.ParquetFile(info.path, filesystem=self._files).metadata
        note = (footer.metadata or {}).get(NOTE.encode())
        if note is None:
            return None
        content: dict[str, Any] = json.loads(note)
        mine = json.loads(json.dumps(run.job.identity))
        same = all(content.get(key) == value for key, value in mine.items()) and content["rows"] == run.source.rows
        # a file of a table never changes
        return content if same and (of_table or info.mtime_ns >= _read_time(run.source.name)) else None

    def refuse_others(self, to_write: Iterable[str]) -> None:
        """Refuse to write over a part that something else has made."""
        for name in to_write:
            if name in self._there:
                raise FileError(
                    f"{join_address(self._target, name)} already exists and is not a part of this job; name another "
                    "folder, or pass overwrite=True (--force)."
                )

    def remove_summary(self) -> None:
        """Remove what says that every part is there."""
        if SUMMARY in self._there:
            with explain_storage_errors(self._target):
                self._files.delete_file(self._there[SUMMARY].path)

    def write_summary(self, found: FileScoring) -> None:
        """Say that every part is there."""
        with Output(join_address(self._target, SUMMARY)) as draft:
            draft.file.write(json.dumps(found.to_dict(), indent=2, default=str) + "\n")
            draft.commit()

    def measure(self) -> dict[str, int]:
        """Return the size in bytes of everything that is there now."""
        return {name: int(info.size) for name, info in self._list().items() if info.is_file}


def _read_time(address: str) -> int:
    """Return when a file was written, in nanoseconds."""
    files, path = open_address(address)
    with explain_storage_errors(address):
        return int(files.get_file_info(path).mtime_ns)


def _make_folder(target: Path, name: str) -> None:
    try:
        target.mkdir(exist_ok=True)
    except FileExistsError:
        raise FileError(f"{name} is a file; parts are written to a folder.") from None
    except OSError as error:
        raise build_write_error(name, error) from None


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
