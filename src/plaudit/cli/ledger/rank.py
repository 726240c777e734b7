"""`plaudit ledger rank`: the episodes or steps that earned least, or most."""

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
@click.option("--best", is_flag=True, help="Show those that earned most instead of least.")
@episode_options
@click.option(
    "--by", type=click.Choice(["episode", "step"]), default="episode", show_default=True, help="Rank episodes or steps."
)
@click.option("--term", metavar="NAME", help="Rank by what this term paid.  [default: all terms]")
@click.option(
    "--limit", metavar="COUNT", type=click.IntRange(min=1), default=10, show_default=True, help="Maximum rows to show."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def rank(ledger: str, best: bool, by: str, term: str | None, limit: int, as_json: bool, **query: Any) -> None:
    """Rank episodes or steps by what they earned.

    Shows those of a LEDGER that earned least, or with --best most. `plaudit ledger why` explains a step; the table
    shows the first and last record of an episode. Look at the best ones too: they show whether agents exploit the
    reward.
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
