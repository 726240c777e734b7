"""`plaudit ledger backup` and `compact`: the care of a ledger."""

import json
from pathlib import Path

import click

from plaudit.errors import FileError
from plaudit.plugins.arguments import open_ledger, open_ledger_to_write
from plaudit.plugins.options import output_option
from plaudit.terminal import show_status


@click.command(epilog="Example: plaudit ledger backup rewards.db --output /backups/rewards-2026-11-01.db")
@click.argument("ledger")
@output_option("The copy.", required=True)
@click.option("--force", is_flag=True, help="Replace a FILE that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
def backup(ledger: str, output: str, force: bool, as_json: bool) -> None:
    """Copy a LEDGER as it is now to a FILE, while others write to it.

    The FILE is a ledger itself, in SQLite whatever the LEDGER is kept in, and appears when it is complete.
    """
    if Path(output).is_file() and not force:
        raise FileError(f"{output} exists already; choose another name, or replace it with --force.")
    with open_ledger(ledger) as found, show_status(f"copying to {output}"):
        found.backup(output, overwrite=force)
        name = found.name
    size = Path(output).stat().st_size
    if as_json:
        click.echo(json.dumps({"ledger": name, "output": output, "bytes": size}, indent=2))
    else:
        click.echo(f"{name} is copied to {output}: {size:,} bytes.", err=True)


@click.command(epilog="Example: plaudit ledger compact rewards.db")
@click.argument("ledger")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
def compact(ledger: str, as_json: bool) -> None:
    """Merge the small blocks of a LEDGER, and give back the space that nothing needs.

    Records that were written one by one are then read and verified faster. No record is removed or changed, and heads
    that were kept still hold. Writers wait now and then, until it is done.
    """
    with open_ledger_to_write(ledger) as found, show_status("compacting"):
        name, before = found.name, found.size()
        merged = found.compact()
        after = found.size()
    if as_json:
        click.echo(json.dumps({"ledger": name, "bytes_before": before, "bytes": after, "merged": merged}, indent=2))
    else:
        click.echo(f"{name}: {after:,} bytes, {before:,} before; {merged:,} blocks fewer.", err=True)
