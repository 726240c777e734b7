"""The options that choose records, the same for every command that reads them."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from plaudit.cli.ledger.moments import as_moment

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--reward", metavar="NAME", help="Of this reward, such as roadsense."),
    click.option("--version", metavar="LABEL", help="Of this version of a reward."),
    click.option("--run", metavar="TEXT", help="Of this run (or mission)."),
    click.option("--episode", metavar="TEXT", help="Of this episode."),
    click.option("--step", metavar="NUMBER", type=int, help="Of this step."),
    click.option("--phase", metavar="TEXT", help="Of this phase."),
    click.option("--decision-class", metavar="TEXT", help="Of this class of decision."),
    click.option("--actor", metavar="TEXT", help="Of this actor."),
    click.option("--key", metavar="TEXT", help="The one with this key."),
    click.option(
        "--since", metavar="WHEN", callback=as_moment, help="At or after: 2026-11-01, 2026-11-01T12:00Z, 7d, 12h."
    ),
    click.option("--until", metavar="WHEN", callback=as_moment, help="Before such a moment."),
    click.option("--after", metavar="NUMBER", type=int, help="With higher numbers than this record's."),
    click.option("--job", metavar="NUMBER", type=int, help="Of this re-scoring; without it, only what was recorded."),
)


def choosing(command: Command) -> Command:
    """Add every option that chooses records."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def chosen(options: dict[str, Any]) -> dict[str, Any]:
    """Return what was chosen, as `Ledger.history` takes it."""
    return {name: value for name, value in options.items() if value is not None}
