"""`plaudit ledger episodes`: the returns of episodes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from plaudit.cli._support.options import explain_nothing, parse_query, query_options
from plaudit.cli.ledger.history import FEW, format_moment, limit_option, print_json, shorten_text
from plaudit.errors import NotInLedger
from plaudit.ledger.summary.episodes import describe_end
from plaudit.plugins.arguments import open_ledger
from plaudit.terminal import Screen, build_table, format_count, format_value

if TYPE_CHECKING:
    from plaudit.ledger.ledger import Ledger
    from plaudit.ledger.summary.episodes import Episode, Episodes

episode_options = query_options(without=("step", "key", "after"))
"""Adds the options that select episodes."""


@click.command(epilog="Example: plaudit ledger episodes rewards.db --run night-3 --terms")
@click.argument("ledger")
@episode_options
@click.option("--terms", is_flag=True, help="Also show what each term paid.")
@limit_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def episodes(ledger: str, terms: bool, limit: int | None, as_json: bool, **query: Any) -> None:
    """List the episodes of a ledger.

    Shows the return, the length and the end of each episode. An episode belongs to one run, actor and reward; --since
    and --until filter by when it began. The end is known if the Gymnasium wrapper recorded it, or if the context of
    the last record says "terminated" or "truncated". If other episodes of the same run and actor say so and this one
    does not, it is unfinished.
    """
    given = parse_query(query)
    with open_ledger(ledger) as found:
        listed = list_episodes(found, given)
    shown = listed[-limit:] if (limit := (0 if as_json else FEW) if limit is None else limit) else listed
    if as_json:
        print_json(shown)
        return
    print_episodes(shown, terms=listed.term_names if terms else ())
    if len(shown) < len(listed):
        older = format_count(len(listed) - len(shown), "older episode")
        click.echo(f"{older} not shown: --limit 0 shows all, `plaudit ledger rank` the worst.", err=True)


def list_episodes(ledger: "Ledger", given: dict[str, Any]) -> "Episodes":
    """Return the episodes that options select; NotInLedger if there are none."""
    listed = ledger.episodes(**given)
    if not listed:
        history = ledger.history(**given)
        if next(iter(history), None) is None:
            raise explain_nothing(history)
        raise NotInLedger("No episodes: none of these records has an episode.")
    return listed


def print_episodes(listed: "Episodes", *, terms: Sequence[str] = ()) -> None:
    """Print a table of episodes, with what some terms paid; empty columns are left out."""
    rows = [_build_row(each, terms) for each in listed]
    shown = [name for name in rows[0] if any(row[name] for row in rows)] if rows else []
    table = build_table(*shown, right=("return", "length", "steps", "records", *terms))
    for column in table.columns:
        column.no_wrap = True  # all of them are names or numbers
    for row in rows:
        table.add_row(*(row[name] for name in shown))
    Screen().print(table)


def _build_row(each: "Episode", terms: Sequence[str]) -> dict[str, str]:
    return {
        "episode": shorten_text(each.episode),
        "run": shorten_text(each.run or ""),
        "actor": shorten_text(each.actor or ""),
        "reward": shorten_text(f"{each.reward}@{each.version}"),
        **{term: format_value(each.terms[term]) if term in each.terms else "" for term in terms},
        "return": format_value(each.total) if each.is_scored else "-",
        "length": f"{each.length:,}",
        "ended": describe_end(each) or "",
        "steps": "" if each.first_step is None else f"{each.first_step}–{each.last_step}",
        "began": format_moment(each.began),
        "records": f"{each.first_record}–{each.last_record}",
    }
