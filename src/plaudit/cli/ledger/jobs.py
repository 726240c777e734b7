"""`plaudit ledger jobs`: the re-scorings of a ledger."""

import click

from plaudit.cli.ledger.history import format_moment, print_json, shorten_text
from plaudit.plugins.arguments import open_ledger
from plaudit.terminal import Screen, build_table


@click.command(epilog="Example: plaudit ledger jobs rewards.db")
@click.argument("ledger")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def jobs(ledger: str, as_json: bool) -> None:
    """List the re-scorings of a ledger.

    `plaudit ledger history --job NUMBER` shows the records of a re-scoring, `plaudit ledger episodes --job NUMBER` its
    episodes. To finish an interrupted re-scoring of a LEDGER, run `plaudit rescore` again.
    """
    with open_ledger(ledger) as found:
        listed = found.jobs()
    if as_json:
        print_json(listed)
    elif not listed:
        click.echo("No re-scorings.", err=True)
    else:
        table = build_table("job", "reward", "selection", "records", "started", "finished", right=("job", "records"))
        for job in listed:
            chosen = " ".join(f"{name}={value}" for name, value in job.chosen.items())
            reward = f"{job.reward}@{job.version}"
            finished = "no" if job.finished is None else format_moment(job.finished)
            texts = (shorten_text(reward), shorten_text(chosen or "all"))
            table.add_row(str(job.id), *texts, f"{job.records:,}", format_moment(job.started), finished)
        Screen().print(table)
