"""Scoring files of rows: one file, or a folder of Parquet parts, in memory that does not grow with it."""

import os
from collections.abc import Iterable, Mapping
from contextlib import nullcontext

from plaudit.errors import DefinitionError, FileError
from plaudit.ledger.dataset.files import FileScoring
from plaudit.ledger.dataset.job import Job, Progress, Run
from plaudit.ledger.dataset.sources import list_parts
from plaudit.reward.reward import Reward
from plaudit.rows.addresses import resolve_address
from plaudit.rows.bad_rows import BadRows
from plaudit.rows.files import explain_missing_arrow
from plaudit.rows.on_bad import apply_on_bad
from plaudit.rows.streams import STANDARD, Format, choose_format, find_identity, refuse_overlap
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
    """Score every row of a file, or of a folder of Parquet files, and write the rows with their rewards.

    `source` is a Parquet, CSV or JSON Lines file, or a folder or pattern (`runs/*.parquet`) of Parquet files. For a
    folder or pattern, `target` is a folder of files with the same names, and an interrupted job resumes with the
    missing ones. A file appears only when it is complete; an interrupted single file starts over. Both can be `s3://`,
    `gs://` and `file://` addresses. A Delta table is read at its latest version, and written as a Delta table.

    A reward that carries state, or reads `prev` of a plain column, gets the rows of each episode in their order, if
    there are columns `episode` and `step` (and `run`, `actor`); episodes may go on from part to part.

    Rows keep their order and get `total`, the value of each term under its name, and `ok`. A row that cannot be scored,
    for example because of a NULL, has `ok` false and NULL in the other new columns. Only Parquet needs pyarrow.

    Args:
        reward: The reward to score with.
        source: Where to read rows.
        target: Where to write them.
        against: Another reward, or a column of old totals, to compare with; see `.changes` of the result.
        keep: The columns to write; all if omitted.
        on_bad: "mask" keeps rows that cannot be scored, "raise" raises an error that names the row, "clip" first limits
            numbers to their declared ranges and raises an error for the rest.
        decision_class: The column to group flipped decisions by.
        decision: The column whose equal values mark the candidates of one decision.
        columns: Inputs with another column name: `{"distance": "gap_m"}`.
        scores: Write `<term>.score` as well.
        prefix: Prefix of the new columns' names.
        overwrite: Replace an existing `target`.
        progress: Called with the amount done and the total amount, in rows, or in bytes if the number of rows is
            unknown.
        batch_rows: Rows per batch.
        bad_rows: A file for bad rows: one JSON object each, with `line`, `kind`, `error` and the original `row`.
        format: The format of files whose ending does not name it; `-` (standard input or output) is JSON Lines by
            default.

    Returns:
        Counts of rows, the reasons of bad ones, and the changes.

    Raises:
        DefinitionError: An option is invalid.
        MissingField: The rows lack an input of the reward. WrongType if a column has the wrong type.
        FileError: `source` cannot be read, or `target` cannot be written or exists, or object storage refuses.
        MissingExtra: A library for these files is not installed.
        InputError: A row cannot be scored, and `on_bad` is not "mask".

    Example:
        ```python
        from plaudit.ledger.dataset import score_file

        done = score_file(reward, "drive.parquet", "scored.parquet", overwrite=True)
        print(done.rows, done.bad)
        ```
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
    source, target = resolve_address(source), resolve_address(target)
    parts = list_parts(source)
    if parts is not None:
        with explain_missing_arrow("scoring Parquet"):
            from plaudit.ledger.dataset.parts import score_parts
        return score_parts(job, source, parts, target, overwrite=overwrite, progress=progress)
    read, written = choose_format(source, format), choose_format(target, format)
    if target != STANDARD and not overwrite and (found := find_identity(target)) is not None:
        refuse_overlap(target, found, find_identity(source))
        raise FileError(f"{target} already exists; name another file, or pass overwrite=True (--force).")
    run = Run(job, source, read, written, job.make_changes())
    run.write(target, bad, progress)
    return run.build_outcome(target, bad)
