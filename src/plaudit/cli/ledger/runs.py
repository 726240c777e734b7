"""`plaudit ledger runs`: records, episodes and returns of each run."""

from typing import Any

import click

from plaudit.cli._support.options import explain_nothing, parse_query, query_options
from plaudit.cli.ledger.history import format_moment, print_json, shorten_text
from plaudit.plugins.arguments import open_ledger
from plaudit.terminal import Screen, build_table, format_value


@click.command(epilog="Example: plaudit ledger runs rewards.db")
@click.argument("ledger")
@query_options(without=("episode", "step", "key", "since", "until", "after"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def runs(ledger: str, as_json: bool, **query: Any) -> None:
    """List the runs of a ledger.

    Shows the records, the episodes and their returns for each run and reward in a LEDGER. Unfinished episodes do not
    count towards the returns.
    """
    given = parse_query(query)
    with open_ledger(ledger) as found:
        listed = found.runs(**given)
        if not listed:
            raise explain_nothing(found.history(**given))
    if as_json:
        print_json(listed)
        return
    apart = ("unfinished",) if any(each.unfinished for each in listed) else ()
    numbers = ("records", "episodes", *apart, "mean return", "lowest", "highest")
    table = build_table("run", "reward", *numbers, "began", "latest", right=numbers)
    for column in table.columns:
        column.no_wrap = True  # all of them are names or numbers
    for each in listed:
        returns = (each.returns.mean, each.returns.low, each.returns.high) if each.episodes else ()
        table.add_row(
            shorten_text(each.run or "(none)"),
            shorten_text(f"{each.reward}@{each.version}"),
            f"{each.records:,}",
            f"{each.episodes:,}",
            *(f"{each.unfinished:,}" for _ in apart),
            *(map(format_value, returns) if returns else ("", "", "")),
            format_moment(each.began),
            format_moment(each.latest),
        )
    Screen().print(table)
