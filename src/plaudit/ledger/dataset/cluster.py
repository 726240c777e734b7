"""A data set scored by an engine of many processes: cut into tasks, resumed where an earlier run was stopped."""

import json
import os
import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from plaudit.atomic import AtomicFile, build_write_error
from plaudit.errors import FileError, InputError, PlauditError, TargetError
from plaudit.file_lock import lock_folder
from plaudit.ledger.dataset import sources
from plaudit.ledger.dataset.earlier import find_first_step
from plaudit.ledger.dataset.files import FileScoring, find_parts, locate
from plaudit.ledger.dataset.job import Job, Progress, build_outcome
from plaudit.ledger.dataset.manifest import FOLDER, Part, chain_stamps, inspect_part
from plaudit.ledger.dataset.parts import SUMMARY
from plaudit.ledger.dataset.pieces import BAD, CHANGES, Piece, Task, join_texts, read_note, run_task
from plaudit.rows.addresses import is_address, resolve_address
from plaudit.rows.streams import STANDARD, Format, choose_format, find_format, find_identity, refuse_overlap

TASKS_A_SLOT = 2
"""Tasks for each one that can run at a time, at least: a slow one delays the end less."""
_UNKNOWN = 1 << 32
"""Rows that a text file is taken to have: where the next part begins among all rows."""
_READERS = 16
"""Parts that are looked at together."""


class Engine(Protocol):
    """What runs tasks in other processes."""

    @property
    def slots(self) -> int:
        """How many tasks run at a time."""

    def submit(self, work: Callable[[Task], PlauditError | None], task: Task) -> "Future[PlauditError | None]":
        """Start a task somewhere; it is tried again where its process or machine dies."""


def score_on_engine(
    job: Job,
    source: str,
    target: str,
    name: str,
    engine: AbstractContextManager[Engine],
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
    bad_rows: str | None = None,
    format: Format | None = None,
) -> FileScoring:
    """Score a file or a folder as `score_file` does, in the processes of an engine, called `name`.

    Every process must see `source`, which may be an address, and `target`, which is local. The engine is entered where
    there is something to do. `progress` gets the number of tasks.
    """
    source, target = resolve_address(source), resolve_address(target)
    bad_rows = None if bad_rows is None else resolve_address(bad_rows)
    for each in (target, bad_rows):
        if each is not None and is_address(each):
            raise FileError(
                f"{each}: the engine {name} writes to a disk that all machines share; name a local path, or use the "
                "local engine, which writes to addresses."
            )
    listed = find_parts(source)
    if STANDARD in (source, target):
        raise FileError("an engine reads and writes files: name them instead of - (--output).")
    if listed is None:
        found, work = [_inspect_file(job, source, target, format, overwrite)], _name_work(Path(target))
    else:
        if bad_rows is not None:
            raise FileError(f"{source} becomes a folder of parts: bad_rows= (--bad) is for a single file.")
        found, work = _inspect_folder(job, listed, Path(target)), Path(target).resolve() / FOLDER
        for part in [] if overwrite else found:
            part.refuse_other(job)
        others = _find_others(Path(target), found)
        if others and not overwrite:
            raise FileError(
                f"{others[0]} is not among the parts of {source}; name another folder, or pass overwrite=True "
                "(--force) to remove it."
            )
    parts = chain_stamps(found)
    with _open_work(work, target, keep=listed is not None):
        notes = {part.source: note for part in parts if (note := part.find_note(job)) is not None}
        resumed = len(notes)
        if listed is not None:
            (work.parent / SUMMARY).unlink(missing_ok=True)
            for other in others:
                other.unlink()
        if resumed < len(parts):
            options: dict[str, Any] = {
                "data": source if is_address(source) else os.path.abspath(source),
                "keeps_bad": bad_rows is not None,
            }
            if any(part.in_order for part in parts):
                steps = (find_first_step(part.source, part.read) for part in parts)
                options["begins"] = next((step for step in steps if step is not None), None)
            with engine as at_work:
                _Course(job, parts, name, at_work, notes, progress, options).run()
        outcome = _add_up(job, source, target, name, parts, notes, resumed, bad_rows)
        if listed is not None:
            with AtomicFile(work.parent / SUMMARY) as draft:
                draft.file.write(json.dumps(outcome.to_dict(), indent=2, default=str) + "\n")
                draft.commit()
    return outcome


def _inspect_file(job: Job, source: str, target: str, format: Format | None, overwrite: bool) -> Part:
    read, written = choose_format(source, format), choose_format(target, format)
    refuse_overlap(target, find_identity(target), find_identity(source))
    if os.path.isfile(target) and not overwrite:
        raise FileError(f"{target} already exists; name another file, or pass overwrite=True (--force).")
    return inspect_part(job, locate(source), Path(target).resolve(), _name_work(Path(target)), read, written)


def _name_work(target: Path) -> Path:
    return target.resolve().with_name(f".{target.name}.plaudit")


def _inspect_folder(job: Job, listed: Sequence[sources.Part], target: Path) -> list[Part]:
    folder = target.resolve()
    if any(locate(sources.find_folder(part.path)) == os.fspath(folder) for part in listed):
        raise FileError(f"{target} is the folder that the rows are read from; write to another one.")
    if sources.is_table(os.fspath(target)):
        raise FileError(f"{target} is a Delta table, and the rows are not; name another folder.")

    def inspect(part: sources.Part) -> Part:
        kind = choose_format(part.name, None)
        return inspect_part(job, locate(part.path), folder / part.name, folder / FOLDER, kind, kind)

    with ThreadPoolExecutor(_READERS, "plaudit-parts") as readers:
        return list(readers.map(inspect, listed))


def _find_others(target: Path, parts: Sequence[Part]) -> list[Path]:
    """Return files of rows in a folder that are no part: whoever reads the folder would take them for some."""
    names = {part.target.name for part in parts}
    beside = sorted(target.iterdir()) if target.is_dir() else []
    return [path for path in beside if path.name[0] not in "._" and find_format(path.name) and path.name not in names]


@contextmanager
def _open_work(work: Path, target: str, *, keep: bool) -> Iterator[None]:
    """Make the folder of notes and pieces; LedgerBusy where another run writes there.

    Unless it is to be kept, it goes when nothing can be resumed: at the end, and where the rows cannot be scored.
    """
    beside = Path(target).resolve().parent
    if not beside.is_dir():
        raise build_write_error(target, f"there is no folder {beside}")
    if keep and Path(target).is_file():
        raise FileError(f"{target} is a file; parts are written to a folder.")
    with lock_folder(work):
        try:
            yield
        except InputError:
            if not keep:
                shutil.rmtree(work, ignore_errors=True)
            raise
        if not keep:
            shutil.rmtree(work, ignore_errors=True)


@dataclass(slots=True)
class _Course:
    """The tasks of the parts that are not finished, on their way through an engine."""

    job: Job
    parts: Sequence[Part]
    name: str
    engine: Engine
    notes: dict[str, dict[str, Any]]
    progress: Progress | None
    options: dict[str, Any]
    """Those of each piece."""
    queue: deque[Task] = field(default_factory=deque)
    waiting: dict[str, tuple[Part, list[Piece]]] = field(default_factory=dict)
    """By the source of a part, its pieces, as long as one is not scored."""
    left: Counter[str] = field(default_factory=Counter)
    total: int = 0

    def run(self) -> None:
        """Do all tasks, those of the first parts first."""
        self._plan()
        running: dict[Future[PlauditError | None], Task] = {}
        self._report(running)
        while self.queue or running:
            while self.queue and len(running) < TASKS_A_SLOT * self.engine.slots:
                task = self.queue.popleft()
                running[self.engine.submit(run_task, task)] = task
            done = wait(running, return_when=FIRST_COMPLETED).done
            for future in [each for each in running if each in done]:
                self._take(running.pop(future), future)
            self._report(running)

    def _plan(self) -> None:
        pending = [part for part in self.parts if part.source not in self.notes]
        most = sum(part.rows or 0 for part in pending) / (TASKS_A_SLOT * self.engine.slots)
        first = 0
        for part in self.parts:
            if part.source not in self.notes:
                count = -int(-(part.rows or 0) // most) if most else 1
                pieces = part.cut(self.job, count, first, **self.options)
                todo = [piece for piece in pieces if read_note(piece.folder) is None]
                self.waiting[part.source] = part, pieces
                self.left[part.source] = len(todo)
                self.total += len(pieces)
                self.queue += todo
                if not todo:
                    self._go_on(part.source)
            first += _UNKNOWN if part.rows is None else part.rows

    def _take(self, task: Task, future: "Future[PlauditError | None]") -> None:
        try:
            error = future.result()
        except Exception as failure:
            told = str(failure).strip().splitlines() or [type(failure).__name__]
            raise TargetError(
                f"{self.name} could not finish {task.part}: {told[-1]}\n"
                "Parts that are finished stay; run it again to go on with the others."
            ) from failure
        if error is not None:
            raise error
        if isinstance(task, Piece):
            self.left[task.part] -= 1
            if not self.left[task.part]:
                self._go_on(task.part)
        else:
            self._finish(task.part, task.folder)

    def _go_on(self, source: str) -> None:
        """Finish a part whose pieces are all scored, or have them joined first."""
        part, pieces = self.waiting[source]
        if len(pieces) == 1:
            self._finish(source, pieces[0].folder)
        else:
            self.queue.appendleft(part.join(self.job, pieces))

    def _finish(self, source: str, folder: Path) -> None:
        part, _ = self.waiting.pop(source)
        self.notes[source] = part.finish(self.job, folder)

    def _report(self, running: object) -> None:
        if self.progress is not None:
            self.progress(self.total - sum(self.left.values()), self.total)


def _add_up(
    job: Job,
    source: str,
    target: str,
    engine: str,
    parts: Sequence[Part],
    notes: dict[str, dict[str, Any]],
    resumed: int,
    bad_rows: str | None,
) -> FileScoring:
    """Return what happened to all parts, in their order."""
    ordered = [notes[part.source] for part in parts]
    counts = {name: sum(note[name] for note in ordered) for name in ("rows", "bad", "unreadable")}
    reasons = sum((Counter(note["reasons"]) for note in ordered), Counter[str]())
    remarks = dict.fromkeys(remark for part in parts for remark in part.remarks)
    changes = job.make_changes()
    if changes is not None:
        from plaudit.ledger.rescore.stored import load_changes

        for part in parts:
            changes.merge(load_changes(part.folder / CHANGES))
    if bad_rows is not None:
        join_texts([part.folder / BAD for part in parts], Path(bad_rows))
    bad_rows = bad_rows if counts["bad"] or counts["unreadable"] else None
    about = {**counts, "reasons": reasons, "remarks": remarks, "resumed": resumed, "bad_rows": bad_rows}
    return build_outcome(job, source, target, engine, about, changes)
