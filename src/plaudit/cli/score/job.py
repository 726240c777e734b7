"""One run of `plaudit score`: from a file of rows to a file of scores, all of it or nothing."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from plaudit.cli.errors import terminable
from plaudit.cli.score.bad import BadRows
from plaudit.cli.score.files import SUFFIXES, Format, Output, Source
from plaudit.cli.score.shape import Shape
from plaudit.cli.score.stream import Progress, score_lines
from plaudit.errors import FileError


@dataclass(frozen=True, slots=True)
class Job:
    """Where rows come from, where scores and bad rows go, and how they are written."""

    source: str
    rows: Format
    output: str
    scores: Format
    bad: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many rows were scored, how many were bad, and the file that keeps those."""

    scored: int
    bad: int
    kept: str | None


def score_file(job: Job, shape: Shape) -> Outcome:
    """Score every row; on any failure an output that was there before stays as it was."""
    with terminable(), ExitStack() as stack:
        source = stack.enter_context(Source(job.source))
        output = stack.enter_context(Output(job.output))
        aside = job.bad or (_beside(job.output) if output.target else None)
        kept = stack.enter_context(Output(aside)) if aside else None
        _refuse_overlap(source, output, kept)
        with _watched(source) as (tell, progress):
            # Without a file of their own bad rows go to stderr, every one of them.
            bad = BadRows(kept.file, tell) if kept else BadRows(sys.stderr, tell, told=0)
            scored = score_lines(shape, source, job.rows, output.file, job.scores, bad, progress)
        if kept and (job.bad or bad.count):
            kept.commit()
        output.commit()
    if aside and not job.bad and not bad.count:
        _forget(Path(aside))  # of an earlier run, whose scores have just been replaced
    return Outcome(scored, bad.count, aside if bad.count else None)


def _forget(path: Path) -> None:
    """Remove the bad rows of an earlier run; a file that somebody else wrote stays."""
    try:
        with path.open(encoding="utf-8") as file:
            ours = file.readline(64).startswith('{"line": ')
    except (OSError, UnicodeDecodeError):
        return
    if ours:
        path.unlink(missing_ok=True)


def _beside(output: str) -> str:
    """Return the name for bad rows: `scores.bad.jsonl` beside `scores.csv`."""
    path = Path(output)
    stem = path.stem if path.suffix.lower() in SUFFIXES else path.name
    return str(path.with_name(f"{stem}.bad.jsonl"))


def _refuse_overlap(source: Source, output: Output, kept: Output | None) -> None:
    for written in (output, kept):
        if written is not None and written.replaces(source.status):
            raise FileError(f"{written.name} is the file that the rows come from; write to another one.")
    if kept is not None and kept.target is not None and kept.target == output.target:
        raise FileError(f"{kept.name} cannot hold both the scores and the bad rows; name another file with --bad.")


@contextmanager
def _watched(source: Source) -> Iterator[tuple[Callable[[str], None], Progress]]:
    """Yield how to tell something and how to move the progress bar, which only a terminal has."""
    if not sys.stderr.isatty():
        yield lambda text: click.echo(text, err=True), lambda done: None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from plaudit.cli.screen import Screen

    screen = Screen(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Bar(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(os.path.basename(source.name), total=source.size)
        yield (
            lambda text: screen.print(text, soft_wrap=True),
            lambda done: bar.update(task, completed=done),
        )
