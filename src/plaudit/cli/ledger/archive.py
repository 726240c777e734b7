"""`plaudit ledger archive`: records move to a lake."""

import json
from datetime import datetime

import click

from plaudit.cli._support.options import convert_moment
from plaudit.plugins.arguments import open_ledger_to_write
from plaudit.terminal import format_count, show_progress

_EXAMPLE = "Example: plaudit ledger archive rewards.db --to s3://bucket/runs --older 7d"


@click.command(epilog=_EXAMPLE)
@click.argument("ledger")
@click.option("--to", "to", metavar="ADDRESS", required=True, help="s3://bucket/folder, gs://…, file:///… or a folder.")
@click.option(
    "--older",
    metavar="TIME",
    callback=convert_moment,
    help="Only records older than this: 7d, 12h, 2026-11-01, 2026-11-01T12:00Z.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def archive(ledger: str, to: str, older: datetime | None, as_json: bool) -> None:
    """Move old records to object storage.

    Copies records of a LEDGER as Parquet files to ADDRESS, checks each file, lists it in a Delta Lake table there, and
    only then removes it here. The LEDGER goes on reading these records, and so do DuckDB, Polars, pandas, Spark and
    Ray. Run it again after an interruption: nothing is lost, and nothing is there twice.
    """
    with open_ledger_to_write(ledger) as found, show_progress("archiving") as progress:
        done = found.archive(to, older=older, progress=progress)
        name = found.name
    if as_json:
        click.echo(json.dumps({"ledger": name, **done.to_dict()}, indent=2))
    else:
        said = f"{format_count(done.records, 'record')} in {format_count(done.files, 'file')}, {done.bytes:,} bytes"
        click.echo(f"{said}, moved from {name} to {done.lake}.", err=True)
