"""Re-scoring a data set: one file, or a folder of Parquet parts, in memory that does not grow with it."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from plaudit.errors import DefinitionError, FileError, MissingExtra
from plaudit.ledger.dataset.files import FileRescoring, find_parts
from plaudit.reward.on_bad import apply_on_bad
from plaudit.reward.reward import Reward
from plaudit.reward.row_files import read_status, refuse_overlap
from plaudit.targets import OnBad

Progress = Callable[[int, int], None]
"""Told how much is done, and how much there is: rows, or bytes where nobody knows the number of rows."""


def rescore_file(
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
) -> FileRescoring:
    """Apply `reward` to every row of `source`, and write the rows with their rewards to `target`.

    `source` is a Parquet, CSV or JSON Lines file, or a folder or a pattern (`runs/*.parquet`) of Parquet parts; then
    `target` is a folder of parts of the same names, and a run that was stopped goes on with the parts that lack.
    A file appears under its name when it is complete, or not at all; a single one that was stopped is begun again.

    The rows keep their order, and get `total`, `<term>.value` of each term, and `ok`. A row that cannot be scored, such
    as one with a NULL, has `ok` false and NULL for the rest.

    Args:
        reward: The reward that scores them.
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
        progress: Called with how much is done and how much there is, in rows, or bytes where nobody knows the rows.
        batch_rows: How many rows are read at a time.

    Raises:
        DefinitionError: An option is not what it should be.
        MissingField: The rows lack what the reward reads; WrongType where it is of another kind.
        FileError: `source` cannot be read, or `target` cannot be written or is there already.
        InputError: A row cannot be scored, and `on_bad` is not `"mask"`.
    """
    reward = apply_on_bad(reward, on_bad)
    if batch_rows is not None and batch_rows < 1:
        raise DefinitionError(f"batch_rows={batch_rows} must be at least 1.")
    try:
        from plaudit.ledger.dataset.job import Job
        from plaudit.ledger.dataset.parts import rescore_parts
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyarrow":
            raise
        raise MissingExtra("re-scoring a data set needs pyarrow. Install it: pip install 'plaudit[data]'") from None
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
    parts = find_parts(from_)
    if parts is not None:
        return rescore_parts(job, from_, parts, Path(to), overwrite=overwrite, progress=progress)
    if os.path.exists(to) and not overwrite:
        refuse_overlap(to, read_status(to), read_status(from_))
        raise FileError(f"{to} exists already; name another file, or say overwrite=True (--force).")
    return job.run(from_, to, progress)
