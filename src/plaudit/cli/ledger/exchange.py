"""`plaudit ledger export` and `import`: records as a file, and back."""

import json
from pathlib import Path
from typing import Any

import click

from plaudit.cli._support.logs import find_log, parse_scores, score_option
from plaudit.cli._support.options import check_any_record, format_option, parse_query, query_options
from plaudit.errors import FileError, explain_unreadable
from plaudit.plugins.arguments import open_ledger, open_ledger_to_write
from plaudit.plugins.options import output_option, refuse_empty
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


@click.command("import", epilog="Example: plaudit ledger import rewards.db runs/grpo-7/completions --run grpo-7")
@click.argument("ledger")
@click.argument("file")
@click.option("--quarantine", is_flag=True, help="Quarantine what does not recompute or cannot be read.")
@score_option
@click.option(
    "--run", metavar="RUN", callback=refuse_empty, help="With a log: run to record it under.  [default: its name]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def import_(ledger: str, file: str, quarantine: bool, run: str | None, scores: tuple[str, ...], as_json: bool) -> None:
    """Import records, or rollouts of another tool.

    FILE is one that `plaudit ledger export` wrote as JSON lines: all of it is imported into LEDGER, or none. Or it is a
    log of rollouts: a folder of TRL's completions_*.parquet or one of them, verifiers' traces.jsonl or results.jsonl,
    or Inspect's .eval or .json. What the tool paid is kept as the reward of its rollouts; `plaudit rescore` adds yours.

    A new LEDGER is created if needed. A record that the LEDGER already has is skipped; one of an export must be
    identical. A record whose scores do not recompute, or a line of a log that cannot be read, is an error, or with
    --quarantine is quarantined: `plaudit ledger quarantine` lists it.
    """
    weights, is_log = parse_scores(scores), find_log(file) is not None
    if not is_log:
        _check_importable(Path(file))
    if not is_log and (run is not None or weights is not None):
        raise click.UsageError("--run and --score are for logs of other tools; an export has its own.")
    with open_ledger_to_write(ledger, new=True) as found, show_progress("importing") as progress:
        if is_log:
            from plaudit.adapters.logs import import_log

            brought = import_log(found, file, run=run, scores=weights, quarantine=quarantine, progress=progress)
            outcome = {"ledger": found.name, **brought.to_dict()}
            text = str(brought)
            if brought.quarantined:
                text += f"\n{_describe_quarantined(brought.quarantined, found.name)}"
        else:
            before = max((apart.id for apart in found.quarantined()), default=0) if quarantine else 0
            count = found.import_file(file, quarantine=quarantine, progress=progress)
            apart = sum(1 for _ in found.quarantined(after=before)) if quarantine else 0
            text = f"{format_count(count, 'record')} imported from {file} into {found.name}."
            if not count and not apart:
                text = f"{found.name} already had every record of {file}."
            if apart:
                text += f" {_describe_quarantined(apart, found.name)}"
            outcome = {"ledger": found.name, "file": file, "records": count, "quarantined": apart}
    _print_outcome(text, outcome, as_json)


def _describe_quarantined(count: int, ledger: str) -> str:
    return f"{format_count(count, 'record')} quarantined: plaudit ledger quarantine {ledger}"


def _check_importable(file: Path) -> None:
    """Raise if there is nothing to import, before a ledger is created for it."""
    try:
        if file.is_dir():
            raise FileError(f"{file} is a directory without a log of rollouts; name a file in it.")
        if file.exists() and not file.is_file():
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
