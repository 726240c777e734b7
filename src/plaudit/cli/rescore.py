"""`plaudit rescore`: score every record of a ledger with another reward."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from plaudit.cli._support.logs import find_log, parse_scores, score_option
from plaudit.cli._support.options import check_any_record, parse_query, query_options, tune, tuning_options
from plaudit.plugins.arguments import find_object, find_reward, open_ledger_to_write
from plaudit.plugins.options import output_option
from plaudit.rows.streams import is_data_set
from plaudit.targets import OnBad
from plaudit.terminal import ExitCode, format_count, show_progress

if TYPE_CHECKING:
    from plaudit.adapters.logs import ImportedLog
    from plaudit.adapters.logs.log import Log
    from plaudit.ledger.ledger import Ledger


@click.command(epilog="Example: plaudit rescore roadsense@R8 rewards.db --run night-3 --since 2026-11-01")
@click.argument("new", metavar="REWARD")
@click.argument("source", metavar="LEDGER")
@query_options(without=("episode", "step", "actor", "key", "after", "job"))
@tuning_options()
@click.option("--label", metavar="LABEL", help="Version label of the reward with overrides.")
@click.option("--features", metavar="FILE:NAME", help="Features of rollouts: read recorded texts again.")
@click.option(
    "--applies", metavar="FILE:NAME", help="With --features: function that says which rollouts REWARD is for."
)
@click.option("--ask", is_flag=True, help="With --features: ask judges again whose answers were kept.")
@click.option(
    "--on-bad",
    type=click.Choice(get_args(OnBad)),
    help="With --features, at a rollout that cannot be scored: stop (raise), give it no reward (mask), or clip its "
    "numbers.  [default: mask]",
)
@output_option("With a log: ledger to record its rollouts and the new scores in.", metavar="LEDGER")
@score_option
@click.option("--as-recorded", is_flag=True, help="Score each record with the same target and dtype as before.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def rescore(
    new: str,
    source: str,
    settings: tuple[str, ...],
    params: str | None,
    label: str | None,
    features: str | None,
    applies: str | None,
    ask: bool,
    on_bad: OnBad | None,
    output: str | None,
    scores: tuple[str, ...],
    as_recorded: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Score a ledger's records with another reward.

    Adds the scores of REWARD to LEDGER as new records beside the old ones, and reports what changes. LEDGER is a file
    made by Ledger("rewards.db"), or postgresql://user@host/database. Run the command again to resume an interrupted
    re-scoring. For files of rows, use `plaudit score`.

    With --features, prompts and completions that a `Scoring` recorded are read again: only features that changed are
    run, and no judge is asked whose answer was kept. Then LEDGER can also be a log that TRL, verifiers or Inspect
    wrote, as for `plaudit ledger import`: its own scores are compared with those of REWARD. A log of TRL has the inputs
    of rewards that plaudit computed; if REWARD needs no others, --features can be left out.

    Exit code: 0 if every record was scored, 2 if none could be scored, 3 if some could not be scored.
    """
    log = find_log(source)
    if log is None and (output is not None or scores):
        raise click.UsageError("--output and --score are for logs of other tools; a ledger keeps its own scores.")
    if features is None:
        _require_ledger(new, source, log)
    reward = tune(find_reward(new), params, settings)
    reward = reward.with_version(label) if label is not None else reward
    query = parse_query(options)
    for option, given in (("--ask", ask), ("--applies", applies), ("--on-bad", on_bad)):
        if given and features is None:
            raise click.UsageError(f"{option} needs --features.")
    if as_recorded and (features is not None or log is not None):
        raise click.UsageError(f"--as-recorded cannot be combined with {'--features' if features else 'a log'}.")
    with _open_source(source, log, output, scores, query) as (found, brought):
        check_any_record(found, dict(query))
        if features is not None or brought is not None:
            from plaudit.adapters.logs import logged_inputs
            from plaudit.llm.rescoring import rescore_rollouts

            read_by = logged_inputs(brought, reward) if features is None and brought else find_object(features or "")
            about = None if applies is None else find_object(applies)
            how: dict[str, Any] = {"applies": about, "ask": ask, "on_bad": on_bad or "mask"}
            with show_progress("re-scoring") as progress:
                read = rescore_rollouts(found, reward, read_by, **how, progress=progress, **dict(query))
            click.echo(json.dumps(read.to_dict(), indent=2, default=str) if as_json else str(read))
            if read.reasons:
                raise click.exceptions.Exit(ExitCode.INCOMPLETE if read.rescoring.records else ExitCode.FAILED)
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
        raise click.exceptions.Exit(ExitCode.INCOMPLETE if done.records else ExitCode.FAILED)


def _require_ledger(new: str, source: str, log: "Log | None") -> None:
    """Refuse rows, and a log that never has inputs of rewards."""
    if log is not None and log.tool != "trl":
        hint = "it is a log of rollouts, give the features that read them: --features FILE:NAME."
        raise click.UsageError(f"{source} is not a ledger. If {hint}")
    from plaudit.adapters.logs.trl import PATTERN

    is_named_otherwise = source.endswith(".parquet") and not Path(source).match(PATTERN)
    if (log is None or is_named_otherwise) and is_data_set(source):
        raise click.UsageError(f"{source} is not a ledger. To score its rows: plaudit score {new} {source} -o OUTPUT")


@contextmanager
def _open_source(
    source: str, log: "Log | None", output: str | None, scores: tuple[str, ...], query: Any
) -> Iterator[tuple["Ledger", "ImportedLog | None"]]:
    """Open a ledger, or one with the rollouts of a log: to keep, or one that goes again; `query` then chooses these."""
    if log is None:
        with open_ledger_to_write(source) as found:
            yield found, None
        return
    from plaudit.adapters.logs import import_log

    with tempfile.TemporaryDirectory(prefix="plaudit-") as folder:
        where = str(Path(folder) / "log.db") if output is None else output
        with open_ledger_to_write(where, new=True) as found, show_progress("importing") as progress:
            brought = import_log(found, source, run=query.get("run"), scores=parse_scores(scores), progress=progress)
            click.echo(str(brought), err=True)
            query["run"] = brought.run
            yield found, brought
