"""`plaudit score`: a reward for every row of a file."""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from plaudit.cli._support.options import format_option, tune, tuning_options
from plaudit.cli.scoring import BadRows, score_rows
from plaudit.cli.streams import STANDARD, Output, Source, choose_format
from plaudit.errors import FileError
from plaudit.plugins.arguments import find_reward
from plaudit.plugins.options import output_option
from plaudit.reward.row_files import Format, find_format, refuse_overlap
from plaudit.reward.rows import RowLayout
from plaudit.terminal import ExitCode, Screen, format_count, show_progress

_EXAMPLE = "Example: plaudit score roadsense rows.csv --output scores.parquet --set comfort.weight=2"


@click.command(epilog=_EXAMPLE)
@click.argument("reward")
@click.argument("data", metavar="[DATA]", default=STANDARD)
@click.option("-i", "--input", "old_input", metavar="FILE", hidden=True, help="DATA, as it was called once.")
@output_option("Scores, .jsonl, .csv or .parquet; - is stdout.", default=STANDARD, show_default=True)
@click.option("--bad", metavar="FILE", help="Bad rows, .jsonl; OUTPUT.bad.jsonl unless given.")
@format_option("What - holds, and files with other endings; jsonl unless given.")
@tuning_options()
@click.option("--ignore-extra", is_flag=True, help="Leave out columns that the reward does not read.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON for a script.")
def score(
    reward: str,
    data: str,
    old_input: str | None,
    output: str,
    bad: str | None,
    chosen: Format | None,
    settings: Sequence[str],
    params: str | None,
    ignore_extra: bool,
    as_json: bool,
) -> None:
    """Score every row of DATA with a REWARD.

    DATA is a .jsonl, .csv or .parquet file; without it, or as -, standard input. A row is a line, or a row of Parquet.
    Its columns, or the keys of its JSON object, are the inputs that `plaudit show` lists: distance, prev.tokens_used,
    torque[0]. JSON and Parquet may nest them: {"prev": {"tokens_used": 1}}. An empty cell is an absent value.

    Scores come with the number of their `line` (of Parquet, the row, from 1 on), the `total`, each term's value under
    the term's name, and under `<term>.score` what the term gave before clamps and weights.

    A row that cannot be scored is shown with its number and kept with its error in OUTPUT.bad.jsonl. The exit
    code is 0 if every row was scored, 2 if nothing could be done, 3 if some rows are bad. The output appears when it
    is complete, or not at all.
    """
    if old_input is not None:
        if data != STANDARD:
            raise click.UsageError(f"rows come from {data} or from --input {old_input}; name one file.")
        data = old_input
    if as_json and output == STANDARD:
        raise click.UsageError("--json and --output - both print to standard output; choose one.")
    job = ScoreJob(data, choose_format(data, chosen), output, choose_format(output, chosen), bad)
    found = tune(find_reward(reward), params, settings)
    done = score_file(job, RowLayout(found, ignore_extra=ignore_extra))
    if as_json:
        identity = {"reward": found.name, "version": found.version, "fingerprint": found.fingerprint}
        files = {"input": data, "output": output, "bad_rows": done.kept}
        click.echo(json.dumps({**identity, **files, "scored": done.scored, "bad": done.bad}, indent=2))
    else:
        click.echo(_format_outcome(f"{found.name}@{found.version}", done.scored, done.bad, done.kept), err=True)
    if done.bad:
        raise click.exceptions.Exit(ExitCode.INCOMPLETE)


def _format_outcome(reward: str, scored: int, bad: int, kept: str | None) -> str:
    """Return the outcome in a line.

    >>> _format_outcome("roadsense@R0", 1, 1200, "scores.bad.jsonl")
    '1 row scored with roadsense@R0. 1,200 bad rows are kept in scores.bad.jsonl.'
    """
    text = f"{format_count(scored, 'row')} scored with {reward}."
    if not bad:
        return text
    return (
        f"{text} {format_count(bad, 'bad row')} {'is' if bad == 1 else 'are'} {f'kept in {kept}' if kept else 'above'}."
    )


@dataclass(frozen=True, slots=True)
class ScoreJob:
    """Where rows come from, where scores and bad rows go, and how they are written."""

    source: str
    rows: Format
    output: str
    scores: Format
    bad: str | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many rows were scored, how many were bad, and the file that keeps those."""

    scored: int
    bad: int
    kept: str | None


def score_file(job: ScoreJob, layout: RowLayout) -> Outcome:
    """Score every row; on any failure an output that was there before stays as it was."""
    with ExitStack() as stack:
        source = stack.enter_context(Source(job.source))
        output = stack.enter_context(Output(job.output))
        aside = job.bad or (_name_bad_rows(job.output) if output.target else None)
        kept = stack.enter_context(Output(aside)) if aside else None
        _refuse_overlap(source, output, kept)
        screen = Screen(stderr=True) if sys.stderr.isatty() else None
        show = partial(screen.print, soft_wrap=True) if screen else partial(click.echo, err=True)
        parquet = job.rows == "parquet"
        with show_progress(os.path.basename(source.name), screen=screen, as_bytes=not parquet) as progress:
            # Without a file of their own bad rows go to stderr, every one of them.
            unit = "row" if parquet else "line"
            bad = BadRows(kept.file, show, unit=unit) if kept else BadRows(sys.stderr, show, shown=0)
            scored = score_rows(layout, source, job.rows, output.file, job.scores, bad, progress)
        if kept and (job.bad or bad.count):
            kept.commit()
        output.commit()
    if aside and not job.bad and not bad.count:
        _remove_old_bad_rows(Path(aside))  # of an earlier run, whose scores have just been replaced
    return Outcome(scored, bad.count, aside if bad.count else None)


def _remove_old_bad_rows(path: Path) -> None:
    """Remove the bad rows of an earlier run; a file that somebody else wrote stays."""
    try:
        with path.open(encoding="utf-8") as file:
            ours = file.readline(64).startswith('{"line": ')
    except (OSError, UnicodeDecodeError):
        return
    if ours:
        path.unlink(missing_ok=True)


def _name_bad_rows(output: str) -> str:
    """Return the name for bad rows: `scores.bad.jsonl` beside `scores.csv`."""
    path = Path(output)
    stem = path.stem if find_format(output) else path.name
    return str(path.with_name(f"{stem}.bad.jsonl"))


def _refuse_overlap(source: Source, output: Output, kept: Output | None) -> None:
    for written in (output, kept):
        if written is not None:
            refuse_overlap(written.name, written.status, source.status)
    if kept is not None and kept.target is not None and kept.target == output.target:
        raise FileError(f"{kept.name} cannot hold both the scores and the bad rows; name another file with --bad.")
