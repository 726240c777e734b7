"""Turn errors into one message on stderr and an exit code; only a bug in plaudit prints a traceback."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import click

from plaudit.errors import PlauditError
from plaudit.terminal import ExitCode, Terminated, escape_controls


class _Failure(click.ClickException):
    """An error that click prints, unless a signal came first."""

    exit_code = ExitCode.FAILED


@contextmanager
def translate_errors() -> Iterator[None]:
    """Run a command and turn what stops it into one message and an exit code."""
    try:
        yield
        sys.stdout.flush()
    except PlauditError as error:
        try:
            sys.stdout.flush()
        except OSError:  # which the error is about, if it is one of writing
            _discard_output()
        raise _Failure(format_error(error)) from None
    except KeyboardInterrupt:
        click.echo(err=True)  # the prompt comes after the terminal's ^C
        raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None
    except Terminated:
        raise click.exceptions.Exit(ExitCode.TERMINATED) from None
    except BrokenPipeError:
        _discard_output()
        raise click.exceptions.Exit(ExitCode.BROKEN_PIPE) from None
    except OSError as error:
        _discard_output()
        raise _Failure(format_os_error(error)) from None
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except Exception:
        click.echo(
            f"{traceback.format_exc()}\nThis is a bug in plaudit. Please report it with the traceback above.", err=True
        )
        raise click.exceptions.Exit(ExitCode.FAULT) from None


def format_error(error: PlauditError) -> str:
    """Return the message of an error, with its notes."""
    return escape_controls("\n".join([str(error), *getattr(error, "__notes__", ())]))


def format_os_error(error: OSError) -> str:
    """Return the message of an operating system error, in one line.

    >>> format_os_error(FileNotFoundError(2, "No such file or directory", "rows.csv"))
    'rows.csv: No such file or directory'
    """
    reason = error.strerror or str(error) or type(error).__name__
    return escape_controls(f"{error.filename}: {reason}" if error.filename else reason)


def _discard_output() -> None:
    """Discard the rest of the output, so that Python's last flush cannot fail as well."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError:  # there is no real stdout here
        return
