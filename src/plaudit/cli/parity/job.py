"""One run of `plaudit parity`: find out what is meant, compare, and show how far it has come."""

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from plaudit.checks.parity import Command, Function, ParityReport, Recorded, parity
from plaudit.cli.errors import terminable, unreadable
from plaudit.cli.rewards import load_module
from plaudit.errors import DefinitionError, FileError, did_you_mean
from plaudit.reward.reward import Reward

_NAME = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"


def compared(reward: Reward, text: str, *, examples: int, shell: bool, **options: Any) -> ParityReport:
    """Return how `reward` compares with what `text` means."""
    against = meant(text, shell=shell)
    total = None if isinstance(against, Recorded) else examples
    # What a function prints must not end up in our own output.
    with terminable() as check, _watched(text, total) as show, contextlib.redirect_stdout(sys.stderr):

        def progress(tested: int) -> None:
            check()
            show(tested)

        try:
            return parity(reward, against, examples=examples, progress=progress, **options)
        except FileError as error:
            if isinstance(against, Command) and re.fullmatch(rf"{_NAME}:{_NAME}", text):
                error.add_note(
                    f"There is no module {text.partition(':')[0]!r} here or where Python imports from, either."
                )
            raise


def meant(text: str, *, shell: bool = False) -> Command | Function | Recorded:
    """Return what `text` means: recorded pairs, a function, or a command.

    >>> meant("drive.jsonl") if Path("drive.jsonl").exists() else meant("./reward --fast")
    Command(command='./reward --fast', shell=False)
    """
    if shell:
        return Command(text, shell=True)
    if text.endswith(".jsonl") and (Path(text).exists() or not re.search(r"\s", text)):
        _check_readable(Path(text))
        return Recorded(text)
    place, colon, name = text.rpartition(":")
    if colon and re.fullmatch(_NAME, name) and (place.endswith(".py") or _importable(place)):
        return Function(_function(place, name), title=text)
    if place.endswith(".py") or (text.endswith(".py") and not os.access(text, os.X_OK) and Path(text).exists()):
        file = place or text
        raise DefinitionError(
            f"{file} is a Python file; name a function in it, {file}:NAME, or run it: --against 'python {file}'."
        )
    return Command(text)


def _check_readable(path: Path) -> None:
    try:
        path.open("rb").close()
    except OSError as error:
        raise unreadable(path, error) from None


def _importable(place: str) -> bool:
    if not re.fullmatch(_NAME, place):
        return False
    top = place.partition(".")[0]
    return top in sys.modules or PathFinder.find_spec(top, [os.getcwd(), *sys.path]) is not None


def _function(place: str, name: str) -> Callable[..., Any]:
    found: object = load_module(place)
    for part in name.split("."):
        if not hasattr(found, part):
            raise DefinitionError(f"{place} has no {name!r}.{did_you_mean(part, dir(found))}")
        found = getattr(found, part)
    if not callable(found):
        raise DefinitionError(f"{place}:{name} is no function; its type is {type(found).__name__}.")
    return found


@contextlib.contextmanager
def _watched(text: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Yield how to move the progress bar, which only a terminal has."""
    if not sys.stderr.isatty():
        yield lambda tested: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from plaudit.cli.screen import Screen

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Screen(stderr=True), transient=True) as bar:
        task = bar.add_task(text[:40], total=total)
        yield lambda tested: bar.update(task, completed=tested)
