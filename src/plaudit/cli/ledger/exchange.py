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
@output_option("File to write: .jsonl, .csv or .parquet.", required=True)
@query_options()
@format_option("Format of a FILE with another extension.")
@click.option("--force", is_flag=True, help="Overwrite an existing FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def export(ledger: str, output: str, chosen: Format | None, force: bool, as_json: bool, **query: Any) -> None:
    """Export records to JSON lines, CSV or Parquet.

    JSON lines hold everything in the LEDGER, including the definitions of rewards; `plaudit ledger import` reads them.
    CSV and Parquet hold the records of one reward in columns, for analysis: its inputs, the `total`, each term's
    value under the term's name and its score under `<term>.score`. The FILE appears only when it is complete. If no
    record matches the options, nothing is written.
    """
    given = parse_query(query)
    if output == STANDARD:
        raise click.UsageError("export needs a file; `plaudit ledger history --json` prints records.")
    written = choose_format(output, chosen)
    if Path(output).is_file() and not force:
        raise FileError(f"{output} already exists; choose another name, or replace it with --force.")
    with open_ledger(ledger) as found, show_progress("exporting") as progress:
        check_any_record(found, given)
        count = found.export(output, format=written, overwrite=force, progress=progress, **given)
        name = found.name
    outcome = {"ledger": name, "output": output, "format": written, "records": count}
    _print_outcome(f"{format_count(count, 'record')} written to {output}.", outcome, as_json)


@click.command("import", epilog="Example: plaudit ledger import rewards.db night-3.jsonl")
@click.argument("ledger")
@click.argument("file")
@click.option("--quarantine", is_flag=True, help="Quarantine records whose scores do not recompute.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def import_(ledger: str, file: str, quarantine: bool, as_json: bool) -> None:
    """Import records from a file of JSON lines.

    FILE was written by `plaudit ledger export`. All of it is imported into LEDGER, or none. A new LEDGER is created
    if needed. A record that the LEDGER already has is skipped; it must be identical. A record whose scores do not
    recompute is an error, or with --quarantine is quarantined: `plaudit ledger quarantine` lists it.
    """
    _check_importable(Path(file))
    with open_ledger_to_write(ledger, new=True) as found, show_progress("importing") as progress:
        before = max((apart.id for apart in found.quarantined()), default=0) if quarantine else 0
        count = found.import_file(file, quarantine=quarantine, progress=progress)
        apart = sum(1 for _ in found.quarantined(after=before)) if quarantine else 0
        name = found.name
    text = f"{format_count(count, 'record')} imported from {file} into {name}."
    if not count and not apart:
        text = f"{name} already had every record of {file}."
    if apart:
        text += f" {format_count(apart, 'record')} quarantined: plaudit ledger quarantine {name}"
    _print_outcome(text, {"ledger": name, "file": file, "records": count, "quarantined": apart}, as_json)


def _check_importable(file: Path) -> None:
    """Raise if there is nothing to import, before a ledger is created for it."""
    try:
        if file.exists() and not file.is_file() and not file.is_dir():
            raise FileError(f"{file} cannot be imported: it is not a regular file. Save it to a file first.")
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
