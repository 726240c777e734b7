"""What can go wrong becomes one message on stderr and an exit code; only a fault of plaudit itself is a traceback."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from plaudit.errors import InputError, LedgerError, NotEvaluable, PlauditError, UnusableFile
from plaudit.terminal import (
    BROKEN_PIPE,
    FAILED,
    INTERNAL,
    INTERRUPTED,
    SOME_BAD,
    TERMINATED,
    Terminated,
    escape_controls,
)

_WRONG_NAME = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)
"""What the operating system says of a name that is wrong; of anything else, the name is not to blame."""


def fail(message: str, exit_code: int) -> NoReturn:
    """End a command with a message on stderr; click prints it, unless a signal had come first."""
    failure = click.ClickException(message)
    failure.exit_code = exit_code  # type: ignore[misc]  # click reads that of the exception
    raise failure from None


def choose_exit_code(error: PlauditError | OSError) -> int:
    """Return 2 where another command line is needed, and 1 where it was fine: data, a ledger or a disk is not.

    >>> from plaudit.errors import DefinitionError, LedgerBusy
    >>> choose_exit_code(DefinitionError("there is no reward 'raodsense'")), choose_exit_code(LedgerBusy("held"))
    (2, 1)
    """
    if isinstance(error, PlauditError):
        plain = type(error) is LedgerError or isinstance(error, NotImplementedError)  # what was asked cannot be done
        found = isinstance(error, InputError | NotEvaluable | UnusableFile | RuntimeError)
        return SOME_BAD if found and not plain else FAILED
    return FAILED if isinstance(error, _WRONG_NAME) else SOME_BAD


@contextmanager
def translate_errors() -> Iterator[None]:
    """Run a command; what stops it becomes one message and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except PlauditError as error:
        fail(format_error(error), choose_exit_code(error))
    except KeyboardInterrupt:
        click.echo(err=True)  # the prompt comes after the terminal's ^C
        raise click.exceptions.Exit(INTERRUPTED) from None
    except Terminated:
        raise click.exceptions.Exit(TERMINATED) from None
    except BrokenPipeError:
        _discard_output()
        raise click.exceptions.Exit(BROKEN_PIPE) from None
    except OSError as error:
        _discard_output()
        fail(format_os_error(error), choose_exit_code(error))
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except Exception:
        click.echo(
            f"{traceback.format_exc()}\nThis is a fault of plaudit. Please report it with the lines above.", err=True
        )
        raise click.exceptions.Exit(INTERNAL) from None


def format_error(error: PlauditError) -> str:
    """Return what an error says, with the notes that were added on its way."""
    return escape_controls("\n".join([str(error), *getattr(error, "__notes__", ())]))


def format_os_error(error: OSError) -> str:
    """Return what the operating system complains about, in one line.

    >>> format_os_error(FileNotFoundError(2, "No such file or directory", "rows.csv"))
    'rows.csv: No such file or directory'
    """
    reason = error.strerror or str(error) or type(error).__name__
    return escape_controls(f"{error.filename}: {reason}" if error.filename else reason)


def _discard_output() -> None:
    """Send what is still to be printed nowhere, so that Python's last flush cannot fail as well."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError:  # there is no real stdout here
        return
