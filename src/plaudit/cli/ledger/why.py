"""`plaudit ledger why`: one record, from its inputs to its total."""

import json

import click

from plaudit.plugins.arguments import open_ledger


@click.command(epilog="Example: plaudit ledger why rewards.db 1204")
@click.argument("ledger")
@click.argument("record")
@click.option("--key", "is_key", is_flag=True, help="Treat RECORD as a key even if it looks like a number.")
@click.option(
    "--branches",
    is_flag=True,
    help="Show the conditions behind each term, and the distance to the nearest other branch.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def why(ledger: str, record: str, is_key: bool, branches: bool, as_json: bool) -> None:
    """Explain one record, term by term.

    Shows its context, its inputs, each term and the total. RECORD is the number shown by `plaudit ledger history`, or
    the key of the record.
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
