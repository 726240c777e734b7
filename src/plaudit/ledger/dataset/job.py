"""One file of a data set: read, scored, compared and written, all of it or nothing."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from plaudit.atomic import AtomicPath, build_write_error
from plaudit.errors import DefinitionError, FileError, InputError, WrongType
from plaudit.ledger.dataset.arrow import Chunk, bools_to_arrow, numbers_to_arrow, to_numpy
from plaudit.ledger.dataset.context import find_context, read_classes, read_episodes, read_steps
from plaudit.ledger.dataset.csv_files import CsvSource
from plaudit.ledger.dataset.files import FileRescoring, require_format
from plaudit.ledger.dataset.jsonl_files import JsonLinesSink, JsonLinesSource
from plaudit.ledger.dataset.parquet_files import ParquetSink, ParquetSource
from plaudit.ledger.dataset.precision import NarrowScorer, find_old_dtype
from plaudit.ledger.dataset.scoring import Scored, Scoring, build_missing
from plaudit.ledger.exchange.csv_sink import CsvSink
from plaudit.ledger.rescore.changes import Changes
from plaudit.reward.reward import Reward
from plaudit.reward.row_files import Format, read_status, refuse_overlap
from plaudit.targets.columns import OK, name_columns
from plaudit.targets.inputs import list_slots

NOTE = "plaudit.rescored"
"""The key in the footer of a Parquet file under which it says what made it."""

Source = ParquetSource | CsvSource | JsonLinesSource
Sink = ParquetSink | CsvSink | JsonLinesSink
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Job:
    """What to do with every file."""

    reward: Reward
    against: Reward | str | None = None
    keep: tuple[str, ...] | None = None
    masks: bool = True
    """Whether a row that cannot be scored is written without a reward, instead of being an error."""
    decision_class: str | None = None
    decision: str | None = None
    columns: Mapping[str, str] | None = None
    scores: bool = False
    prefix: str = ""
    batch_rows: int | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What decides which numbers are written: the same identity and the same rows give the same file."""
        reward = self.reward
        return {
            "reward": f"{reward.name}@{reward.version}",
            "fingerprint": reward.fingerprint,
            "domain_fingerprint": reward.domain_fingerprint,
            "keep": self.keep,
            "columns": dict(self.columns or {}),
            "scores": self.scores,
            "prefix": self.prefix,
        }

    @property
    def new_columns(self) -> dict[str, pa.DataType]:
        """The columns that are added, in order."""
        program = self.reward.program
        names = name_columns(program.terms, program.inputs, scores=self.scores).values()
        return {f"{self.prefix}{name}": pa.float64() for name in names} | {f"{self.prefix}{OK}": pa.bool_()}

    def build_columns(self, scored: Scored, rows: int) -> list[pa.Array]:
        """Return the new columns of some rows; NULL where a row is bad."""
        scores = scored.scores
        columns = [scores.total, *scores.values.values(), *(scores.scores.values() if self.scores else ())]
        known = scored.ok if scored.bad else None
        made = [numbers_to_arrow(np.broadcast_to(column, rows), known) for column in columns]
        return [*made, bools_to_arrow(scored.ok)]

    def run(self, source: str, target: str, progress: Callable[[int, int], None] | None) -> FileRescoring:
        """Re-score one file."""
        changes = None if self.against is None else Changes()
        run = Run(self, source, changes, require_format(target))
        run.write(target, progress)
        return run.build_outcome(target)

    def open(self, source: str) -> Source:
        """Return a file to be read."""
        kind = require_format(source)
        if kind == "parquet":
            return ParquetSource(source)
        return CsvSource(source) if kind == "csv" else JsonLinesSource(source, self._list_fields())

    def _list_fields(self) -> dict[str, Any]:
        """Return the field of each input by the dotted names that it may lie under."""
        named: dict[str, Any] = {}
        renamed = self.columns or {}
        for reward in [self.reward, *([self.against] if isinstance(self.against, Reward) else [])]:
            for place in list_slots(reward.program):
                for name in (place.name, place.column):
                    named[renamed.get(name, name)] = place.field
                    if not place.record:
                        named.setdefault(f"curr.{name}", place.field)
        return named


class Run:
    """One file on its way through a job."""

    def __init__(self, job: Job, source: str, changes: Changes | None, written: Format) -> None:
        """Open the file, to be `written` in a format; a column that lacks is an error here, before any row is read."""
        self.job = job
        self.source = job.open(source)
        self.written = written
        self.changes = changes
        self.rows = 0
        schema, name = self.source.schema, self.source.name
        known: dict[str, Any] = {"columns": job.columns, "texts": self.source.texts, "rows": self.source.rows}
        self.scoring = Scoring(job.reward, schema, name, **known)
        self.old = None
        if isinstance(job.against, Reward):
            names = {each for place in list_slots(job.against.program) for each in (place.name, place.column)}
            renamed = {one: column for one, column in (job.columns or {}).items() if one in names}
            self.old = Scoring(job.against, schema, name, **{**known, "columns": renamed})
        for column in (job.decision_class, job.decision, job.against if isinstance(job.against, str) else None):
            if column is not None and column not in schema.names:
                raise build_missing(None, [column], name, schema.names)
        totals = schema.field(job.against).type if isinstance(job.against, str) else None
        dtype = None if changes is None else find_old_dtype(self.scoring, totals)
        self.narrow = None if dtype is None else NarrowScorer(dtype, self.scoring, self.old)
        self.kept = self._choose_kept()
        if isinstance(self.source, JsonLinesSource) and written == "jsonl" and job.keep is None:
            self.kept = []  # lines stay as they are, so what they hold need not be understood
        elif isinstance(self.source, JsonLinesSource) and written == "parquet":
            self.source.keep_integers()  # CSV writes 3 for 3.0 too
        self.schema = self._build_schema()

    def _choose_kept(self) -> list[str]:
        names, job = self.source.schema.names, self.job
        for name in job.keep or ():
            if name not in names:
                raise build_missing(None, [name], self.source.name, names)
        wanted = set(names if job.keep is None else job.keep)
        kept = [name for name in names if name in wanted]
        added = job.new_columns
        for name in kept:
            if name in added:
                raise DefinitionError(
                    f"{self.source.name} has a column {name!r} already; leave it out with keep=, or give the new "
                    "columns a prefix=."
                )
        return kept

    @property
    def needed(self) -> list[str]:
        """What is read, by dotted names: the columns that are kept, and what the rewards need."""
        job = self.job
        extra = [job.decision_class, job.decision, job.against if isinstance(job.against, str) else None]
        extra += [] if self.changes is None else find_context(self.source.schema)
        inputs = [one for scoring in (self.scoring, self.old) if scoring for one in scoring.found]
        names = [one.dotted for one in inputs if one.path[0] not in self.kept]
        return list(dict.fromkeys([*self.kept, *names, *(name for name in extra if name is not None)]))

    def write(self, target: str, progress: Callable[[int, int], None] | None) -> None:
        """Write the rows with their rewards to `target`."""
        refuse_overlap(target, read_status(target), read_status(self.source.name))
        with ExitStack() as stack:
            draft = stack.enter_context(AtomicPath(target))
            try:
                sink = self._open_sink(draft.path)
                stack.callback(sink.abandon)
                with write_behind(sink.write) as hand_over:
                    self._score_chunks(
                        lambda chunk, scored: hand_over(self._build_rows(chunk, scored), chunk.lines), progress
                    )
                if isinstance(sink, ParquetSink):
                    sink.note({NOTE: json.dumps({**self.job.identity, **self._count()})})
                sink.close()
            except FileError:
                raise
            except OSError as error:
                raise build_write_error(target, error) from None
            draft.commit()

    def compare(self, progress: Callable[[int, int], None] | None) -> None:
        """Score and compare the rows, and write nothing."""
        self._score_chunks(lambda chunk, scored: None, progress)

    def _score_chunks(self, use: Callable[[Chunk, Scored], None], progress: Callable[[int, int], None] | None) -> None:
        report = progress or (lambda done, total: None)
        report(0, self.source.total)
        for chunk in read_ahead(self.source.chunks(self.needed, self.job.batch_rows)):
            scored = self.scoring(chunk.batch, chunk.wrong)
            if not self.job.masks:
                self._refuse_bad(chunk, scored)
            if self.changes is not None:
                self._compare(self.changes, chunk, scored)
            use(chunk, scored)
            self.rows += chunk.batch.num_rows
            report(chunk.done, self.source.total)
        report(self.source.total, self.source.total)

    def _refuse_bad(self, chunk: Chunk, scored: Scored) -> None:
        """Raise for the first bad row of a chunk, and for a line that is no row."""
        name = self.source.name
        if scored.bad:
            row = int(np.flatnonzero(~scored.ok)[0])
            error: InputError = self.scoring.build_refusal(chunk.batch, row)
            for column, wrong in chunk.wrong.items():
                if wrong[row]:
                    error = WrongType(f"reward {self.job.reward.name!r}: {column!r} holds a value of another kind.")
            raise type(error)(f"{name}, row {self.rows + row:,} (the first is 0): {error}")
        if self.source.unreadable:
            raise InputError(
                f"{name}: a line between rows {self.rows:,} and {self.rows + chunk.batch.num_rows:,} is no row."
            )

    def _compare(self, changes: Changes, chunk: Chunk, scored: Scored) -> None:
        against, rows = self.job.against, chunk.batch.num_rows
        both = [scored]
        if self.old is not None:
            both.append(old := self.old(chunk.batch, chunk.wrong))
            before = mask_totals(old.scores.total, old.ok, rows)
        else:
            before = _read_totals(chunk.batch.column(str(against)), str(against))
        classes = None if self.job.decision_class is None else read_classes(chunk.batch.column(self.job.decision_class))
        decision = None
        if self.job.decision is not None:
            decision = chunk.batch.column(self.job.decision).dictionary_encode()
            decision = np.array(decision.to_pylist(), dtype=object)
        after = mask_totals(scored.scores.total, scored.ok, rows)
        episode, step = read_episodes(chunk.batch), read_steps(chunk.batch)
        changes.add(before, after, classes, decision, episode=episode, step=step)
        if self.narrow is not None:
            self.narrow.compare(changes.rounding, before, after, both, file=self.source.name, first=self.rows)

    def _build_rows(self, chunk: Chunk, scored: Scored) -> pa.RecordBatch:
        """Return the rows as they are written."""
        columns = [chunk.batch.column(chunk.batch.schema.get_field_index(name)) for name in self.kept]
        added = self.job.build_columns(scored, chunk.batch.num_rows)
        return pa.record_batch([*columns, *added], schema=self.schema)

    def _build_schema(self) -> pa.Schema:
        fields = [self.source.schema.field(name) for name in self.kept]
        added = [pa.field(name, kind) for name, kind in self.job.new_columns.items()]
        return pa.schema([*fields, *added], metadata=self.source.schema.metadata)

    def _open_sink(self, path: Path) -> Sink:
        if self.written == "csv":
            return CsvSink(path, self.schema)
        if self.written == "jsonl":
            whole = isinstance(self.source, JsonLinesSource) and self.job.keep is None
            return JsonLinesSink(path, list(self.job.new_columns), self.source.name, whole=whole)
        return ParquetSink(
            path, self.schema, self.source if isinstance(self.source, ParquetSource) else None, self.kept
        )

    def _count(self) -> dict[str, Any]:
        return {"rows": self.rows, "bad": self.scoring.bad, "reasons": dict(self.scoring.reasons)}

    def build_outcome(self, target: str) -> FileRescoring:
        """Return what happened."""
        counts = {**self._count(), "unreadable": self.source.unreadable}
        return build_outcome(self.job, self.source.name, target, self.scoring.target, counts, self.changes)


def build_outcome(
    job: Job,
    source: str,
    target: str,
    engine: str,
    counts: Mapping[str, Any],
    changes: Changes | None,
) -> FileRescoring:
    """Return what happened to a file, or to a folder."""
    return FileRescoring(
        reward=f"{job.reward.name}@{job.reward.version}",
        fingerprint=job.reward.fingerprint,
        source=source,
        output=target,
        engine=engine,
        rows=counts["rows"],
        bad=counts["bad"],
        reasons=dict(Counter(counts["reasons"]).most_common()),
        unreadable=counts.get("unreadable", 0),
        resumed=counts.get("resumed", 0),
        changes=changes,
    )


def mask_totals(total: Any, ok: Any, rows: int) -> Any:
    """Return the total of each row; NaN where it cannot be scored."""
    whole = np.broadcast_to(total, rows)
    return whole if ok.all() else np.where(ok, whole, np.nan)


def _read_totals(column: pa.Array, name: str) -> Any:
    """Return a column of old totals; NaN where there is none."""
    try:
        totals = column.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise WrongType(f"the column {name!r} of {column.type} does not hold totals to compare with.") from None
    return to_numpy(totals.fill_null(float("nan")))


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield what `items` yields, which are made in another thread, one before it is asked for."""
    end = object()
    with ThreadPoolExecutor(1, "plaudit-reader") as reader:
        coming: Future[Any] = reader.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = reader.submit(next, items, end)
            yield item


@contextmanager
def write_behind(work: Callable[..., None]) -> Iterator[Callable[..., None]]:
    """Yield a function that does `work` in another thread; it waits for the call before the last, and raises for it."""
    with ThreadPoolExecutor(1, "plaudit-writer") as writer:
        pending: list[Future[None]] = []

        def hand_over(*arguments: Any) -> None:
            while len(pending) > 1:
                pending.pop(0).result()
            pending.append(writer.submit(work, *arguments))

        yield hand_over
        for last in pending:
            last.result()
