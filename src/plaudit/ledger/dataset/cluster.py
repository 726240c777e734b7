"""What engines beyond one process need of a data set: its parts looked at first, batches scored, the result counted."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as arrow_dataset

from plaudit.atomic import AtomicFolder
from plaudit.errors import FileError, InputError
from plaudit.ledger.dataset.files import FileScoring, find_parts
from plaudit.ledger.dataset.job import Job, Run, build_outcome
from plaudit.reward.reward import Reward
from plaudit.rows.arrow import build_arrays
from plaudit.rows.on_bad import apply_on_bad
from plaudit.rows.parquet_files import ArrowChunk, ParquetSource
from plaudit.rows.scoring import Scoring
from plaudit.rows.streams import find_format


@dataclass(frozen=True, slots=True)
class Parts:
    """A data set that an engine is about to read."""

    job: Job
    source: str
    paths: Sequence[str]
    kept: Sequence[str]
    scoring: Scoring
    dictionaries: Sequence[str]
    """Columns for which a dictionary pays."""

    def scorer(self) -> "Scorer":
        """Return what scores a batch, to be sent to other processes."""
        return Scorer(self.job, self.scoring, tuple(self.kept))


class Scorer:
    """From a table to the same rows with their rewards; it can travel to another process."""

    def __init__(self, job: Job, scoring: Scoring, kept: tuple[str, ...]) -> None:
        """Score with `scoring`, and keep the columns in `kept`."""
        self._job, self._scoring, self._kept = job, scoring, kept

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return the rows with their rewards."""
        whole = table.combine_chunks()
        batch = whole.to_batches()[0] if len(table) else pa.RecordBatch.from_pylist([], schema=table.schema)
        scored = self._scoring(ArrowChunk(batch, batch.num_rows))
        added = build_arrays(self._job.list_added(scored, batch.num_rows), scored.ok)
        new = dict(zip(self._job.new_columns, added, strict=True))
        return pa.table({**{name: whole.column(name) for name in self._kept}, **new})


def inspect_parts(
    reward: Reward,
    source: str,
    *,
    keep: Sequence[str] | None,
    columns: Mapping[str, str] | None,
    scores: bool,
    prefix: str,
    on_bad: str,
) -> Parts:
    """Return the parts of a data set; a column that lacks in one of them is an error here, before any row is read."""
    reward = apply_on_bad(reward, on_bad)
    kept = None if keep is None else tuple(keep)
    job = Job(reward, keep=kept, masks=on_bad == "mask", columns=columns, scores=scores, prefix=prefix)
    parts = find_parts(source)
    paths = [str(part.resolve()) for part in parts or [Path(source)]]
    for path in paths:
        if find_format(path) != "parquet":
            raise FileError(f"{path} is not Parquet, the only format read on Ray and Spark; use the local engine.")
    runs = [Run(job, path, "parquet", "parquet", None) for path in paths]
    for run in runs[1:]:
        if run.source.columns != runs[0].source.columns:
            raise FileError(
                f"{run.source.name} has different columns from {runs[0].source.name}; all parts need the same columns."
            )
    first = runs[0]
    return Parts(job, source, paths, first.kept, first.scoring, _find_dictionaries(first))


def _find_dictionaries(run: Run) -> list[str]:
    """Return the columns that had a dictionary, and the new ones, which often are few distinct numbers."""
    had = run.source.dictionaries() if isinstance(run.source, ParquetSource) else []
    return [*(name for name in had if name.partition(".")[0] in run.kept or name in run.kept), *run.job.new_columns]


@contextmanager
def write_parts(parts: Parts, target: str, engine: str, *, overwrite: bool) -> Iterator[tuple[Path, list[FileScoring]]]:
    """Yield a folder to write Parquet to, and a list that holds what came of it when the folder is under its name."""
    if any(Path(path).parent == Path(target).resolve() for path in parts.paths):
        raise FileError(f"{target} is the folder that the rows are read from; write to another one.")
    results: list[FileScoring] = []
    with AtomicFolder(target, overwrite=overwrite) as draft:
        yield draft.path, results
        rows, bad = _count_rows(draft.path, f"{parts.job.prefix}ok")
        if bad and not parts.job.masks:
            raise InputError(
                f"{parts.source}: {bad:,} of {rows:,} rows cannot be scored. Run the local engine to list them."
            )
        draft.commit()
    counts = {"rows": rows, "bad": bad, "reasons": {}, "remarks": parts.scoring.remarks}
    results.append(build_outcome(parts.job, parts.source, target, engine, counts, None))


def _count_rows(folder: Path, ok: str) -> tuple[int, int]:
    """Return how many rows were written, and how many of them are bad."""
    if not folder.is_dir():
        return 0, 0
    found = arrow_dataset.dataset(folder, format="parquet")
    rows = found.count_rows()
    return rows, rows - found.count_rows(filter=arrow_dataset.field((ok,))) if rows else 0
