"""`plaudit report`: the page as one self-contained file."""

import json
import os
from collections.abc import Sequence

import click

from plaudit.cli._support.options import task_option
from plaudit.errors import DefinitionError, NotInLedger
from plaudit.plugins.arguments import find_task
from plaudit.plugins.options import output_option
from plaudit.rows.streams import STANDARD, Output
from plaudit.terminal import format_count, show_progress


def _convert_size(context: click.Context, option: click.Parameter, given: str) -> int:
    from plaudit.page.report import parse_size

    try:
        return parse_size(given)
    except DefinitionError as error:
        raise click.BadParameter(str(error)) from None


def is_same_file(given: str, output: str) -> bool:
    """Return whether an input file is also the output file."""
    try:
        return os.path.samefile(given, output)
    except OSError:  # one of them is not there, or is no file
        return False


@click.command(epilog="Example: plaudit report rewards.db roadsense@R8 --run night-3 -o report.html")
@click.argument("given", metavar="LEDGER|REWARD...", nargs=-1, required=True)
@click.option("--run", metavar="TEXT", help="Only records of this run (or mission).")
@task_option()
@output_option("File to write; - is stdout.", default="report.html", show_default=True)
@click.option(
    "--max-size",
    metavar="SIZE",
    default="3MB",
    show_default=True,
    callback=_convert_size,
    help="Size limit for embedded episodes, such as 500KB, 3MB or 20MB.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def report(given: Sequence[str], run: str | None, task: str | None, output: str, max_size: int, as_json: bool) -> None:
    """Write ledgers and rewards to one HTML page.

    LEDGER is a file or the address of a server; you can give several ledgers and REWARDs. The page shows rewards,
    runs, episodes and single steps, and what other knobs would have paid. It needs neither plaudit nor a network. An
    existing file is replaced when the new one is complete.
    """
    from plaudit.page.library import Library
    from plaudit.page.report import build_report

    if as_json and output == STANDARD:
        raise click.UsageError("--json and --output - both print to standard output; choose one.")
    for each in given:
        if is_same_file(each, output):
            raise click.UsageError(f"--output {output} would replace the input {each}; name another file.")
    with Output(output) as file:
        library = Library(given, run=run, task=None if task is None else find_task(task))
        try:
            if run is not None and not library.has_runs:
                raise NotInLedger(f"No ledger here has a run {run!r:.60}. `plaudit ledger runs LEDGER` lists them.")
            with show_progress("report") as progress:
                made = build_report(library, max_size=max_size, progress=progress)
        finally:
            library.close()
        file.file.write(made.html)
        file.commit()
    for each in made.left_out:
        click.echo(f"Left out: {each}", err=True)
    if as_json:
        click.echo(json.dumps({"output": output, **made.to_dict()}, indent=2))
    elif output != STANDARD:
        held = f": {made.episodes:,} of {format_count(made.of, 'episode')}" if made.of else ""
        click.echo(f"{output}: {made.size / 1e6:.2f} MB{held}. Open it with a browser.", err=True)
