"""`plaudit list`: the built-in rewards and those of installed packages."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from plaudit.errors import PlauditError
from plaudit.plugins.registry import IN_THE_BOX, Registration, list_systems
from plaudit.terminal import Screen, build_table, escape_controls


@click.command("list", epilog="Example: plaudit list --json")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def list_(as_json: bool) -> None:
    """List the built-in and installed rewards.

    Shows what each one rewards, its versions and its terms. Installed packages can add rewards; one that cannot be
    loaded is reported on stderr.
    """
    rows = [describe(entry) for entry in list_systems()]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    _print_table([row for row in rows if "error" not in row])
    for row in (row for row in rows if "error" in row):
        click.echo(escape_controls(f"Left out: {row['error']}"), err=True)


def _print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print systems, with their package if one is not built in."""
    foreign = any(row["from"] != IN_THE_BOX for row in rows)
    table = build_table("reward", "description", "versions", "terms", *(["from"] if foreign else []))
    for row in rows:
        if table.rows:
            table.add_row()
        cells = [row["name"], row["rewards"], ", ".join(row["versions"]), ", ".join(row["terms"])]
        table.add_row(*map(escape_controls, [*cells, *([row["from"]] if foreign else [])]))
    Screen().print(table)


def describe(entry: Registration) -> dict[str, Any]:
    """Return a system as plain data; `error` says why one cannot be used.

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
