"""`plaudit ledger`: the contents of a ledger, and its maintenance."""

import click

from plaudit.cli._support.groups import LazyGroup

__all__ = ["ledger"]

SUMMARIES = {
    "history": "Show the records of a ledger.",
    "runs": "List the runs of a ledger.",
    "episodes": "List the episodes of a ledger.",
    "rank": "Rank episodes, steps or rollouts by reward.",
    "attribution": "Show how much of the return each term earned.",
    "jobs": "List the re-scorings of a ledger.",
    "why": "Explain one record, term by term.",
    "verify": "Recompute every record and check its checksums.",
    "stats": "Show record counts and reward statistics.",
    "exchange:export": "Export records to JSON lines, CSV or Parquet.",
    "exchange:import": "Import records, or rollouts of another tool.",
    "quarantine": "List the quarantined records of a ledger.",
    "maintenance:backup": "Back up a ledger while others write to it.",
    "maintenance:compact": "Compact a ledger to save space and read faster.",
    "forget": "Remove prompts and completions of records.",
    "archive": "Move old records to object storage.",
}
"""The summary of each command: the first line of its help."""


@click.group(
    cls=LazyGroup,
    package="plaudit.cli.ledger",
    summaries=SUMMARIES,
    others={"worst": "rank", "best": "rank --best", "show": "history", "list": "history", "records": "history"},
    epilog="Example: plaudit ledger history rewards.db --run night-3",
)
def ledger() -> None:
    """Inspect, verify, copy and compact a ledger.

    A LEDGER is a file made by Ledger("rewards.db"), or postgresql://user@host/database. Put the server's password in
    ~/.pgpass or PGPASSWORD, not on the command line.
    """
