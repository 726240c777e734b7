"""`plaudit ledger`: what a ledger holds, and the care of it."""

import click

from plaudit.cli.ledger.files import export, import_
from plaudit.cli.ledger.history import history
from plaudit.cli.ledger.stats import stats
from plaudit.cli.ledger.upkeep import backup, compact
from plaudit.cli.ledger.verify import verify
from plaudit.cli.ledger.why import why

__all__ = ["ledger"]


@click.group(epilog="Example: plaudit ledger history rewards.db --run night-3")
def ledger() -> None:
    """Look into a ledger of recorded rewards, verify it, copy it.

    A LEDGER is the file that Ledger("rewards.db") made, or postgresql://user@host/database. The server's password
    is best kept out of the command line: in ~/.pgpass, or in PGPASSWORD.
    """


for _command in (history, why, verify, stats, export, import_, backup, compact):
    ledger.add_command(_command)
