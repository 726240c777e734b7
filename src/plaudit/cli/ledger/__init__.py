"""`plaudit ledger`: what a ledger holds, and the care of it."""

import click

from plaudit.cli._support.groups import LazyGroup

__all__ = ["ledger"]

SUMMARIES = {
    "history": "Show the records of a LEDGER, in the order in which they were recorded.",
    "runs": "List the runs of a LEDGER: how much there is of each, and what its episodes earned.",
    "episodes": "List the episodes of a LEDGER: what each earned, how long it was and how it ended.",
    "rank": "Show the episodes, or the steps, of a LEDGER that earned least, or with --best most.",
    "attribution": "Show how much of what the episodes of a LEDGER earned, and of its variance, each term carries.",
    "jobs": "List the re-scorings of a LEDGER.",
    "why": "Show why a RECORD is what it is: its context, its inputs, each term, the total.",
    "verify": "Recompute every record of a LEDGER, and check its checksums.",
    "stats": "Show how much of what is in a LEDGER.",
    "exchange:export": "Write records of a LEDGER to a file: JSON lines, CSV or Parquet.",
    "exchange:import": "Take into a LEDGER what `plaudit ledger export` wrote.",
    "quarantine": "Show the records that an import kept apart from a LEDGER's history.",
    "maintenance:backup": "Copy a LEDGER as it is now to a FILE, while others write to it.",
    "maintenance:compact": "Merge the small blocks of a LEDGER, and give back the space that nothing needs.",
}
"""What each command does, as its own help begins."""


@click.group(
    cls=LazyGroup,
    package="plaudit.cli.ledger",
    summaries=SUMMARIES,
    epilog="Example: plaudit ledger history rewards.db --run night-3",
)
def ledger() -> None:
    """Look into a ledger of recorded rewards, verify it, copy it.

    A LEDGER is the file that Ledger("rewards.db") made, or postgresql://user@host/database. The server's password
    is best kept out of the command line: in ~/.pgpass, or in PGPASSWORD.
    """
