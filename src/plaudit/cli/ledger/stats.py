"""`plaudit ledger stats`: how much of what is in a ledger."""

import json

import click

from plaudit.systems.arguments import open_ledger
from plaudit.terminal import show_status


@click.command(epilog="Example: plaudit ledger stats rewards.db --json > yesterday.json")
@click.argument("ledger")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")
def stats(ledger: str, as_json: bool) -> None:
    """Show how much of what is in a LEDGER.

    The last part is where each writer's chain of checksums ends. Keep it where the ledger's writers cannot get at it:
    somebody who rewrites the past can compute new checksums, and only the old ends tell.
    """
    with open_ledger(ledger) as found, show_status("reading every total"):
        result = found.stats()
    click.echo(json.dumps(result.to_dict(), indent=2) if as_json else str(result))
