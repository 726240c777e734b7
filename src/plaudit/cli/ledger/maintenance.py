"""`plaudit ledger backup` and `compact`: maintenance of a ledger."""

import json
from pathlib import Path

import click

from plaudit.errors import FileError
from plaudit.plugins.arguments import open_ledger, open_ledger_to_write
from plaudit.plugins.options import output_option
from plaudit.terminal import show_status


@click.command(epilog="Example: plaudit ledger backup rewards.db --output /backups/rewards-2026-11-01.db")
@click.argument("ledger")
@output_option("File to write.", required=True)
@click.option("--force", is_flag=True, help="Overwrite an existing FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def backup(ledger: str, output: str, force: bool, as_json: bool) -> None:
    """Back up a ledger while others write to it.

    Copies the current state of LEDGER to FILE, a ledger in SQLite even if LEDGER is on a server. FILE appears only
    when it is complete.
    """
    if Path(output).is_file() and not force:
        raise FileError(f"{output} already exists; choose another name, or replace it with --force.")
    with open_ledger(ledger) as found, show_status(f"copying to {output}"):
        found.backup(output, overwrite=force)
        name = found.name
    size = Path(output).stat().st_size
    if as_json:
        click.echo(json.dumps({"ledger": name, "output": output, "bytes": size}, indent=2))
    else:
        click.echo(f"{name} copied to {output}: {size:,} bytes.", err=True)


@click.command(epilog="Example: plaudit ledger compact rewards.db")
@click.argument("ledger")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def compact(ledger: str, as_json: bool) -> None:
    """Compact a ledger to save space and read faster.

    Merges the small blocks of a LEDGER and releases unused space. Records that were written one by one are then read
    and verified faster. No record is removed or changed, and saved heads remain valid. Writers wait briefly now and
    then.
    """
    with open_ledger_to_write(ledger) as found, show_status("compacting"):
        name, before = found.name, found.size()
        merged = found.compact()
        after = found.size()
    if as_json:
        click.echo(json.dumps({"ledger": name, "bytes_before": before, "bytes": after, "merged": merged}, indent=2))
    else:
        click.echo(f"{name}: {after:,} bytes, {before:,} before; {merged:,} blocks fewer.", err=True)
