"""Ray: score a data set on every core of a machine or a cluster, with the code of the local engine."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from plaudit.errors import MissingExtra, PlauditError
from plaudit.ledger.dataset.files import FileScoring
from plaudit.ledger.dataset.job import Job, Progress
from plaudit.reward.reward import Reward
from plaudit.rows.on_bad import apply_on_bad
from plaudit.rows.streams import Format

if TYPE_CHECKING:
    from plaudit.ledger.dataset.pieces import Task

__all__ = ["score_with_ray"]

_RETRIES = 4
"""How often a task is tried again: on another machine, where its own has died."""


def score_with_ray(
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
    """Score a file or a folder with Ray, with the numbers, names and order that `score_file` gives.

    A connected cluster is used, or the one in RAY_ADDRESS; otherwise one is started on this machine.
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
        MissingExtra: Ray is not installed.
        FileError: `source` cannot be read, or `target` exists.
        InputError: A row cannot be scored, and `on_bad` is not "mask".
        LedgerBusy: Another run is writing to `target`.
        TargetError: A task failed on every attempt; the message names its part.

    Example:
        ```python
        print(score_with_ray(following, "steps", "scored", keep=["episode"]))
        ```
    """
    ray = _import_ray()
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
        "ray",
        _connect(ray),
        overwrite=overwrite,
        progress=progress,
        bad_rows=None if bad_rows is None else os.fspath(bad_rows),
        format=format,
    )


class RayEngine:
    """The processes of a Ray cluster."""

    def __init__(self, ray: Any) -> None:
        """Use the connected cluster."""
        self._ray = ray
        self._remote: Any = None
        self._started: dict[Any, Any] = {}

    @property
    def slots(self) -> int:
        """How many tasks run at a time, by the cores that are there now."""
        return max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def submit(self, work: "Callable[[Task], PlauditError | None]", task: "Task") -> "Future[PlauditError | None]":
        """Start a task somewhere."""
        if self._remote is None:
            self._remote = self._ray.remote(work).options(max_retries=_RETRIES, retry_exceptions=True)
        begun = self._remote.remote(task)
        future: Future[PlauditError | None] = begun.future()
        self._started[future] = begun
        future.add_done_callback(lambda done: self._started.pop(done, None))
        return future

    def cancel(self) -> None:
        """Stop what is at work."""
        for begun in [*self._started.values()]:
            self._ray.cancel(begun, force=True)


@contextmanager
def _connect(ray: Any) -> Iterator[RayEngine]:
    """Use the connected cluster or the one in RAY_ADDRESS, or start one on this machine for the duration."""
    if ray.is_initialized():
        engine = RayEngine(ray)
        try:
            yield engine
        except BaseException:
            engine.cancel()
            raise
        return
    own = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False}
    ray.init(log_to_driver=False, logging_level=logging.ERROR, **own)
    try:
        yield RayEngine(ray)
    finally:
        ray.shutdown()


def _import_ray() -> Any:
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingExtra(f"the ray engine needs {error.name}. Install it: pip install 'plaudit[ray]'") from None
    return ray
