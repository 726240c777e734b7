"""`plaudit ledger backup` and `compact`: the care of a ledger."""

import json
from pathlib import Path

import click

from plaudit.cli.errors import terminable
from plaudit.cli.ledger.opening import opened, opened_to_write
from plaudit.cli.ledger.watching import sentence
from plaudit.errors import FileError


@click.command(epilog="Example: plaudit ledger backup rewards.db /backups/rewards-2026-11-01.db")
@click.argument("ledger")
@click.argument("file")
@click.option("--force", is_flag=True, help="Replace a FILE that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
def backup(ledger: str, file: str, force: bool, as_json: bool) -> None:
    """Copy a LEDGER as it is now to a FILE, while others write to it.

    The FILE is a ledger itself, in SQLite whatever the LEDGER is kept in, and appears when it is complete.
    """
    if Path(file).is_file() and not force:
        raise FileError(f"{file} exists already; choose another name, or replace it with --force.")
    with terminable(), opened(ledger) as found, sentence(f"copying to {file}"):
        found.backup(file, overwrite=force)
        name = found.place.name
    size = Path(file).stat().st_size
    if as_json:
        click.echo(json.dumps({"ledger": name, "file": file, "bytes": size}, indent=2))
    else:
        click.echo(f"{name} is copied to {file}: {size:,} bytes.", err=True)


@click.command(epilog="Example: plaudit ledger compact rewards.db")
@click.argument("ledger")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
def compact(ledger: str, as_json: bool) -> None:
    """Give back the space that nothing in a LEDGER needs.

    No record is removed or changed. Writers wait until it is done.
    """
    with opened_to_write(ledger) as found, sentence("compacting"):
        name, before = found.place.name, found.place.size()
        found.compact()
        after = found.place.size()
    if as_json:
        click.echo(json.dumps({"ledger": name, "bytes_before": before, "bytes": after}, indent=2))
    else:
        click.echo(f"{name}: {after:,} bytes, {before:,} before.", err=True)
