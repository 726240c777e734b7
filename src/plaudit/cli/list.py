"""`plaudit list`: the rewards that have a name, whoever wrote them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from plaudit.errors import PlauditError
from plaudit.plugins.registry import IN_THE_BOX, Registration, list_systems
from plaudit.terminal import Screen, build_table, escape_controls


@click.command("list", epilog="Example: plaudit list --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")
def list_(as_json: bool) -> None:
    """List the named rewards: what they reward, their versions and their terms.

    Some come with plaudit, others with packages that are installed. One that cannot be used is listed with the reason.
    """
    rows = [describe(entry) for entry in list_systems()]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    _print_table([row for row in rows if "error" not in row])
    for row in (row for row in rows if "error" in row):
        click.echo(escape_controls(f"Left out: {row['error']}"), err=True)


def _print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print systems; where all are built in, it goes without saying."""
    foreign = any(row["from"] != IN_THE_BOX for row in rows)
    table = build_table("reward", "what it rewards", "versions", "terms", *(["from"] if foreign else []))
    for row in rows:
        if table.rows:
            table.add_row()
        cells = [row["name"], row["rewards"], ", ".join(row["versions"]), ", ".join(row["terms"])]
        table.add_row(*map(escape_controls, [*cells, *([row["from"]] if foreign else [])]))
    Screen().print(table)


def describe(entry: Registration) -> dict[str, Any]:
    """Return what a script wants to know about a system; `error` says why one cannot be used.

    >>> from plaudit.systems import find_system
    >>> describe(find_system("apex"))["from"]
    'built-in'
    """
    identity = {"name": entry.name, "rewards": "", "versions": [], "terms": [], "from": entry.package}
    try:
        system = entry.load()
    except PlauditError as error:
        return identity | {"error": str(error)}
    terms = [term.name for term in system.reward.terms]
    return identity | {"rewards": entry.describe(), "versions": list(system.VERSIONS), "terms": terms}
