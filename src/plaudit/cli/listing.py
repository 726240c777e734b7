"""`plaudit list`: the rewards that come with plaudit."""

import json

import click


@click.command("list", epilog="Example: plaudit list --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")
def list_(as_json: bool) -> None:
    """List the built-in rewards: what they reward, their versions and their terms."""
    from plaudit.systems import BUILT_IN, system

    found = {name: system(name) for name in BUILT_IN}
    terms = {name: [term.name for term in each.reward.terms] for name, each in found.items()}
    if as_json:
        rows = [
            {"name": name, "rewards": BUILT_IN[name], "versions": list(each.VERSIONS), "terms": terms[name]}
            for name, each in found.items()
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    from plaudit.cli.screen import Screen, table

    listing = table("reward", "what it rewards", "versions", "terms")
    for name, each in found.items():
        if listing.rows:
            listing.add_row()
        listing.add_row(name, BUILT_IN[name], ", ".join(each.VERSIONS), ", ".join(terms[name]))
    Screen().print(listing)
