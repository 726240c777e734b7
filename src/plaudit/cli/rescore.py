"""`plaudit rescore`: another reward for every record of a ledger."""

import json
from typing import Any

import click

from plaudit.cli._support.options import check_any_record, parse_query, query_options, tune, tuning_options
from plaudit.plugins.arguments import find_reward, open_ledger_to_write
from plaudit.terminal import ExitCode, format_count, show_progress


@click.command(epilog="Example: plaudit rescore roadsense@R8 rewards.db --run night-3 --since 2026-11-01")
@click.argument("new", metavar="REWARD")
@click.argument("ledger")
@query_options(without=("episode", "step", "actor", "key", "after", "job"))
@tuning_options("Another value for a knob; can be repeated.")
@click.option("--label", metavar="LABEL", help="What the version of a reward is called whose knobs were changed.")
@click.option("--as-recorded", is_flag=True, help="Score by what scored each record, in the same dtype.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
def rescore(
    new: str,
    ledger: str,
    settings: tuple[str, ...],
    params: str | None,
    label: str | None,
    as_recorded: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Apply a REWARD to every record of a LEDGER, and tell what changes.

    A ledger is the file that Ledger("rewards.db") made, or postgresql://user@host/database. The new scores are new
    records beside the old ones; a re-scoring that was stopped goes on where it was. `plaudit score` is for files.

    The exit code is 0 if every record was scored, 2 if nothing could be done, 3 if some could not be scored.
    """
    reward = tune(find_reward(new), params, settings)
    reward = reward.with_version(label) if label is not None else reward
    query = parse_query(options)
    with open_ledger_to_write(ledger) as found:
        check_any_record(found, dict(query))
        planned = found.plan_rescore(reward, as_recorded=as_recorded, **query)
        for lacking in planned.lacking:
            click.echo(f"{lacking}; left out.", err=True)
        click.echo(f"{format_count(planned.records - planned.scored, 'record')} to score.", err=True)
        if planned.scored:
            click.echo(f"{format_count(planned.scored, 'record')} were scored by an earlier run.", err=True)
        with show_progress("re-scoring") as progress:
            done = found.rescore(reward, as_recorded=as_recorded, progress=progress, **query)
    click.echo(json.dumps(done.to_dict(), indent=2, default=str) if as_json else str(done))
    if done.lacking or done.refused:
        raise click.exceptions.Exit(ExitCode.INCOMPLETE)
