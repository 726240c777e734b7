"""`plaudit rescore`: score every record of a ledger with another reward."""

import json
from typing import Any

import click

from plaudit.cli._support.options import check_any_record, parse_query, query_options, tune, tuning_options
from plaudit.plugins.arguments import find_object, find_reward, open_ledger_to_write
from plaudit.rows.streams import is_data_set
from plaudit.terminal import ExitCode, format_count, show_progress


@click.command(epilog="Example: plaudit rescore roadsense@R8 rewards.db --run night-3 --since 2026-11-01")
@click.argument("new", metavar="REWARD")
@click.argument("ledger")
@query_options(without=("episode", "step", "actor", "key", "after", "job"))
@tuning_options()
@click.option("--label", metavar="LABEL", help="Version label of the reward with overrides.")
@click.option("--features", metavar="FILE:NAME", help="Features of rollouts: read recorded texts again.")
@click.option("--ask", is_flag=True, help="With --features: ask judges again whose answers were kept.")
@click.option("--as-recorded", is_flag=True, help="Score each record with the same target and dtype as before.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def rescore(
    new: str,
    ledger: str,
    settings: tuple[str, ...],
    params: str | None,
    label: str | None,
    features: str | None,
    ask: bool,
    as_recorded: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Score a ledger's records with another reward.

    Adds the scores of REWARD to LEDGER as new records beside the old ones, and reports what changes. LEDGER is a file
    made by Ledger("rewards.db"), or postgresql://user@host/database. Run the command again to resume an interrupted
    re-scoring. For files of rows, use `plaudit score`.

    With --features, prompts and completions that a `Scoring` recorded are read again: only features that changed are
    run, and no judge is asked whose answer was kept.

    Exit code: 0 if every record was scored, 2 if none could be scored, 3 if some could not be scored.
    """
    if is_data_set(ledger):
        raise click.UsageError(f"{ledger} is not a ledger. To score its rows: plaudit score {new} {ledger} -o OUTPUT")
    reward = tune(find_reward(new), params, settings)
    reward = reward.with_version(label) if label is not None else reward
    query = parse_query(options)
    if ask and features is None:
        raise click.UsageError("--ask needs --features.")
    if features is not None and as_recorded:
        raise click.UsageError("--as-recorded cannot be combined with --features.")
    with open_ledger_to_write(ledger) as found:
        check_any_record(found, dict(query))
        if features is not None:
            from plaudit.llm.rescoring import rescore_rollouts

            with show_progress("re-scoring") as progress:
                read = rescore_rollouts(found, reward, find_object(features), ask=ask, progress=progress, **dict(query))
            click.echo(json.dumps(read.to_dict(), indent=2, default=str) if as_json else str(read))
            if read.reasons:
                raise click.exceptions.Exit(ExitCode.INCOMPLETE)
            return
        planned = found.plan_rescore(reward, as_recorded=as_recorded, **query)
        for lacking in planned.lacking:
            click.echo(f"{lacking}; left out.", err=True)
        click.echo(f"{format_count(planned.records - planned.scored, 'record')} to score.", err=True)
        if planned.scored:
            click.echo(f"{format_count(planned.scored, 'record')} already scored by an earlier run.", err=True)
        with show_progress("re-scoring") as progress:
            done = found.rescore(reward, as_recorded=as_recorded, progress=progress, **query)
    click.echo(json.dumps(done.to_dict(), indent=2, default=str) if as_json else str(done))
    if done.lacking or done.refused:
        raise click.exceptions.Exit(ExitCode.INCOMPLETE)
