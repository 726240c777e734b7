"""One file of rows: read, scored, compared and written, all of it or nothing."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plaudit.atomic import build_write_error
from plaudit.errors import DefinitionError, FileError, WrongType
from plaudit.ledger.dataset.carried import EpisodeScoring, Track, make_scoring
from plaudit.ledger.dataset.context import find_context, read_classes, read_episodes, read_steps
from plaudit.ledger.dataset.files import FileScoring
from plaudit.reward.reward import Reward
from plaudit.rows.bad_rows import BadRows
from plaudit.rows.chunks import Chunk
from plaudit.rows.columns import Refused
from plaudit.rows.files import open_rows, open_sink, read_ahead, write_behind
from plaudit.rows.scoring import Scored, Scoring, build_missing
from plaudit.rows.streams import Format, Output, refuse_overlap
from plaudit.targets.columns import OK, name_columns
from plaudit.targets.inputs import list_slots

if TYPE_CHECKING:
    from plaudit.ledger.rescore.changes import Changes
    from plaudit.rows.parquet_files import TableRows

NOTE = "plaudit.scored"
"""The key in the footer of a Parquet file under which it says what made it."""

Progress = Callable[[int, int | None], None]
"""Told how much is done, and how much there is: rows, or bytes where the number of rows is not known."""


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
    def new_columns(self) -> list[str]:
        """The columns that are added, in order; the last says whether a row could be scored."""
        program = self.reward.program
        names = name_columns(program.terms, program.inputs, scores=self.scores).values()
        return [f"{self.prefix}{name}" for name in (*names, OK)]

    def list_added(self, scored: Scored, rows: int) -> dict[str, Any]:
        """Return the new columns of some rows."""
        scores = scored.scores
        columns = [scores.total, *scores.values.values(), *(scores.scores.values() if self.scores else ())]
        whole = [np.ascontiguousarray(np.broadcast_to(column, rows), np.float64) for column in columns]
        return dict(zip(self.new_columns, [*whole, scored.ok], strict=True))

    def make_changes(self, first: int = 0) -> "Changes | None":
        """Return what counts changes of rows from `first` on, where there is something to compare with."""
        if self.against is None:
            return None
        from plaudit.ledger.rescore.changes import Changes  # which loads what reads ledgers

        return Changes(first=first)


def make_tracks(first: float | None = None) -> tuple[Track, Track]:
    """Return what the two rewards of a job carry through a data set, before its first row."""
    return Track(first), Track(first)


class Run:
    """One file on its way through a job."""

    def __init__(
        self,
        job: Job,
        source: str,
        read: Format,
        written: Format,
        changes: "Changes | None",
        groups: range | None = None,
        tracks: tuple[Track, Track] | None = None,
        table: "TableRows | None" = None,
    ) -> None:
        """Open the file, to be `written` in a format; a column that lacks is an error here, before any row is read."""
        self.job = job
        self.written = written
        self.changes = changes
        self.rows = self.unreadable = 0
        self.tracks = tracks or make_tracks()
        self.source = open_rows(source, read, job.batch_rows, groups, table)
        try:
            self._find_columns()
        except BaseException:
            self.source.close()
            raise

    def _find_columns(self) -> None:
        job, source = self.job, self.source
        self.scoring = make_scoring(job.reward, source, job.columns, self.tracks[0])
        self.old: Scoring | None = None
        if isinstance(job.against, Reward):
            names = {each for place in list_slots(job.against.program) for each in (place.name, place.column)}
            renamed = {one: column for one, column in (job.columns or {}).items() if one in names}
            self.old = make_scoring(job.against, source, renamed, self.tracks[1])
        self._extra = [job.decision_class, job.decision, job.against if isinstance(job.against, str) else None]
        for column in (*self._extra, *(job.keep or ())):
            if column is not None and column not in source.columns:
                raise build_missing(None, [column], source.name, source.columns)
        self.kept = [name for name in source.columns if job.keep is None or name in job.keep]
        taken = [name for name in self.kept if name in job.new_columns]
        if taken:
            raise DefinitionError(
                f"{source.name} already has a column {taken[0]!r}; leave it out with keep= (--keep), or give the "
                "new columns a prefix= (--prefix)."
            )
        self.narrow = None
        if self.changes is not None and source.format == "parquet":
            from plaudit.ledger.dataset.precision import NarrowScorer, find_old_dtype

            totals = source.paths[job.against,] if isinstance(job.against, str) else None
            dtype = find_old_dtype(self.scoring, totals)
            self.narrow = None if dtype is None else NarrowScorer(dtype, self.scoring, self.old)

    @property
    def in_order(self) -> list[EpisodeScoring]:
        """Its rewards that need more than one row: those of an episode in their order."""
        return [scoring for scoring in (self.scoring, self.old) if isinstance(scoring, EpisodeScoring)]

    @property
    def needed(self) -> list[str]:
        """What is read, by dotted names: the columns that are kept, and what the rewards need."""
        extra = [*self._extra, *(() if self.changes is None else find_context(self.source))]
        paths = [path for scoring in (self.scoring, self.old) if scoring for path in scoring.reads]
        names = [".".join(path) for path in paths if path[0] not in self.kept]
        return list(dict.fromkeys([*self.kept, *names, *(name for name in extra if name is not None)]))

    def write(self, target: str, bad: BadRows | None, progress: Progress | None) -> None:
        """Write the rows with their rewards to `target`."""
        with ExitStack() as stack:
            stack.callback(self.source.close)
            output = stack.enter_context(Output(target))
            refuse_overlap(output.name, output.identity, self.source.identity)
            if bad is not None:
                bad.open(output, self.source.identity)
            kept = None if self.job.keep is None else self.kept
            inputs = [one for scoring in (self.scoring, self.old) if scoring for one in scoring.found]
            try:
                sink = open_sink(self.written, output, self.source, kept, self.job.new_columns, inputs)
                stack.callback(sink.abandon)
                threads = self.source.format == "parquet"  # other formats are read and written by Python itself
                with write_behind(sink.write) if threads else nullcontext(sink.write) as hand_over:
                    for chunk, scored in self.score(bad, progress):
                        hand_over(chunk, self.job.list_added(scored, chunk.rows), scored.ok)
                if hasattr(sink, "note"):
                    sink.note({NOTE: json.dumps({**self.job.identity, **self.count()})})
                sink.close()
            except (FileError, BrokenPipeError):
                raise
            except OSError as error:
                raise build_write_error(output.name, error) from None
            if bad is not None:
                bad.commit()
            output.commit()

    def score(self, bad: BadRows | None, progress: Progress | None) -> Iterator[tuple[Chunk, Scored]]:
        """Yield the rows with their scores, after they are compared and the bad ones are kept."""
        report = progress or (lambda done, total: None)
        report(0, self.source.total)
        chunks = self.source.chunks(self.needed)
        for chunk in read_ahead(chunks) if self.source.format == "parquet" else chunks:
            scored = self.scoring(chunk) if chunk.rows else None
            self._keep_bad(chunk, scored, bad)
            if scored is not None:
                if self.changes is not None:
                    self._compare(self.changes, chunk, scored)
                yield chunk, scored
            self.rows += chunk.rows
            report(chunk.done, self.source.total)

    def _keep_bad(self, chunk: Chunk, scored: Scored | None, bad: BadRows | None) -> None:
        """Keep the bad rows of a chunk in order; where none is allowed, raise for the first."""
        self.unreadable += len(chunk.refused)
        if self.job.masks and bad is None:
            return
        bad_rows = np.flatnonzero(~scored.ok).tolist() if scored is not None and scored.bad else []
        rows = {chunk.numbers[row]: row for row in bad_rows}
        refused = {each.number: each for each in chunk.refused}
        for number in sorted([*refused, *rows]):
            # one after the other: thousands of errors with their frames would fill the memory
            one = refused.get(number) or self._refuse(chunk, rows[number])
            if not self.job.masks:
                raise type(one.error)(f"{self.source.name}, {self.source.unit} {number:,}: {one.error}")
            if bad is not None:
                bad.keep(self.source.unit, number, one.raw, one.error)

    def _refuse(self, chunk: Chunk, row: int) -> Refused:
        return Refused(chunk.numbers[row], chunk.format_row(row), self.scoring.explain(chunk, row))

    def _compare(self, changes: "Changes", chunk: Chunk, scored: Scored) -> None:
        job, rows = self.job, chunk.rows
        both = [scored]
        if self.old is not None:
            both.append(old := self.old(chunk))
            before = mask_totals(old.scores.total, old.ok, rows)
        else:
            before = chunk.read_numbers(str(job.against))
            if before is None:
                raise WrongType(f"the column {job.against!r} does not hold totals to compare with.")
        classes = None if job.decision_class is None else read_classes(chunk, job.decision_class)
        decision = None if job.decision is None else np.array(chunk.list_column(job.decision), dtype=object)
        after = mask_totals(scored.scores.total, scored.ok, rows)
        episode, step = read_episodes(chunk, self.source), read_steps(chunk, self.source)
        changes.add(before, after, classes, decision, episode=episode, step=step)
        if self.narrow is not None:
            first = self.source.before + self.rows
            self.narrow.compare(changes.rounding, before, after, both, file=self.source.name, first=first)

    def count(self) -> dict[str, Any]:
        """Return how many rows there were, and the bad ones by reason."""
        return {"rows": self.rows, "bad": self.scoring.bad, "reasons": dict(self.scoring.reasons)}

    def build_outcome(self, target: str, bad: BadRows | None) -> FileScoring:
        """Return what happened."""
        kept = bad.path if bad is not None and bad.count else None
        counts = {**self.count(), "unreadable": self.unreadable, "bad_rows": kept, "remarks": self.scoring.remarks}
        return build_outcome(self.job, self.source.name, target, self.scoring.target, counts, self.changes)


def build_outcome(
    job: Job, source: str, target: str, engine: str, counts: Mapping[str, Any], changes: "Changes | None"
) -> FileScoring:
    """Return what happened to a file, or to a folder."""
    return FileScoring(
        reward=f"{job.reward.name}@{job.reward.version}",
        fingerprint=job.reward.fingerprint,
        source=source,
        output=target,
        engine=engine,
        rows=counts["rows"],
        bad=counts["bad"],
        reasons=dict(Counter(counts["reasons"]).most_common()),
        unreadable=counts.get("unreadable", 0),
        bad_rows=counts.get("bad_rows"),
        resumed=counts.get("resumed", 0),
        remarks=tuple(counts["remarks"]),
        changes=changes,
    )


def mask_totals(total: Any, ok: Any, rows: int) -> Any:
    """Return the total of each row; NaN where it cannot be scored."""
    whole = np.broadcast_to(total, rows)
    return whole if ok.all() else np.where(ok, whole, np.nan)
