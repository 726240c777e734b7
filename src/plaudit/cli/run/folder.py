"""The folder that `--out` names: what the runs of both systems say of it."""

from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def stoppable(out: str | None) -> Iterator[None]:
    """Say at Ctrl-C what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"{out} keeps what was done, and the next run goes on" if out else "without --out nothing is kept"
        click.echo(f"\nStopped: {kept}.", err=True, nl=False)
        raise
