"""`plaudit ledger forget`: remove texts of records."""

import json
from typing import Any

import click

from plaudit.cli._support.options import check_any_record, parse_query, query_options
from plaudit.plugins.arguments import open_ledger_to_write
from plaudit.terminal import format_count, show_status


@click.command(epilog="Example: plaudit ledger forget rewards.db --until 90d")
@click.argument("ledger")
@query_options(without=("after", "job"))
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def forget(ledger: str, as_json: bool, **options: Any) -> None:
    """Remove prompts and completions of records.

    Removes the texts of the chosen records from LEDGER: prompts, completions and answers of judges. Scores, contexts
    and checksums stay, and `verify` finds the ledger whole. Run it every day with --until 90d to keep texts for 90
    days. Backups and exports that were made before keep their texts.
    """
    query = parse_query(options)
    with open_ledger_to_write(ledger) as found, show_status("forgetting"):
        if not query:
            raise click.UsageError("choose records: --run, --until, --key or another option.")
        check_any_record(found, dict(query))
        name, removed = found.name, found.forget(**query)
    if as_json:
        click.echo(json.dumps({"ledger": name, "removed": removed}, indent=2))
    else:
        click.echo(f"{name}: {format_count(removed, 'text')} removed.", err=True)
