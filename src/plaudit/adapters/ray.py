"""Ray Data: score a data set on every core of a machine or a cluster with the compiled NumPy reward."""

import glob
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from plaudit.errors import FileError, MissingExtra, TargetError
from plaudit.ledger.dataset.files import FileScoring
from plaudit.reward.reward import Reward

__all__ = ["score_with_ray"]


def score_with_ray(
    reward: Reward,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    keep: Sequence[str] | None = None,
    on_bad: str = "mask",
    columns: Mapping[str, str] | None = None,
    scores: bool = False,
    prefix: str = "",
    overwrite: bool = False,
) -> FileScoring:
    """Score a folder of Parquet files with Ray, and write another folder.

    The rows get the same new columns as with `score_file`. The folder `target` appears when it is complete. A connected
    cluster is used; otherwise one is started on this machine and stopped at the end. On a cluster, both folders must be
    on a file system that every machine can access.

    Args:
        reward: The reward.
        source: A folder of Parquet files, or one file.
        target: The folder to write.
        keep: Columns to keep from the source; all if omitted.
        on_bad: "mask" keeps rows that cannot be scored, without numbers; "raise" raises an error.
        columns: Column names of inputs, where they differ: `{"distance": "gap_m"}`.
        scores: Also write the score of each term before clamp and weight.
        prefix: Prefix of the new columns.
        overwrite: Replace `target` if it exists.

    Returns:
        The number of rows written, and of bad rows by reason.

    Raises:
        MissingExtra: Ray is not installed.
        FileError: `source` cannot be read, or `target` exists.
        InputError: Rows cannot be scored, and `on_bad` is "raise".
        TargetError: Ray failed.

    Example:
        ```python
        print(score_with_ray(following, "steps", "scored", keep=["episode"]))
        ```
    """
    if glob.has_magic(os.fspath(source)) and not os.path.exists(source):
        raise FileError(f"{os.fspath(source)} is a pattern; Ray reads a folder, or one file.")
    ray = _import_ray()
    from plaudit.ledger.dataset.cluster import inspect_parts, write_parts

    parts = inspect_parts(
        reward, os.fspath(source), keep=keep, columns=columns, scores=scores, prefix=prefix, on_bad=on_bad
    )
    with write_parts(parts, os.fspath(target), "ray", overwrite=overwrite) as (folder, results), _connect(ray):
        context = ray.data.DataContext.get_current()
        quiet, context.enable_progress_bars = context.enable_progress_bars, False
        try:
            rows = ray.data.read_parquet(os.path.realpath(source))  # one path: several are listed in racing threads
            scored = rows.map_batches(parts.scorer(), batch_format="pyarrow", batch_size=None, zero_copy_batch=True)
            scored.write_parquet(str(folder), use_dictionary=list(parts.dictionaries))
        except ray.exceptions.RayError as error:
            raise TargetError(f"Ray could not finish: {str(error).strip().splitlines()[-1]}") from error
        finally:
            context.enable_progress_bars = quiet
    return results[0]


@contextmanager
def _connect(ray: Any) -> Iterator[None]:
    """Use the connected cluster or the one in RAY_ADDRESS, or start one on this machine for the duration."""
    if ray.is_initialized():
        yield
        return
    own = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False}
    ray.init(log_to_driver=False, logging_level="ERROR", **own)
    logging.getLogger("ray.data").setLevel("ERROR")
    try:
        yield
    finally:
        ray.shutdown()


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ModuleNotFoundError as error:
        raise MissingExtra(f"the ray engine needs {error.name}. Install it: pip install 'plaudit[ray]'") from None
    return ray
