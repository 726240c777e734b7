"""`plaudit ledger attribution`: which terms earned what episodes did."""

import json
from typing import Any

import click

from plaudit.cli._support.options import parse_query
from plaudit.cli.ledger.episodes import episode_options, list_episodes
from plaudit.plugins.arguments import open_ledger


@click.command(epilog="Example: plaudit ledger attribution rewards.db --run night-3")
@click.argument("ledger")
@episode_options
@click.option(
    "--bins",
    metavar="COUNT",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Into how many stretches, in the order in which they began, episodes are cut.",
)
@click.option("--between", metavar="EPISODE OTHER", nargs=2, help="Two episodes: which terms and steps separate them.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for a script.")
def attribution(ledger: str, bins: int, between: tuple[str, str] | None, as_json: bool, **query: Any) -> None:
    """Show how much of what the episodes of a LEDGER earned, and of its variance, each term carries.

    Shares add up to 100%: a covariance of two terms goes half to each. What a gate, an override or the clamp of the
    total adds or takes has a row of its own. With --between, two episodes are laid side by side instead.
    """
    from plaudit.analysis import attribute, compare_episodes

    given = parse_query(query)
    with open_ledger(ledger) as found:
        outcome = (
            attribute(list_episodes(found, given), bins=bins)
            if between is None
            else compare_episodes(found, *between, **given)
        )
    click.echo(json.dumps(outcome.to_dict(), indent=2) if as_json else str(outcome))
