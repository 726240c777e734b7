"""The folder that `--out` names: what the runs of both systems say of it."""

from collections.abc import Iterator
from contextlib import contextmanager

import click


def named(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Refuse a name that is empty: a variable of the shell was, and nothing would be kept."""
    if value is not None and not value.strip():
        raise click.BadParameter("it is empty; name a folder, or leave the option out to keep nothing.")
    return value


@contextmanager
def stoppable(out: str | None) -> Iterator[None]:
    """Say at Ctrl-C what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"{out} keeps what was done, and the next run goes on" if out else "without --out nothing is kept"
        click.echo(f"\nStopped: {kept}.", err=True, nl=False)
        raise
