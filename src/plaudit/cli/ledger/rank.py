"""`plaudit ledger rank`: which episodes or steps earned least, or most."""

from typing import TYPE_CHECKING, Any

import click

from plaudit.cli._support.options import explain_nothing, parse_query
from plaudit.cli.ledger.episodes import episode_options, list_episodes, print_episodes
from plaudit.cli.ledger.history import print_json, print_records
from plaudit.errors import NotInLedger
from plaudit.plugins.arguments import open_ledger

if TYPE_CHECKING:
    from plaudit.ledger.summary.episodes import Episodes


@click.command(epilog="Example: plaudit ledger rank rewards.db --run night-3 --by step --term comfort")
@click.argument("ledger")
@click.option("--best", is_flag=True, help="Those that earned most.")
@episode_options
@click.option("--by", type=click.Choice(["episode", "step"]), default="episode", help="Episodes, or steps.")
@click.option("--term", metavar="NAME", help="By what this term paid, instead of all of them.")
@click.option(
    "--limit", metavar="COUNT", type=click.IntRange(min=1), default=10, show_default=True, help="Maximum to show."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def rank(ledger: str, best: bool, by: str, term: str | None, limit: int, as_json: bool, **query: Any) -> None:
    """Show the episodes, or the steps, of a LEDGER that earned least, or with --best most.

    `plaudit ledger why` explains a step; the first and the last record of an episode are shown. What earns most need
    not be what was wanted: it is where to look for a reward that is taken advantage of.
    """
    given, end = parse_query(query), "best" if best else "worst"
    with open_ledger(ledger) as found:
        if by == "episode":
            listed = list_episodes(found, given)
            episodes = getattr(listed, end)(limit, term=term)
            if not episodes:
                raise _explain_unranked(listed, term)
            if as_json:
                print_json(episodes)
            else:
                print_episodes(episodes, terms=[] if term is None else [term])
            return
        history = found.history(**given)
        records = getattr(history, end)(limit, term=term)
        if not (print_json(records) if as_json else print_records(iter(records))):
            raise explain_nothing(history)


def _explain_unranked(listed: "Episodes", term: str | None) -> NotInLedger:
    having = "" if term is None else f" with the term {term!r}"
    unfinished = sum(not each.finished for each in listed)
    return NotInLedger(
        f"No finished episodes{having} to rank ({unfinished:,} unfinished). `plaudit ledger episodes` lists them; "
        "--by step ranks steps."
    )
