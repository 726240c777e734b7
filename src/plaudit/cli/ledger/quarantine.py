"""`plaudit ledger quarantine`: records that an import quarantined, and why."""

import click

from plaudit.cli.ledger.history import print_json
from plaudit.plugins.arguments import open_ledger
from plaudit.terminal import escape_controls


@click.command(epilog="Example: plaudit ledger quarantine rewards.db --json | jq .record.signal")
@click.argument("ledger")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def quarantine(ledger: str, as_json: bool) -> None:
    """List the quarantined records of a ledger.

    An import into the LEDGER quarantined them because their scores do not recompute from their inputs. No other
    command reads them.
    """
    with open_ledger(ledger) as found:
        if as_json:
            print_json(found.quarantined())
            return
        shown = False
        for apart in found.quarantined():
            shown = True
            click.echo(escape_controls(f"{apart.id}  {apart.file}, line {apart.line}: {apart.reason}"))
        if not shown:
            click.echo("No quarantined records.", err=True)
