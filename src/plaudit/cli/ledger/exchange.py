"""`plaudit ledger export` and `import`: records as a file, and back."""

import json
from pathlib import Path
from typing import Any

import click

from plaudit.cli._support.options import check_any_record, format_option, parse_query, query_options
from plaudit.errors import FileError, explain_unreadable
from plaudit.plugins.arguments import open_ledger, open_ledger_to_write
from plaudit.plugins.options import output_option
from plaudit.rows.streams import STANDARD, Format, choose_format
from plaudit.terminal import format_count, show_progress

_EXAMPLE = "Example: plaudit ledger export rewards.db --output night-3.parquet --run night-3 --reward roadsense"


@click.command(epilog=_EXAMPLE)
@click.argument("ledger")
@output_option("What is written: .jsonl, .csv or .parquet.", required=True)
@query_options()
@format_option("What FILE becomes, if its ending does not say.")
@click.option("--force", is_flag=True, help="Replace a FILE that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
def export(ledger: str, output: str, chosen: Format | None, force: bool, as_json: bool, **query: Any) -> None:
    """Write records of a LEDGER to a file: JSON lines, CSV or Parquet.

    The FILE appears when it is complete, or not at all. JSON lines hold everything, the rewards' definitions too, and
    `plaudit ledger import` takes them in. CSV and Parquet hold the records of one reward in columns, for analysis: its
    inputs, the `total`, each term's value under the term's name and its score under `<term>.score`.
    Where options choose no record, nothing is written.
    """
    given = parse_query(query)
    if output == STANDARD:
        raise click.UsageError("records are exported to a file; `plaudit ledger history --json` prints them.")
    written = choose_format(output, chosen)
    if Path(output).is_file() and not force:
        raise FileError(f"{output} exists already; choose another name, or replace it with --force.")
    with open_ledger(ledger) as found, show_progress("exporting") as progress:
        check_any_record(found, given)
        count = found.export(output, format=written, overwrite=force, progress=progress, **given)
        name = found.name
    outcome = {"ledger": name, "output": output, "format": written, "records": count}
    _print_outcome(f"{format_count(count, 'record')} written to {output}.", outcome, as_json)


@click.command("import", epilog="Example: plaudit ledger import rewards.db night-3.jsonl")
@click.argument("ledger")
@click.argument("file")
@click.option("--quarantine", is_flag=True, help="Keep records that their rewards do not compute apart.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
def import_(ledger: str, file: str, quarantine: bool, as_json: bool) -> None:
    """Take into a LEDGER what `plaudit ledger export` wrote.

    FILE is one of JSON lines; all of it is taken in, or nothing. A LEDGER that is not there is made, and a record that
    the LEDGER has already is not added again; it must be the same. A record whose numbers are not what its reward
    computes is an error, or with --quarantine kept apart: `plaudit ledger quarantine` shows it.
    """
    _check_importable(Path(file))
    with open_ledger_to_write(ledger, new=True) as found, show_progress("importing") as progress:
        before = max((apart.id for apart in found.quarantined()), default=0) if quarantine else 0
        count = found.import_file(file, quarantine=quarantine, progress=progress)
        apart = sum(1 for _ in found.quarantined(after=before)) if quarantine else 0
        name = found.name
    text = f"{format_count(count, 'record')} of {file} added to {name}."
    if not count and not apart:
        text = f"{name} had all of {file} already."
    if apart:
        text += f" {format_count(apart, 'record')} kept apart: plaudit ledger quarantine {name}"
    _print_outcome(text, {"ledger": name, "file": file, "records": count, "quarantined": apart}, as_json)


def _check_importable(file: Path) -> None:
    """Raise where there is nothing to import, before a ledger is made for it."""
    try:
        if file.exists() and not file.is_file() and not file.is_dir():
            raise FileError(f"{file} cannot be imported: it is no regular file, and it is read twice. Save it in one.")
        with file.open("rb"):
            pass
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise explain_unreadable(file, error) from None


def _print_outcome(text: str, outcome: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(outcome, indent=2))
    else:
        click.echo(text, err=True)
