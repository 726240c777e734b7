"""Long work, watched: a bar or a sentence on stderr, where that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]
"""Told how much is done, and of how much."""


@contextmanager
def bar(doing: str) -> Iterator[Progress | None]:
    """Yield what moves a bar of records; None where nobody sees it, for counting beforehand has its price."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from plaudit.cli.screen import Screen

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Screen(stderr=True), transient=True) as shown:
        task = shown.add_task(doing, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


@contextmanager
def sentence(doing: str) -> Iterator[None]:
    """Say what is going on while it does, where there is no telling how far it is."""
    if not sys.stderr.isatty():
        yield
        return
    from plaudit.cli.screen import Screen

    with Screen(stderr=True).status(doing):
        yield
