"""`plaudit rescore`: another reward for every row of a data set, or for every record of a ledger."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from plaudit.cli._support.options import check_any_record, ledger_options, parse_query, tune, tuning_options
from plaudit.errors import DefinitionError
from plaudit.plugins.arguments import check_exists, find_reward, is_file_name, is_system, open_ledger_to_write
from plaudit.plugins.options import output_option
from plaudit.reward.reward import Reward
from plaudit.reward.row_files import find_format
from plaudit.targets import OnBad
from plaudit.terminal import ExitCode, format_count, show_progress, show_status

if TYPE_CHECKING:
    from plaudit.ledger.dataset import FileRescoring

_EXAMPLE = "Example: plaudit rescore roadsense@R8 steps.parquet --against roadsense --output steps.R8.parquet"
_CHOICES = ("reward", "version", "run", "phase", "since", "until")
_LEDGER_ONLY = (*_CHOICES, "as_recorded")
_FILES_ONLY = ("output", "against", "keep", "columns", "on_bad", "decision", "scores", "prefix", "force")
_SQLITE = b"SQLite format 3\0"


@click.command(epilog=_EXAMPLE)
@click.argument("new", metavar="REWARD")
@click.argument("data")
@output_option("What is written; rows.rescored.parquet beside rows.parquet if not given.")
@click.option("--against", metavar="REWARD", help="Tell what changed, against a reward or a column of old totals.")
@click.option("--engine", type=click.Choice(["local", "ray", "spark"]), default="local", help="What runs it.")
@click.option("--keep", metavar="COLUMN", multiple=True, help="Keep only this column of the rows; can be repeated.")
@click.option(
    "--column", "columns", metavar="INPUT=COLUMN", multiple=True, help="Where an input lies; can be repeated."
)
@click.option("--scores", is_flag=True, help="Write each term's score too, before clamps and weights.")
@click.option("--prefix", metavar="TEXT", help="Begin the names of the new columns with it.")
@click.option(
    "--on-bad", type=click.Choice(get_args(OnBad)), help="Stop at a bad row, write NULL, or clip its numbers."
)
@click.option("--decision-class", metavar="NAME", help="The column of decision classes; of a ledger, one of them.")
@click.option("--decision", metavar="COLUMN", help="The column that candidates for one decision share.")
@tuning_options("Another value for a knob; can be repeated.")
@click.option("--label", metavar="LABEL", help="What the version of a reward is called whose knobs were changed.")
@ledger_options("reward", "version", "run", "phase", "since", "until")
@click.option("--as-recorded", is_flag=True, help="Of a ledger: by what scored each record, in the same dtype.")
@click.option("--force", is_flag=True, help="Write over an output that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
def rescore(
    new: str,
    data: str,
    engine: str,
    settings: tuple[str, ...],
    params: str | None,
    label: str | None,
    decision_class: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Apply a REWARD to every row of DATA, a data set or a ledger, and tell what changes.

    A data set is a .parquet, .csv or .jsonl file of any size, or a folder of .parquet parts. The rows are written
    with the columns they have, `total`, each term's value under the term's name, and `ok`; a row that cannot be scored
    has `ok` false and NULL for the rest. The output appears when it is complete, or not at all. A folder that was
    stopped goes on with the parts that lack.

    A ledger is the file that Ledger("rewards.db") made, or postgresql://user@host/database. The new scores are new
    records beside the old ones; a re-scoring that was stopped goes on where it was.

    The exit code is 0 if every row was scored, 2 if nothing could be done, 3 if some rows could not be scored.
    """
    if not set(data) & set("*?["):  # the parts of a data set may be named by a pattern
        _refuse_old_order(new, data)
        check_exists(data)
    ledger = is_ledger(data)
    for name in _FILES_ONLY if ledger else _LEDGER_ONLY:
        if options[name]:
            what = "a data set, and this is a ledger" if ledger else "a ledger, and this is a data set"
            flag = {"columns": "column"}.get(name, name).replace("_", "-")
            raise click.UsageError(f"--{flag} is for {what}.")
    if ledger and engine != "local":
        raise click.UsageError("--engine is for data sets; a ledger is re-scored where it is.")
    found = tune(find_reward(new), params, settings)
    found = found.with_version(label) if label is not None else found
    if ledger:
        query = {name: options[name] for name in _CHOICES} | {"decision_class": decision_class}
        rescore_ledger(data, found, parse_query(query), as_json, as_recorded=options["as_recorded"])
    else:
        chosen = {name: options[name] for name in _FILES_ONLY} | {"decision_class": decision_class}
        rescore_dataset(data, found, engine, chosen, as_json)


def rescore_dataset(source: str, reward: Reward, engine: str, options: Mapping[str, Any], as_json: bool) -> None:
    """Re-score a data set, and print what came of it."""
    for name in ("against", "decision_class", "decision") if engine != "local" else ():
        if options[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} needs the local engine; {engine} only writes.")
    if (options["decision_class"] or options["decision"]) and not options["against"]:
        raise click.UsageError("--decision-class and --decision tell what flips --against something; name that too.")
    output = options["output"] or _name_output(source)
    common: dict[str, Any] = {
        "keep": options["keep"] or None,
        "columns": _parse_columns(options["columns"]),
        "on_bad": options["on_bad"] or "mask",
        "scores": options["scores"],
        "prefix": options["prefix"] or "",
        "overwrite": options["force"],
    }
    done = (
        _rescore_locally(source, reward, output, options, common)
        if engine == "local"
        else _rescore_on_engine(engine, source, reward, output, common)
    )
    click.echo(json.dumps(done.to_dict(), indent=2, default=str) if as_json else str(done))
    if done.bad or done.unreadable:
        raise click.exceptions.Exit(ExitCode.INCOMPLETE)


def _rescore_locally(
    source: str, reward: Reward, output: str, options: Mapping[str, Any], common: Mapping[str, Any]
) -> "FileRescoring":
    from plaudit.ledger.dataset import rescore_file  # which needs PyArrow

    against = _find_old(options["against"])
    with show_progress(Path(source).name) as progress:
        return rescore_file(
            reward,
            source,
            output,
            against=against,
            decision_class=options["decision_class"],
            decision=options["decision"],
            progress=progress,
            **common,
        )


def _rescore_on_engine(
    engine: str, source: str, reward: Reward, output: str, common: Mapping[str, Any]
) -> "FileRescoring":
    with show_status(f"{engine} is at work"):
        if engine == "ray":
            from plaudit.adapters.ray import rescore_with_ray

            return rescore_with_ray(reward, source, output, **common)
        from plaudit.adapters.spark import rescore_with_spark

        return rescore_with_spark(reward, source, output, **common)


def _refuse_old_order(reward: str, data: str) -> None:
    """Refuse DATA before REWARD, as it was once written."""
    if is_ledger(reward) or (find_format(reward) and Path(reward).exists() and not Path(data).exists()):
        raise click.UsageError(f"the REWARD comes before the DATA: plaudit rescore {data} {reward}")


def _find_old(text: str | None) -> Reward | str | None:
    """Return the reward that `text` names, or the column."""
    if text is None or not (is_system(text.partition("@")[0]) or ":" in text or text.endswith((".json", ".py"))):
        return text
    return find_reward(text)


def _parse_columns(given: Sequence[str]) -> dict[str, str]:
    """Return where inputs lie, from texts like `distance=gap_m`."""
    pairs = [text.partition("=") for text in given]
    for text, (name, _, column) in zip(given, pairs, strict=True):
        if not name or not column:
            raise DefinitionError(f"--column {text}: write an input and the column it lies in, as in distance=gap_m.")
    return {name.strip(): column.strip() for name, _, column in pairs}


def _name_output(source: str) -> str:
    """Return the name of the output that nobody named.

    >>> _name_output("runs/rows.parquet"), _name_output("runs/")
    ('runs/rows.rescored.parquet', 'runs.rescored')
    """
    path = Path(source)
    return str(path.with_name(f"{path.stem}.rescored{path.suffix}"))


def is_ledger(source: str) -> bool:
    """Return whether an argument names a ledger: a server, or a file of SQLite."""
    if not is_file_name(source):
        return True
    try:
        with open(source, "rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:  # a folder, or nothing: whoever opens it says so
        return False


def rescore_ledger(source: str, reward: Reward, query: Mapping[str, Any], as_json: bool, *, as_recorded: bool) -> None:
    """Re-score records; first say which lack an input, then what changed."""
    with open_ledger_to_write(source) as ledger:
        check_any_record(ledger, dict(query))
        planned = ledger.plan_rescore(reward, as_recorded=as_recorded, **query)
        for lacking in planned.lacking:
            click.echo(f"{lacking}; left out.", err=True)
        click.echo(f"{format_count(planned.records - planned.scored, 'record')} to score.", err=True)
        if planned.scored:
            click.echo(f"{format_count(planned.scored, 'record')} were scored by an earlier run.", err=True)
        with show_progress("re-scoring") as progress:
            done = ledger.rescore(reward, as_recorded=as_recorded, progress=progress, **query)
    click.echo(json.dumps(done.to_dict(), indent=2, default=str) if as_json else str(done))
    if done.lacking or done.refused:
        raise click.exceptions.Exit(ExitCode.INCOMPLETE)
