"""What can go wrong becomes one message on stderr and an exit code, never a traceback."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click

from plaudit.errors import FileError, PlauditError, did_you_mean

SOME_BAD = 1
"""The command did what it could; some rows are bad."""
FAILED = 2
"""The command could not run."""
INTERRUPTED = 130
"""Ctrl-C."""
BROKEN_PIPE = 141
"""Nobody reads what is printed any more."""
TERMINATED = 143
"""SIGTERM."""


class Terminated(BaseException):
    """The command was asked to end. It is no Exception, so that nothing on the way takes it for a failure."""


class Failure(click.ClickException):
    """A command that cannot run."""

    exit_code = FAILED


@contextmanager
def told() -> Iterator[None]:
    """Run a command; what stops it is told in a sentence."""
    try:
        yield
        sys.stdout.flush()
    except PlauditError as error:
        raise Failure(message(error)) from None
    except KeyboardInterrupt:
        click.echo(err=True)  # the prompt comes after the terminal's ^C
        raise click.exceptions.Exit(INTERRUPTED) from None
    except Terminated:
        raise click.exceptions.Exit(TERMINATED) from None
    except BrokenPipeError:
        _forget_output()
        raise click.exceptions.Exit(BROKEN_PIPE) from None
    except OSError as error:
        _forget_output()
        raise Failure(said(error)) from None


@contextmanager
def terminable() -> Iterator[Callable[[], None]]:
    """Let SIGTERM end the command like Ctrl-C does: with nothing left behind.

    An exception that a signal raises within a callback of the garbage collector goes nowhere. What is yielded raises it
    once more; a command that calls it now and then cannot miss the signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    stopped: list[type[BaseException]] = []
    hook = sys.unraisablehook

    def leave(number: int, frame: object) -> NoReturn:
        stopped.append(Terminated if number == signal.SIGTERM else KeyboardInterrupt)
        raise stopped[-1]

    def check() -> None:
        for error in stopped:
            raise error

    def tell(lost: "sys.UnraisableHookArgs") -> None:
        if lost.exc_type not in stopped:
            hook(lost)

    ctrl_c = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else somebody wants it ignored
    before = {number: signal.signal(number, leave) for number in [signal.SIGTERM, *[signal.SIGINT] * ctrl_c]}
    sys.unraisablehook = tell
    try:
        yield check
    except Exception:
        check()  # what goes wrong after a signal is its doing
        raise
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def message(error: PlauditError) -> str:
    """Return what an error says, with the notes that were added on its way."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def said(error: OSError) -> str:
    """Return what the operating system complains about, in one line.

    >>> said(FileNotFoundError(2, "No such file or directory", "rows.csv"))
    'rows.csv: No such file or directory'
    """
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


def unreadable(path: Path, error: OSError) -> FileError:
    """Return the error for a file that cannot be read; a name that is nearly right is told."""
    if isinstance(error, FileNotFoundError):
        return FileError(f"{path} does not exist.{did_you_mean(path.name, _names_in(path.parent))}")
    if path.is_dir():
        return FileError(f"{path} is a directory; name a file in it.")
    return FileError(f"{path} cannot be read: {error.strerror or error}")


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _forget_output() -> None:
    """Send what is still to be printed nowhere, so that Python's last flush cannot fail as well."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError:  # there is no real stdout here
        return
