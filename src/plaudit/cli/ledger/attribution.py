"""`plaudit ledger attribution`: how much of the returns each term earned."""

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
    help="Groups of consecutive episodes to show, oldest first.",
)
@click.option("--between", metavar="EPISODE OTHER", nargs=2, help="Show which terms and steps separate two episodes.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def attribution(ledger: str, bins: int, between: tuple[str, str] | None, as_json: bool, **query: Any) -> None:
    """Show how much of the return each term earned.

    Shows each term's share of the mean return of the episodes in a LEDGER, and of its variance. Shares add up to
    100%: the covariance of two terms is split between them. The effect of a gate, an override or the clamp of the
    total has a row of its own. With --between, two episodes are compared instead.
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
