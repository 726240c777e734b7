"""`plaudit ledger stats`: record counts and reward statistics."""

import json

import click

from plaudit.errors import did_you_mean
from plaudit.ledger.summary.runs import GROUPS
from plaudit.ledger.totals import Totals
from plaudit.plugins.arguments import open_ledger
from plaudit.terminal import Screen, build_table, escape_line, show_status

_NUMBERS = ("records", "mean", "low", "high")


def _parse_names(ctx: click.Context, option: click.Parameter, given: str | None) -> tuple[str, ...]:
    names = () if given is None else tuple(name.strip().replace("-", "_") for name in given.split(","))
    for name in names:
        if name not in GROUPS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(GROUPS)}.{did_you_mean(name, GROUPS)}")
    return names


@click.command(epilog="Example: plaudit ledger stats rewards.db --by run,term")
@click.argument("ledger")
@click.option(
    "--by",
    metavar="NAMES",
    callback=_parse_names,
    help="Group rewards by reward, run, phase, decision_class, actor or term, or several: run,term.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def stats(ledger: str, by: tuple[str, ...], as_json: bool) -> None:
    """Show record counts and reward statistics.

    With --by, prints the mean, lowest and highest reward of each run, actor …, or of what each term paid. Without it,
    prints the counts of a LEDGER, and its heads: where each writer's chain of checksums ends. Keep a copy of the
    heads where the ledger's writers cannot change it. Somebody who rewrites the past can compute new checksums, and
    only the old heads reveal that.
    """
    with open_ledger(ledger) as found, show_status("reading every total"):
        if not by:
            result = found.stats()
            click.echo(json.dumps(result.to_dict(), indent=2) if as_json else str(result))
            return
        totals = found.totals(*by)
    if as_json:
        listed = [{**dict(zip(by, key, strict=True)), **each.to_dict()} for key, each in totals.items()]
        click.echo(json.dumps(listed, indent=2))
    elif totals:
        _print_totals(by, totals)
    else:
        click.echo("No records.", err=True)


def _print_totals(names: tuple[str, ...], totals: dict[tuple[str | None, ...], Totals]) -> None:
    table = build_table(*(name.replace("_", " ") for name in names), *_NUMBERS, right=_NUMBERS)
    for key, each in totals.items():
        table.add_row(*(escape_line(part or "(none)") for part in key), *each.format_cells())
    Screen().print(table)
