"""Scoring files of rows: one file, or a folder of Parquet parts, in memory that does not grow with it."""

import os
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path

from plaudit.errors import DefinitionError, FileError
from plaudit.ledger.dataset.files import FileScoring, find_parts
from plaudit.ledger.dataset.job import Job, Progress, Run
from plaudit.reward.reward import Reward
from plaudit.rows.bad_rows import BadRows
from plaudit.rows.files import explain_missing_arrow
from plaudit.rows.on_bad import apply_on_bad
from plaudit.rows.streams import STANDARD, Format, choose_format, read_status, refuse_overlap
from plaudit.targets import OnBad


def score_file(
    reward: Reward,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    against: Reward | str | None = None,
    keep: Iterable[str] | None = None,
    on_bad: OnBad = "mask",
    decision_class: str | None = None,
    decision: str | None = None,
    columns: Mapping[str, str] | None = None,
    scores: bool = False,
    prefix: str = "",
    overwrite: bool = False,
    progress: Progress | None = None,
    batch_rows: int | None = None,
    bad_rows: str | os.PathLike[str] | None = None,
    format: Format | None = None,
) -> FileScoring:
    """Apply `reward` to every row of `source`, and write the rows with their rewards to `target`.

    `source` is a Parquet, CSV or JSON lines file, or a folder or a pattern (`runs/*.parquet`) of Parquet parts; then
    `target` is a folder of parts of the same names, and a run that was stopped goes on with the parts that lack.
    A file appears under its name when it is complete, or not at all; a single one that was stopped is begun again.

    The rows keep their order, and get `total`, each term's value under its name, and `ok`. A row that cannot be scored,
    such as one with a NULL, has `ok` false and NULL for the rest. Only Parquet needs pyarrow.

    Args:
        reward: The reward to score with.
        source: Where the rows are.
        target: Where to write them.
        against: Another reward, or a column of old totals: what changed is in `.changes`.
        keep: The columns to write; all unless given.
        on_bad: `"raise"` makes a row that cannot be scored an error that names it; `"clip"` holds numbers within their
            ranges first, and is an error for the rest.
        decision_class: The column by whose values flipped decisions are counted.
        decision: The column whose equal values make rows candidates for one decision.
        columns: Where inputs lie under another name: `{"distance": "gap_m"}`.
        scores: Whether to write `<term>.score` as well.
        prefix: What the new columns' names begin with.
        overwrite: Whether `target` may exist already.
        progress: Called with how much is done and how much there is, in rows, or bytes where their number is not known.
        batch_rows: How many rows are read at a time.
        bad_rows: A file to keep bad rows in: a JSON object each with `line`, `kind`, `error` and the `row` as it was.
        format: What files hold whose ending does not say; `-`, which is standard input or output, holds JSON lines.

    Raises:
        DefinitionError: An option is not what it should be.
        MissingField: The rows lack what the reward reads; WrongType where it is of another kind.
        FileError: `source` cannot be read, or `target` cannot be written or is there already.
        InputError: A row cannot be scored, and `on_bad` is not `"mask"`.
    """
    reward = apply_on_bad(reward, on_bad)
    if batch_rows is not None and batch_rows < 1:
        raise DefinitionError(f"batch_rows={batch_rows} must be at least 1.")
    job = Job(
        reward=reward,
        against=against,
        keep=None if keep is None else tuple(keep),
        masks=on_bad == "mask",
        decision_class=decision_class,
        decision=decision,
        columns=columns,
        scores=scores,
        prefix=prefix,
        batch_rows=batch_rows,
    )
    from_, to = os.fspath(source), os.fspath(target)
    with nullcontext() if bad_rows is None else BadRows(os.fspath(bad_rows)) as bad:
        return score_rows(job, from_, to, format=format, bad=bad, overwrite=overwrite, progress=progress)


def score_rows(
    job: Job,
    source: str,
    target: str,
    *,
    format: Format | None = None,
    bad: BadRows | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FileScoring:
    """Do a job on a file or a folder; `format` says what `-` and files with other endings hold."""
    parts = find_parts(source)
    if parts is not None:
        with explain_missing_arrow("scoring Parquet"):
            from plaudit.ledger.dataset.parts import score_parts
        return score_parts(job, source, parts, Path(target), overwrite=overwrite, progress=progress)
    read, written = choose_format(source, format), choose_format(target, format)
    if target != STANDARD and os.path.isfile(target) and not overwrite:
        refuse_overlap(target, read_status(target), read_status(source))
        raise FileError(f"{target} exists already; name another file, or say overwrite=True (--force).")
    run = Run(job, source, read, written, job.make_changes())
    run.write(target, bad, progress)
    return run.build_outcome(target, bad)
