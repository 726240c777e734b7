"""A run, watched: a bar on a terminal, now and then a line elsewhere."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from plaudit.systems.hackmatrix.training import Config

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

    def __init__(self, updates: int) -> None:
        self._updates, self._every = updates, max(1, updates // LINES)

    def told(self, row: Mapping[str, Any]) -> None:
        """Tell an update, if it is its turn."""
        if row["update"] % self._every == 0 or row["update"] == self._updates:
            click.echo(f"update {row['update']:,} of {self._updates:,}: {figures(row)}", err=True)


class Bar(_Stopping):
    """A bar of steps on a terminal."""

    def __init__(self, shown: Any, task: Any) -> None:
        self._shown, self._task = shown, task

    def told(self, row: Mapping[str, Any]) -> None:
        """Move the bar."""
        self._shown.update(self._task, completed=row["steps"], description=figures(row))

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Show what is going on."""
        from plaudit.cli.screen import Screen

        with Screen(stderr=True).status(what):
            yield


def figures(row: Mapping[str, Any]) -> str:
    """Return what matters of an update, in a line.

    >>> figures({"return": -1.5, "stage": 1.25, "steps_per_second": 12345.6, "episodes": 3})
    'return -1.50, stage 1.25, 12,346 steps/s'
    """
    played = f"return {row['return']:.2f}, stage {row['stage']:.2f}, " if row["episodes"] else ""
    return f"{played}{row['steps_per_second']:,.0f} steps/s"


@contextmanager
def watched(config: "Config", *, quiet: bool) -> Iterator[Watch]:
    """Yield who is told how a run goes."""
    if quiet:
        yield Watch()
    elif not sys.stderr.isatty():
        yield Lines(config.updates)
    else:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from plaudit.cli.screen import Screen

        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        with Progress(*columns, console=Screen(stderr=True), transient=True) as shown:
            yield Bar(shown, shown.add_task("compiling", total=config.updates * config.batch))
