"""`plaudit ledger why`: one reward, from its inputs to its total."""

import json

import click

from plaudit.plugins.arguments import open_ledger


@click.command(epilog="Example: plaudit ledger why rewards.db 1204")
@click.argument("ledger")
@click.argument("record")
@click.option("--key", "is_key", is_flag=True, help="RECORD is a key, even if it looks like a number.")
@click.option(
    "--branches", is_flag=True, help="Show which conditions made each term, and how far the nearest other branch is."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")
def why(ledger: str, record: str, is_key: bool, branches: bool, as_json: bool) -> None:
    """Show why a RECORD is what it is: its context, its inputs, each term, the total.

    RECORD is the number that `plaudit ledger history` shows, or the key that the record was given.
    """
    number = record.isascii() and record.isdecimal() and not is_key
    with open_ledger(ledger) as found:
        reason = found.why(int(record) if number else record)
    plain, text = reason.to_dict(), str(reason)
    if branches:
        from plaudit.analysis import nearest_branches

        taken = nearest_branches(reason.record.signal.frame.source, reason.record.signal)
        plain, text = {**plain, "branches": taken.to_dict()}, f"{text}\n\n{taken}"
    click.echo(json.dumps(plain, indent=2) if as_json else text)
