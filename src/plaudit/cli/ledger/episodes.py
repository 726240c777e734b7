"""`plaudit ledger episodes`: what each episode earned."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from plaudit.cli._support.options import explain_nothing, parse_query, query_options
from plaudit.cli.ledger.history import FEW, format_moment, limit_option, print_json, shorten_text
from plaudit.errors import NotInLedger
from plaudit.plugins.arguments import open_ledger
from plaudit.terminal import Screen, build_table, format_count, format_value

if TYPE_CHECKING:
    from plaudit.ledger.ledger import Ledger
    from plaudit.ledger.summary.episodes import Episode, Episodes

episode_options = query_options(without=("step", "key", "after"))
"""Adds the options that say which episodes are meant."""


@click.command(epilog="Example: plaudit ledger episodes rewards.db --run night-3 --terms")
@click.argument("ledger")
@episode_options
@click.option("--terms", is_flag=True, help="Show what each term paid too.")
@limit_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def episodes(ledger: str, terms: bool, limit: int | None, as_json: bool, **query: Any) -> None:
    """List the episodes of a LEDGER: what each earned, how long it was and how it ended.

    An episode is one of a run and an actor, by one reward, as far as it is recorded; --since and --until are about when
    it began. How it ended is known where the wrapper of a Gymnasium environment recorded it, or where the context of
    its last record says "terminated" or "truncated"; where others of its run and actor say so and it does not, it is
    unfinished.
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
        older = format_count(len(listed) - len(shown), "older one")
        click.echo(f"There are {older}: --limit 0 shows all, `plaudit ledger rank` those that earned least.", err=True)


def list_episodes(ledger: "Ledger", given: dict[str, Any]) -> "Episodes":
    """Return the episodes that options choose; NotInLedger where there is none."""
    listed = ledger.episodes(**given)
    if not listed:
        history = ledger.history(**given)
        if next(iter(history), None) is None:
            raise explain_nothing(history)
        raise NotInLedger("No episode was found: none of these records says which episode it is of.")
    return listed


def print_episodes(listed: "Episodes", *, terms: Sequence[str] = ()) -> None:
    """Print a table of episodes, with what each of some terms paid; a column in which nothing stands is left out."""
    rows = [_build_row(each, terms) for each in listed]
    shown = [name for name in rows[0] if any(row[name] for row in rows)] if rows else []
    table = build_table(*shown, right=("return", "length", "steps", "records", *terms))
    for column in table.columns:
        column.no_wrap = True  # all of them name something
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
        "return": format_value(each.total),
        "length": f"{each.length:,}",
        "ended": (each.ended or "") if each.finished else "unfinished",
        "steps": "" if each.first_step is None else f"{each.first_step}–{each.last_step}",
        "began": format_moment(each.began),
        "records": f"{each.first_record}–{each.last_record}",
    }
