"""`plaudit score`: score every row of a file."""

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from plaudit.cli._support.options import format_option, tune, tuning_options
from plaudit.errors import DefinitionError
from plaudit.plugins.arguments import find_reward, is_system
from plaudit.plugins.options import output_option
from plaudit.reward.reward import Reward
from plaudit.rows.addresses import is_address, resolve_address
from plaudit.rows.objects import read_start, remove_object
from plaudit.rows.streams import STANDARD, find_format
from plaudit.targets import OnBad
from plaudit.terminal import ExitCode, Screen, show_progress

if TYPE_CHECKING:
    from plaudit.ledger.dataset import FileScoring

_EXAMPLE = "Example: plaudit score roadsense@R8 steps.parquet --against roadsense --output scored.parquet"


@click.command(epilog=_EXAMPLE)
@click.argument("reward")
@click.argument("data", metavar="[DATA]", default=STANDARD)
@output_option("File (.jsonl, .csv, .parquet) or folder to write; - is stdout.", default=STANDARD, show_default=True)
@click.option("--bad", metavar="FILE", help="File for bad rows, .jsonl.  [default: OUTPUT.bad.jsonl]")
@click.option("--against", metavar="REWARD", help="Show what changed against a reward or a column of old totals.")
@click.option(
    "--engine",
    type=click.Choice(["local", "ray", "spark"]),
    default="local",
    show_default=True,
    help="Where to compute.",
)
@click.option("--keep", metavar="COLUMN", multiple=True, help="Copy only this column of the rows; can be repeated.")
@click.option(
    "--column", "columns", metavar="INPUT=COLUMN", multiple=True, help="Column that holds an input; can be repeated."
)
@click.option("--scores", is_flag=True, help="Also write each term's score, before clamps and weights.")
@click.option("--prefix", metavar="TEXT", default="", help="Prefix of the new columns' names.")
@click.option(
    "--on-bad",
    type=click.Choice(get_args(OnBad)),
    default="mask",
    show_default=True,
    help="At a bad row: stop (raise), write NULL (mask), or clip its numbers.",
)
@click.option("--decision-class", metavar="COLUMN", help="With --against: column of decision classes.")
@click.option(
    "--decision", metavar="COLUMN", help="With --against: column that identifies a decision among candidates."
)
@tuning_options()
@click.option("--label", metavar="LABEL", help="Version label of the reward with overrides.")
@format_option("Format of - and of files with other extensions.  [default: jsonl]")
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def score(
    reward: str,
    data: str,
    engine: str,
    settings: Sequence[str],
    params: str | None,
    label: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Score every row of a file with a reward.

    DATA is a .jsonl, .csv or .parquet file of any size, a folder of .parquet parts, a Delta table, or - for standard
    input (the default). DATA and --output can be s3:// and gs:// addresses. Its columns or JSON keys are the inputs
    that `plaudit show` lists: distance, prev.tokens_used, torque[0]. JSON and Parquet may nest them:
    {"prev": {"tokens_used": 1}}.

    Each row is written with its own columns, `total`, each term's value under the term's name, and `ok`. A row that
    cannot be scored has `ok` false and NULL scores; its line and error are printed and kept in OUTPUT.bad.jsonl. The
    output appears only when it is complete. Run the command again to resume an interrupted folder.

    Exit code: 0 if every row was scored, 2 if nothing could be scored, 3 if some rows are bad.
    """
    if as_json and options["output"] == STANDARD:
        raise click.UsageError("--json and --output - both print to standard output; choose one.")
    if (options["decision_class"] or options["decision"]) and not options["against"]:
        raise click.UsageError("--decision-class and --decision need --against.")
    found = tune(find_reward(reward), params, settings)
    found = found.with_version(label) if label is not None else found
    options["columns"] = _parse_columns(options["columns"])
    options["keep"] = options["keep"] or None
    options["against"] = _find_old(options["against"])
    done = (_score_locally if engine == "local" else partial(_score_on_engine, engine))(found, data, options)
    if as_json:
        click.echo(json.dumps(done.to_dict(), indent=2, default=str))
    else:
        click.echo(str(done), err=options["output"] == STANDARD)
    if done.bad or done.unreadable:
        raise click.exceptions.Exit(ExitCode.INCOMPLETE)


def _score_locally(reward: Reward, data: str, options: Mapping[str, Any]) -> "FileScoring":
    from plaudit.ledger.dataset.job import Job
    from plaudit.ledger.dataset.score import score_rows
    from plaudit.ledger.dataset.sources import list_parts
    from plaudit.rows.bad_rows import BadRows
    from plaudit.rows.on_bad import apply_on_bad

    output, folder = resolve_address(options["output"]), list_parts(data) is not None
    _refuse_options_of_files(data, folder, options)
    job = Job(
        apply_on_bad(reward, options["on_bad"]),
        against=options["against"],
        masks=options["on_bad"] == "mask",
        **{name: options[name] for name in ("keep", "columns", "scores", "prefix", "decision_class", "decision")},
    )
    aside = options["bad"] or (_name_bad_rows(output) if output != STANDARD and not folder else None)
    screen = Screen(stderr=True) if sys.stderr.isatty() else None
    show = partial(screen.print, soft_wrap=True) if screen else partial(click.echo, err=True)
    doing = "standard input" if data == STANDARD else Path(data).name
    text = find_format(data) != "parquet" and not folder
    with (
        BadRows(aside, show, even_empty=bool(options["bad"])) as bad,
        show_progress(doing, screen=screen, as_bytes=text) as progress,
    ):
        done = score_rows(
            job, data, output, format=options["chosen"], bad=bad, overwrite=options["force"], progress=progress
        )
    if aside and not bad.count and not options["bad"]:
        _remove_old_bad_rows(aside)  # of an earlier run, whose scores have just been replaced
    return done


def _score_on_engine(engine: str, reward: Reward, data: str, options: Mapping[str, Any]) -> "FileScoring":
    from plaudit.ledger.dataset.files import find_parts

    if STANDARD in (data, options["output"]):
        raise click.UsageError(f"{engine} reads and writes files: name DATA, and what to write with --output.")
    folder = find_parts(data) is not None
    _refuse_options_of_files(data, folder, options)
    if engine == "ray":
        from plaudit.adapters.ray import score_with_ray as score_there
    else:
        from plaudit.adapters.spark import score_with_spark as score_there
    output = resolve_address(options["output"])
    aside = None if folder else options["bad"] or _name_bad_rows(output)
    given = ("against", "keep", "columns", "scores", "prefix", "on_bad", "decision_class", "decision")
    with show_progress(f"tasks of {Path(data).name}") as progress:
        done = score_there(
            reward,
            data,
            output,
            overwrite=options["force"],
            progress=progress,
            bad_rows=aside,
            format=options["chosen"],
            **{name: options[name] for name in given},
        )
    if aside and not done.bad_rows and not options["bad"]:
        Path(aside).unlink(missing_ok=True)
    return done


def _refuse_options_of_files(data: str, folder: bool, options: Mapping[str, Any]) -> None:
    if folder and (options["output"] == STANDARD or options["bad"]):
        raise click.UsageError(f"{data} becomes a folder of parts: name it with --output, and do not use --bad.")


def _find_old(text: str | None) -> Reward | str | None:
    """Return the reward or the column that `text` names."""
    if text is None or not (is_system(text.partition("@")[0]) or ":" in text or text.endswith((".json", ".py"))):
        return text
    return find_reward(text)


def _parse_columns(given: Sequence[str]) -> dict[str, str]:
    """Return the columns of inputs, from texts like `distance=gap_m`."""
    pairs = [text.partition("=") for text in given]
    for text, (name, _, column) in zip(given, pairs, strict=True):
        if not name or not column:
            raise DefinitionError(f"--column {text}: write INPUT=COLUMN, as in distance=gap_m.")
    return {name.strip(): column.strip() for name, _, column in pairs}


def _name_bad_rows(output: str) -> str | None:
    """Return the file for bad rows, `scores.bad.jsonl` for `scores.csv`; None for a device or a pipe."""
    path = Path(output)
    if not is_address(output) and path.exists() and not path.is_file():
        return None
    return f"{output.removesuffix(path.suffix) if find_format(output) else output}.bad.jsonl"


def _remove_old_bad_rows(where: str) -> None:
    """Remove the bad rows of an earlier run; any other file stays."""
    begin = b'{"line": '
    if is_address(where):
        if read_start(where, len(begin)) == begin:
            remove_object(where)
        return
    try:
        with open(where, "rb") as file:
            ours = file.read(len(begin)) == begin
    except OSError:
        return
    if ours:
        Path(where).unlink(missing_ok=True)
