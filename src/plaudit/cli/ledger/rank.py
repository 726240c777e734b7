"""`plaudit ledger rank`: the episodes, steps or rollouts that earned least, or most."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from plaudit.cli._support.options import explain_nothing, parse_query
from plaudit.cli.ledger.episodes import episode_options, list_episodes, print_episodes
from plaudit.cli.ledger.history import describe_place, print_json, print_records
from plaudit.errors import NotInLedger
from plaudit.plugins.arguments import open_ledger
from plaudit.terminal import escape_controls, format_value

if TYPE_CHECKING:
    from plaudit.ledger.record import Why
    from plaudit.ledger.summary.episodes import Episodes


@click.command(epilog="Example: plaudit ledger rank rewards.db --run night-3 --by step --term comfort")
@click.argument("ledger")
@click.option("--best", is_flag=True, help="Show those that earned most instead of least.")
@episode_options
@click.option("--by", type=click.Choice(["episode", "step"]), help="Rank episodes or steps.  [default: episode]")
@click.option("--term", metavar="NAME", help="Rank by what this term paid.  [default: all terms]")
@click.option(
    "--limit", metavar="COUNT", type=click.IntRange(min=1), default=10, show_default=True, help="Maximum rows to show."
)
@click.option("--texts", is_flag=True, help="Rank rollouts, and show prompts and completions.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def rank(
    ledger: str, best: bool, by: str | None, term: str | None, limit: int, texts: bool, as_json: bool, **query: Any
) -> None:
    """Rank episodes, steps or rollouts by reward.

    Shows those of a LEDGER that earned least, or with --best most. `plaudit ledger why` explains a step; the table
    shows the first and last record of an episode. Look at the best ones too: they show whether agents exploit the
    reward.
    """
    if texts and by is not None:
        raise click.UsageError("--texts ranks rollouts; leave out --by.")
    given, end = parse_query(query), "best" if best else "worst"
    with open_ledger(ledger) as found:
        if by != "step" and not texts:
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
        if texts and records:
            _print_texts([found.why(record.id) for record in records], as_json=as_json)
            return
        if not (print_json(records) if as_json else print_records(iter(records))):
            if (unscored := next(iter(history), None)) is not None:
                why = f"plaudit ledger why {shlex.quote(ledger)} {unscored.id}"
                raise NotInLedger(f"None of these records has a score; `{why}` says why.")
            raise explain_nothing(history)


def _print_texts(ranked: Sequence["Why"], *, as_json: bool) -> None:
    if not any(each.texts for each in ranked):
        raise NotInLedger("No texts were recorded with these records; --by step ranks them without.")
    if as_json:
        print_json(ranked)
        return
    for place, each in enumerate(ranked, start=1):
        record, signal = each.record, each.record.signal
        paid = ", ".join(f"{name} {format_value(value)}" for name, value in signal.values.items())
        about = f"record {record.id}, {signal.reward}@{signal.version}, {describe_place(record)}"
        heading = f"── {place}: {format_value(signal.total)} = {paid}"
        click.echo("\n\n" * (place > 1) + escape_controls("\n".join([heading, about, *each.format_texts()])))


def _explain_unranked(listed: "Episodes", term: str | None) -> NotInLedger:
    having = "" if term is None else f" with the term {term!r}"
    blank = sum(not each.is_scored for each in listed)
    without = f", {blank:,} without a score" if blank else ""
    return NotInLedger(
        f"No finished episodes{having} to rank ({len(listed.unfinished):,} unfinished{without}). "
        "`plaudit ledger episodes` lists them; --by step ranks steps."
    )
