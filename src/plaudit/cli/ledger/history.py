"""`plaudit ledger history`: records, newest last."""

import json
import math
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

import click

from plaudit.cli._support.options import explain_nothing, parse_query, query_options
from plaudit.ledger.history import History
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.record import Record
from plaudit.plugins.arguments import open_ledger
from plaudit.terminal import Screen, build_table, escape_line, format_value

FEW = 20
"""Default number of rows in a table."""
TOGETHER = 500
"""Rows per table; a longer history is printed as several, so that memory use stays constant."""
LONGEST = 60
"""Maximum length of a text in a table."""

limit_option = click.option(
    "--limit",
    metavar="COUNT",
    type=click.IntRange(min=0),
    help=f"Maximum rows to show, the newest (0 = all).  [default: {FEW}; with --json: 0]",
)

_CONTEXT = ("run", "episode", "step", "phase", "decision_class", "actor", "key")


@click.command(epilog="Example: plaudit ledger history rewards.db --run night-3 --since 12h")
@click.argument("ledger")
@query_options()
@limit_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def history(ledger: str, limit: int | None, as_json: bool, **query: Any) -> None:
    """Show the records of a ledger.

    Records are printed in the order in which they were recorded, without holding them in memory, so `| head` and
    `| jq` work on a LEDGER of any size.
    """
    given = parse_query(query)
    count = limit if limit is not None else 0 if as_json else FEW
    with open_ledger(ledger) as found:
        chosen = found.history(**given)
        records, older = _take_last(chosen, count)
        if not (print_json(records) if as_json else print_records(records)):
            raise explain_nothing(chosen, more=_guess_job(found, query))
        if older and not as_json:
            click.echo(f"Older records not shown: --limit {10 * count} shows more, --limit 0 shows all.", err=True)


def _take_last(history: History, count: int) -> tuple[Iterator[Record], bool]:
    """Return the last `count` records, 0 for all of them, and whether there are older ones."""
    if not count:
        return iter(history), False
    shown = history.last(count + 1)
    older = shown is not history
    return islice(shown, older, count + older), older


def _guess_job(ledger: Ledger, query: dict[str, Any]) -> str:
    """Return a hint at re-scorings by the reward or version that was asked for."""
    names = ("reward", "version")
    wanted = {name: query[name] for name in names if query[name] is not None}
    if not wanted or query["job"] is not None:
        return ""
    numbers = [
        job.id for job in ledger.jobs() if wanted.items() <= {name: getattr(job, name) for name in names}.items()
    ]
    return f" To see re-scored records, use {' or '.join(f'--job {number}' for number in numbers)}." if numbers else ""


def print_json(records: Iterable[Any]) -> bool:
    """Print one line per record, episode …, and return whether there were any."""
    found = False
    for record in records:
        sys.stdout.write(json.dumps(record.to_dict()) + "\n")
        found = True
    return found


def print_records(records: Iterator[Record]) -> bool:
    """Print records as tables, and return whether there were any."""
    screen = Screen()
    found = False
    while rows := [_build_row(record) for record in islice(records, TOGETHER)]:
        table = build_table("record", "at", "reward", "total", "where", right=("record", "total"))
        table.columns[1].no_wrap = True
        for row in rows:
            table.add_row(*row)
        screen.print(*([""] if found else []), table, sep="\n")
        found = True
    return found


def _build_row(record: Record) -> tuple[str, ...]:
    at = format_moment(record.at)
    reward = shorten_text(f"{record.signal.reward}@{record.signal.version}")
    total = "-" if math.isnan(record.total) else format_value(record.total)
    return str(record.id), at, reward, total, describe_place(record)


def describe_place(record: Record) -> str:
    """Return where a record belongs: its run, episode, step and so on."""
    parts = [
        f"{name}={shorten_text(str(getattr(record, name)))}" for name in _CONTEXT if getattr(record, name) is not None
    ]
    return " ".join([*parts, *([] if record.origin is None else [f"re-scores={record.origin}"])])


def format_moment(at: datetime) -> str:
    """Return a time to the second."""
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def shorten_text(text: str) -> str:
    """Return a text as tables show it."""
    return escape_line(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
