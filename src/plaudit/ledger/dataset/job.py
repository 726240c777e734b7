"""One file of a data set: read, scored, compared and written, all of it or nothing."""

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from plaudit.drafts import HiddenFile, unwritable
from plaudit.errors import DefinitionError, FileError, InputError, WrongType
from plaudit.ledger.changes.changes import Changes
from plaudit.ledger.changes.decisions import Classes
from plaudit.ledger.dataset.ahead import ahead, behind
from plaudit.ledger.dataset.block import Block
from plaudit.ledger.dataset.columns import missing
from plaudit.ledger.dataset.delimited import CsvSink, CsvSource
from plaudit.ledger.dataset.formats import Format, format_of
from plaudit.ledger.dataset.lines import JsonLinesSink, JsonLinesSource
from plaudit.ledger.dataset.outcome import FileRescoring
from plaudit.ledger.dataset.parquet import ParquetSink, ParquetSource
from plaudit.ledger.dataset.plain import flags, numbers, plain
from plaudit.ledger.dataset.scoring import Scored, Scoring
from plaudit.reward.reward import Reward
from plaudit.targets.rows import places

NOTE = "plaudit.rescored"
"""The key in the footer of a Parquet file under which it says what made it."""

Source = ParquetSource | CsvSource | JsonLinesSource
Sink = ParquetSink | CsvSink | JsonLinesSink


@dataclass(frozen=True, slots=True)
class Job:
    """What to do with every file."""

    reward: Reward
    against: Reward | str | None = None
    keep: tuple[str, ...] | None = None
    on_bad: str = "mask"
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
        terms = [term.name for term in self.reward.terms]
        names = ["total", *(f"{term}.value" for term in terms)]
        names += [f"{term}.score" for term in terms] if self.scores else []
        return {f"{self.prefix}{name}": pa.float64() for name in names} | {f"{self.prefix}ok": pa.bool_()}

    def added(self, scored: Scored, rows: int) -> list[pa.Array]:
        """Return the new columns of some rows; NULL where a row is bad."""
        scores = scored.scores
        columns = [scores.total, *scores.values.values(), *(scores.scores.values() if self.scores else ())]
        known = scored.ok if scored.bad else None
        made = [numbers(np.broadcast_to(column, rows), known) for column in columns]
        return [*made, flags(scored.ok)]

    def run(self, source: str, target: str, progress: Callable[[int, int], None] | None) -> FileRescoring:
        """Re-score one file."""
        changes = None if self.against is None else Changes()
        run = Run(self, source, changes, format_of(target))
        run.write(target, progress)
        return run.outcome(target)

    def open(self, source: str) -> Source:
        """Return a file to be read."""
        kind = format_of(source)
        if kind == "parquet":
            return ParquetSource(source)
        return CsvSource(source) if kind == "csv" else JsonLinesSource(source, self._fields())

    def _fields(self) -> dict[str, Any]:
        """Return the field of each input by the dotted names that it may lie under."""
        named: dict[str, Any] = {}
        renamed = self.columns or {}
        for reward in [self.reward, *([self.against] if isinstance(self.against, Reward) else [])]:
            for place in places(reward.program):
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
            names = {each for place in places(job.against.program) for each in (place.name, place.column)}
            renamed = {one: column for one, column in (job.columns or {}).items() if one in names}
            self.old = Scoring(job.against, schema, name, **{**known, "columns": renamed})
        for column in (job.decision_class, job.decision, job.against if isinstance(job.against, str) else None):
            if column is not None and column not in schema.names:
                raise missing(None, [column], name, schema.names)
        self.kept = self._kept()
        if isinstance(self.source, JsonLinesSource) and written == "jsonl" and job.keep is None:
            self.kept = []  # lines stay as they are, so what they hold need not be understood
        self.schema = self._schema()

    def _kept(self) -> list[str]:
        names, job = self.source.schema.names, self.job
        for name in job.keep or ():
            if name not in names:
                raise missing(None, [name], self.source.name, names)
        kept = [name for name in names if job.keep is None or name in job.keep]
        for name in kept:
            if name in job.new_columns:
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
        inputs = [one for scoring in (self.scoring, self.old) if scoring for one in scoring.found]
        names = [one.dotted for one in inputs if one.path[0] not in self.kept]
        return list(dict.fromkeys([*self.kept, *names, *(name for name in extra if name is not None)]))

    def write(self, target: str, progress: Callable[[int, int], None] | None) -> None:
        """Write the rows with their rewards to `target`."""
        if os.path.exists(target) and os.path.exists(self.source.name) and os.path.samefile(self.source.name, target):
            raise FileError(f"{target} is the file that the rows come from; write to another one.")
        with ExitStack() as stack:
            draft = stack.enter_context(HiddenFile(target))
            try:
                sink = self._sink(draft.path)
                stack.callback(sink.abandon)
                with behind(sink.write) as hand_over:
                    self._go(lambda block, scored: hand_over(self._rows(block, scored), block.lines), progress)
                if isinstance(sink, ParquetSink):
                    sink.note({NOTE: json.dumps({**self.job.identity, **self._counts()})})
                sink.close()
            except FileError:
                raise
            except OSError as error:
                raise unwritable(target, os.strerror(error.errno) if error.errno else str(error)) from None
            draft.commit()

    def compare(self, progress: Callable[[int, int], None] | None) -> None:
        """Score and compare the rows, and write nothing."""
        self._go(lambda block, scored: None, progress)

    def _go(self, use: Callable[[Block, Scored], None], progress: Callable[[int, int], None] | None) -> None:
        tell = progress or (lambda done, total: None)
        tell(0, self.source.total)
        for block in ahead(self.source.blocks(self.needed, self.job.batch_rows)):
            scored = self.scoring(block.batch, block.wrong)
            if self.job.on_bad == "raise":
                self._refuse(block, scored)
            if self.changes is not None:
                self._compare(self.changes, block, scored)
            use(block, scored)
            self.rows += block.batch.num_rows
            tell(block.done, self.source.total)
        tell(self.source.total, self.source.total)

    def _refuse(self, block: Block, scored: Scored) -> None:
        """Raise for the first bad row of a block, and for a line that is no row."""
        name = self.source.name
        if scored.bad:
            row = int(np.flatnonzero(~scored.ok)[0])
            error: InputError = self.scoring.refusal(block.batch, row)
            for column, wrong in block.wrong.items():
                if wrong[row]:
                    error = WrongType(f"reward {self.job.reward.name!r}: {column!r} holds a value of another kind.")
            raise type(error)(f"{name}, row {self.rows + row:,} (the first is 0): {error}")
        if self.source.unreadable:
            raise InputError(
                f"{name}: a line between rows {self.rows:,} and {self.rows + block.batch.num_rows:,} is no row."
            )

    def _compare(self, changes: Changes, block: Block, scored: Scored) -> None:
        against, rows = self.job.against, block.batch.num_rows
        if self.old is not None:
            old = self.old(block.batch, block.wrong)
            before = _masked(old.scores.total, old.ok, rows)
        else:
            before = _floats(block.batch.column(str(against)), str(against))
        classes = None if self.job.decision_class is None else _classes(block.batch.column(self.job.decision_class))
        decision = None
        if self.job.decision is not None:
            decision = block.batch.column(self.job.decision).dictionary_encode()
            decision = np.array(decision.to_pylist(), dtype=object)
        changes.add(before, _masked(scored.scores.total, scored.ok, rows), classes, decision)

    def _rows(self, block: Block, scored: Scored) -> pa.RecordBatch:
        """Return the rows as they are written."""
        columns = [block.batch.column(block.batch.schema.get_field_index(name)) for name in self.kept]
        added = self.job.added(scored, block.batch.num_rows)
        return pa.record_batch([*columns, *added], schema=self.schema)

    def _schema(self) -> pa.Schema:
        fields = [self.source.schema.field(name) for name in self.kept]
        added = [pa.field(name, kind) for name, kind in self.job.new_columns.items()]
        return pa.schema([*fields, *added], metadata=self.source.schema.metadata)

    def _sink(self, path: Path) -> Sink:
        if self.written == "csv":
            return CsvSink(path, self.schema)
        if self.written == "jsonl":
            whole = isinstance(self.source, JsonLinesSource) and self.job.keep is None
            return JsonLinesSink(path, list(self.job.new_columns), self.source.name, whole=whole)
        return ParquetSink(
            path, self.schema, self.source if isinstance(self.source, ParquetSource) else None, self.kept
        )

    def _counts(self) -> dict[str, Any]:
        return {"rows": self.rows, "bad": self.scoring.bad, "reasons": dict(self.scoring.reasons)}

    def outcome(self, target: str) -> FileRescoring:
        """Return what happened."""
        counts = {**self._counts(), "unreadable": self.source.unreadable}
        return outcome(self.job, self.source.name, target, self.scoring.target, counts, self.changes)


def outcome(
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


def _masked(total: Any, ok: Any, rows: int) -> Any:
    whole = np.broadcast_to(total, rows)
    return whole if ok.all() else np.where(ok, whole, np.nan)


def _floats(column: pa.Array, name: str) -> Any:
    """Return a column of old totals; NaN where there is none."""
    try:
        totals = column.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise WrongType(f"the column {name!r} of {column.type} does not hold totals to compare with.") from None
    return plain(totals.fill_null(float("nan")))


def _classes(column: pa.Array) -> Classes:
    """Return a column of decision classes as labels and positions."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    labels: Sequence[Any] = [*encoded.dictionary.to_pylist(), None]
    codes = plain(encoded.indices.cast(pa.int64()).fill_null(len(labels) - 1))
    return Classes(labels, codes)
