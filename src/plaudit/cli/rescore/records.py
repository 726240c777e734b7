"""Re-scoring the records of a ledger from the command line."""

import json
from collections.abc import Mapping
from typing import Any

import click

from plaudit.cli.errors import SOME_BAD, terminable
from plaudit.cli.ledger.opening import is_file, opened_to_write
from plaudit.cli.ledger.watching import bar
from plaudit.cli.texts import printable
from plaudit.ledger.wording import counted
from plaudit.reward.reward import Reward

_SQLITE = b"SQLite format 3\0"


def is_ledger(source: str) -> bool:
    """Return whether an argument names a ledger: a server, or a file of SQLite."""
    if not is_file(source):
        return True
    try:
        with open(source, "rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:  # a folder, or nothing: whoever opens it says so
        return False


def rescore_ledger(source: str, reward: Reward, choice: Mapping[str, Any], as_json: bool) -> None:
    """Re-score the chosen records; what lacks an input is told before, what changed after."""
    with terminable(), opened_to_write(source) as ledger:
        planned = ledger.plan_rescore(reward, **choice)
        for lacking in planned.lacking:
            click.echo(printable(f"{lacking}; they are left out."), err=True)
        click.echo(f"{counted(planned.records, 'record')} to score.", err=True)
        with bar("re-scoring") as progress:
            done = ledger.rescore(reward, progress=progress, **choice)
    click.echo(json.dumps(done.to_dict(), indent=2, default=str) if as_json else printable(str(done)))
    if done.lacking or done.refused:
        raise click.exceptions.Exit(SOME_BAD)
