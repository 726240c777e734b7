"""Spark: score a data set on every core of a machine or a cluster, with the code of the local engine."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from plaudit.errors import MissingExtra, PlauditError
from plaudit.ledger.dataset.files import FileScoring
from plaudit.ledger.dataset.job import Job, Progress
from plaudit.reward.reward import Reward
from plaudit.rows.on_bad import apply_on_bad
from plaudit.rows.streams import Format

if TYPE_CHECKING:
    from plaudit.ledger.dataset.pieces import Task

__all__ = ["score_with_spark"]

_MOST_JOBS = 4096
"""Threads that wait for a task each; they are started when there are as many tasks."""


def score_with_spark(
    reward: Reward,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    against: Reward | str | None = None,
    keep: Iterable[str] | None = None,
    on_bad: str = "mask",
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
    """Score a file or a folder with Spark, with the numbers, names and order that `score_file` gives.

    An active session is used, or what spark-submit set up; otherwise one is started in local mode.
    On a cluster, `source` and `target` must be on a file system that every machine can access, and plaudit must be
    installed on each. `source` can be an `s3://` or `gs://` address, which every machine opens by itself.

    Large Parquet files are cut by their row groups. A task whose machine dies runs again on another one. Finished parts
    are noted in the folder `_plaudit` of the target; a job that was stopped resumes with the missing parts. The target
    is complete when it has the file `_plaudit.json`.

    Args:
        reward: The reward to score with.
        source: A Parquet, CSV or JSON Lines file, or a folder or pattern of such files.
        target: The file to write, or for a folder or pattern, the folder.
        against: Another reward, or a column of old totals, to compare with; see `.changes` of the result.
        keep: The columns to write; all if omitted.
        on_bad: "mask" keeps rows that cannot be scored, "raise" raises an error, "clip" first limits numbers to their
            declared ranges.
        decision_class: The column to group flipped decisions by.
        decision: The column whose equal values mark the candidates of one decision.
        columns: Inputs with another column name: `{"distance": "gap_m"}`.
        scores: Write `<term>.score` as well.
        prefix: Prefix of the new columns' names.
        overwrite: Replace an existing `target`.
        progress: Called with the number of finished tasks, and of all.
        batch_rows: Rows per batch.
        bad_rows: A file for bad rows, where `source` is a single file.
        format: The format of files whose ending does not name it.

    Returns:
        Counts of rows, the reasons of bad ones, and the changes.

    Raises:
        MissingExtra: Spark is not installed.
        FileError: `source` cannot be read, or `target` exists.
        InputError: A row cannot be scored, and `on_bad` is not "mask".
        LedgerBusy: Another run is writing to `target`.
        TargetError: A task failed on every attempt; the message names its part.

    Example:
        ```python
        print(score_with_spark(following, "steps", "scored", keep=["episode"]))
        ```
    """
    session = _import_spark()
    from plaudit.ledger.dataset.cluster import score_on_engine

    job = Job(
        apply_on_bad(reward, on_bad),
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
    return score_on_engine(
        job,
        os.fspath(source),
        os.fspath(target),
        "spark",
        _open_session(session),
        overwrite=overwrite,
        progress=progress,
        bad_rows=None if bad_rows is None else os.fspath(bad_rows),
        format=format,
    )


class SparkEngine:
    """The executors of a Spark session: a job of one task each, so that the end of each is known."""

    def __init__(self, context: Any, threads: ThreadPoolExecutor) -> None:
        """Wait for jobs in `threads`."""
        self._context, self._threads = context, threads
        self.group = f"plaudit-{uuid4()}"

    @property
    def slots(self) -> int:
        """How many tasks run at a time, by the cores of the executors that are there now."""
        return int(self._context.defaultParallelism)

    def submit(self, work: "Callable[[Task], PlauditError | None]", task: "Task") -> "Future[PlauditError | None]":
        """Start a task somewhere."""

        def wait() -> PlauditError | None:
            self._context.setJobGroup(self.group, f"plaudit: {os.path.basename(task.part)}")
            [error] = self._context.parallelize([task], 1).map(work).collect()
            found: PlauditError | None = error
            return found

        return self._threads.submit(wait)


@contextmanager
def _open_session(builder: Any) -> Iterator[SparkEngine]:
    """Use the active session, or start one in local mode for the duration."""
    active = builder.getActiveSession()
    if active is None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        quiet = builder.builder.appName("plaudit").config("spark.ui.enabled", "false")
        session = quiet.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    else:
        session = active
    context = session.sparkContext
    try:
        with ThreadPoolExecutor(_MOST_JOBS, "plaudit-spark") as threads:
            engine = SparkEngine(context, threads)
            try:
                yield engine
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                context.cancelJobGroup(engine.group)
                raise
    finally:
        if active is None:
            session.stop()


def _import_spark() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise MissingExtra(f"the spark engine needs {error.name}. Install it: pip install 'plaudit[spark]'") from None
    return SparkSession
