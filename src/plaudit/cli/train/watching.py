"""A run, watched: a bar on a terminal, now and then a line elsewhere."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from plaudit.systems.training.about import Settings

Figures = Callable[[Mapping[str, Any]], str]
"""What matters of an update, in a line."""
LINES = 10
"""How often progress is told where there is no terminal."""


class Watch:
    """Who is told how a run goes, and says nothing."""

    def told(self, row: Mapping[str, Any]) -> None:
        """Take note of an update."""

    def stopping(self) -> None:
        """Take note that the run is to be stopped."""

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Say what is going on besides updates."""
        yield


class _Stopping(Watch):
    def stopping(self) -> None:
        """Say that the run ends soon; this may come in the middle of a print, so it does without one."""
        with suppress(OSError, ValueError):  # there is no real stderr here
            os.write(sys.stderr.fileno(), b"\nStopping after this update; once more to stop at once.\n")


class Lines(_Stopping):
    """A line now and then."""

    def __init__(self, updates: int, figures: Figures) -> None:
        self._updates, self._every, self._figures = updates, max(1, updates // LINES), figures

    def told(self, row: Mapping[str, Any]) -> None:
        """Tell an update, if it is its turn."""
        if row["update"] % self._every == 0 or row["update"] == self._updates:
            click.echo(f"update {row['update']:,} of {self._updates:,}: {self._figures(row)}", err=True)


class Bar(_Stopping):
    """A bar of steps on a terminal."""

    def __init__(self, shown: Any, task: Any, figures: Figures) -> None:
        self._shown, self._task, self._figures = shown, task, figures

    def told(self, row: Mapping[str, Any]) -> None:
        """Move the bar."""
        self._shown.update(self._task, completed=row["steps"], description=self._figures(row))

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Show what is going on."""
        from plaudit.cli.screen import Screen

        with Screen(stderr=True).status(what):
            yield


@contextmanager
def watched(config: "Settings", figures: Figures, *, first: str = "compiling", quiet: bool) -> Iterator[Watch]:
    """Yield who is told how a run goes; `first` is what it does before its first update."""
    if quiet:
        yield Watch()
    elif not sys.stderr.isatty():
        yield Lines(config.updates, figures)
    else:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from plaudit.cli.screen import Screen

        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=Screen(stderr=True), transient=True) as shown:
            yield Bar(shown, shown.add_task(first, total=config.updates * config.batch), figures)
