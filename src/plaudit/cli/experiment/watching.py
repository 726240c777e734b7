"""The experiment, watched: a bar on a terminal, now and then a line elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from plaudit.systems.roadsense.experiment.experiment import Told

NOUNS = {"driving": "episodes", "checking": "versions"}
LINES = 5
"""How often progress is told where there is no terminal."""


@contextmanager
def watched(*, quiet: bool) -> Iterator["Told"]:
    """Yield who is told how the experiment goes."""
    if quiet:
        yield lambda what, done, of: None
    elif not sys.stderr.isatty():
        yield _line
    else:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

        from plaudit.cli.screen import Screen

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        tasks: dict[str, TaskID] = {}
        with Progress(*columns, console=Screen(stderr=True), transient=True) as shown:

            def told(what: str, done: int, of: int) -> None:
                if what not in tasks:
                    tasks[what] = shown.add_task(f"{what} {NOUNS[what]}", total=of)
                shown.update(tasks[what], completed=done)

            yield told


def _line(what: str, done: int, of: int) -> None:
    if done and (done % max(1, of // LINES) == 0 or done == of):
        click.echo(f"{what}: {done:,} of {of:,} {NOUNS[what]}", err=True)
