"""Re-scoring a ledger's own records: the new scores are new records, tied to the old ones.

A source block becomes one new block, in a transaction that also says which it came from; what was done before is seen
there, so a re-scoring that was killed goes on where it stopped and scores nothing twice.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from sqlalchemy import bindparam, func, insert, select, update

from plaudit.errors import LedgerError, MissingField
from plaudit.ledger.backends.backend import report_damage
from plaudit.ledger.changes import Changes
from plaudit.ledger.context import Scope, to_datetime
from plaudit.ledger.history import History
from plaudit.ledger.query import Query
from plaudit.ledger.record import Page
from plaudit.ledger.replay import LedgerReplay, needs_replay
from plaudit.ledger.storage.batch import collect_inputs
from plaudit.ledger.storage.chain import CHAINED, seal_row
from plaudit.ledger.storage.codec import FLOAT, Block, RecordLayout, Rows, decode_column, digest_job
from plaudit.ledger.storage.schema import blocks, jobs, scopes, specs
from plaudit.ledger.storage.specs import SpecCache
from plaudit.ledger.storage.store import Store
from plaudit.reward.reward import Reward
from plaudit.targets.inputs import find_default, list_slots
from plaudit.targets.numpy import NumpyReward
from plaudit.terminal import escape_controls

_BATCH = 32_768
"""Records to score and commit together."""
_FIND_JOB = select(jobs.c.id).where(jobs.c.digest == bindparam("wanted"))
_ADD_JOB = insert(jobs).values({name: bindparam(name) for name in ("digest", "spec", "filters", "started", "finished")})
_READ_JOB = select(*(jobs.c[name] for name in CHAINED["jobs"])).where(jobs.c.id == bindparam("number"))
_FINISH = (
    update(jobs).values(finished=bindparam("now"), seal=bindparam("sealed")).where(jobs.c.id == bindparam("number"))
)
_THERE = select(blocks.c.first, blocks.c.records).where(blocks.c.first.between(bindparam("low"), bindparam("high")))
_DONE = select(blocks.c.origin).where(
    blocks.c.job == bindparam("of"), blocks.c.origin >= bindparam("low"), blocks.c.origin <= bindparam("high")
)


@dataclass(frozen=True, slots=True)
class Lacking:
    """Records that a reward cannot score, because they were recorded without an input it needs."""

    reward: str
    version: str
    records: int
    needed: tuple[str, ...]

    def __str__(self) -> str:
        lack = f"{self.records:,} records of {self.reward}@{self.version} lack {', '.join(self.needed)}"
        return escape_controls(lack)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a re-scoring would do."""

    records: int
    """Records that have every input."""
    lacking: tuple[Lacking, ...]
    scored: int = 0
    """How many of them an earlier run of the same re-scoring has scored, or refused, already."""


@dataclass(slots=True)
class Rescoring:
    """What a re-scoring did, and what changed by it."""

    job: int
    reward: str
    version: str
    scored: int
    """Records that it scored this time; those of an earlier, interrupted run are in `changes` only."""
    lacking: tuple[Lacking, ...]
    changes: Changes = field(default_factory=Changes)

    @property
    def records(self) -> int:
        """Records that have a new score, over all runs of this re-scoring."""
        return self.changes.records

    @property
    def refused(self) -> int:
        """Records whose inputs the new reward refuses: out of range, or outside a function's domain."""
        return self.changes.lost

    def __str__(self) -> str:
        lines = [f"job {self.job}: {self.records:,} records scored with {self.reward}@{self.version}"]
        if self.refused:
            lines.append(f"{self.refused:,} refused: their inputs are outside what it declares")
        return escape_controls("\n".join([*lines, *map(str, self.lacking), "", str(self.changes)]))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        lacking = [
            {"reward": e.reward, "version": e.version, "records": e.records, "needed": list(e.needed)}
            for e in self.lacking
        ]
        about = {"job": self.job, "reward": self.reward, "version": self.version, "scored": self.scored}
        counts = {"records": self.records, "refused": self.refused}
        return {**about, **counts, "lacking": lacking, "changes": self.changes.to_dict()}


@dataclass(frozen=True, slots=True)
class Job:
    """A re-scoring: `ledger.history(job=job.id)` are its records."""

    id: int
    reward: str
    version: str
    chosen: Mapping[str, Any]
    """Which records were to be scored; empty for all."""
    records: int
    started: datetime
    finished: datetime | None
    """None where it was interrupted; calling `rescore` again goes on with it."""


@dataclass(frozen=True, eq=False)
class Translation:
    """A way from stored rows of `source` to rows and scores of `layout`."""

    source: RecordLayout
    layout: RecordLayout

    @cached_property
    def _compiled(self) -> NumpyReward:
        return NumpyReward(self.layout.scored.program, on_bad="mask")

    def score(self, rows: Rows, carried: Mapping[str, Any] | None = None) -> tuple[Rows, Rows]:
        """Return the inputs and outputs of recorded rows under the other reward; NaN where it refuses a row.

        `carried` holds states that were computed anew, by the names of inputs.
        """
        taken = self.take_columns(rows, carried or {})
        scores = self._compiled(taken)
        inputs = collect_inputs(self.layout, taken, len(rows))
        return inputs, self.layout.stack_scores(scores, len(rows))

    def take_measured(self, rows: Rows) -> dict[str, Any]:
        """Return the columns that the other reward reads of recorded rows, without its states."""
        states = self.layout.scored.program.states
        taken = self.take_columns(rows, {})
        return {name: column for name, column in taken.items() if _name_field(name) not in states}

    def take_columns(self, rows: Rows, carried: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns that the other reward reads of recorded rows; what is `carried` instead of recorded."""
        given = self.source.split_columns(rows)
        old, new = self.source.scored.program.inputs, self.layout.scored.program.inputs
        taken: dict[str, Any] = {}
        for name, wanted in new.items():
            if name in carried:
                taken[name] = carried[name]
                continue
            if name not in given:
                continue
            column = given[name]
            if wanted.kind == "category" and old[name].labels != wanted.labels:
                known = {label: at for at, label in enumerate(wanted.labels)}
                column = np.asarray([known.get(label, -1) for label in old[name].labels])[column]
            taken[name] = column
        return taken


def _name_field(name: str) -> str:
    """Return the field that an input is a value of: `air_time` of `prev.air_time[0]`."""
    return name.rpartition(".")[2].partition("[")[0]


def find_translation(
    cache: SpecCache, source: RecordLayout, layout: RecordLayout, *, replayed: bool = False
) -> "Translation | tuple[str, ...]":
    """Return how recorded rows become rows of another reward, or the inputs that they lack.

    Where episodes are `replayed`, states need not be recorded.
    """
    if source.part == "final":
        if replayed:
            return ("a step of its own: what is carried is computed step by step",)
        if not any(term.terminal for term in layout.reward.terms):
            return ("a terminal term",)
        layout = cache.get_layout(layout.reward, "final")
    old, program = source.scored.program.inputs, layout.scored.program
    lacking = []
    anew = needs_replay(layout.reward, [source])
    for place in list_slots(program):
        if place.key in program.states and (replayed or anew):
            if not replayed:
                lacking.append(f"{place.name} (carried in another way)")
            continue
        if place.name in old:
            if old[place.name].kind != place.field.kind:
                lacking.append(f"{place.name} (a {place.field.kind}, not a {old[place.name].kind})")
        elif find_default(program, place, False) is None:
            lacking.append(place.name)
    return tuple(lacking) or Translation(source, layout)


def plan_rescore(store: Store, reward: Reward, query: Query) -> Plan:
    """Return how many records could be scored with a reward, and which lack an input it needs."""
    _check_query(query)
    history = History(store, query)
    layout = store.specs.get_layout(reward)
    lacking, ready = [], 0
    counts = list(history.counts())
    replayed = needs_replay(reward, [source for source, _ in counts])
    for source, count in counts:
        found = find_translation(store.specs, source, layout, replayed=replayed)
        if isinstance(found, Translation):
            ready += count
        else:
            lacking.append(Lacking(source.reward.name, source.reward.version, count, found))
    return Plan(ready, tuple(lacking), _count_scored(store, layout, query))


def _count_scored(store: Store, layout: RecordLayout, query: Query) -> int:
    """Return how many records the re-scoring with this reward and query has come to so far."""
    job = select(jobs.c.id).where(jobs.c.digest == digest_job(layout, _encode_query(query))).scalar_subquery()
    with store.backend.snapshot() as connection:
        return int(connection.execute(select(func.sum(blocks.c.records)).where(blocks.c.job == job)).scalar() or 0)


def _encode_query(query: Query) -> str:
    return json.dumps(query.to_dict(), sort_keys=True)


def rescore(
    store: Store, reward: Reward, query: Query, progress: Callable[[int, int], None] | None = None
) -> Rescoring:
    """Score recorded inputs with `reward`; go on where an earlier call with the same reward and query stopped."""
    planned = plan_rescore(store, reward, query)
    if not planned.records:
        why = "; ".join(map(str, planned.lacking)) or "no record was chosen"
        raise MissingField(f"{store.backend.name}: nothing can be scored with {reward.name}@{reward.version}: {why}.")
    layout = store.specs.get_layout(reward)
    replayed = needs_replay(reward, [source for source, _ in History(store, query).counts()])
    if replayed:  # before anything is written
        LedgerReplay(reward).check(History(store, query).pages())
    job = store.writer.transact(lambda cursor: _find_job(store, cursor, layout, query))
    scored = 0
    merged = True
    while merged:  # begin again where blocks were merged meanwhile: what is scored is not scored again
        done, merged = 0, False
        replay = LedgerReplay(reward) if replayed else None
        for pages in History(store, query).read_batches(_BATCH):
            carried = _carry(store, layout, replay, pages)
            count = store.writer.transact(
                lambda cursor, pages=pages, carried=carried: _score_pages(store, cursor, layout, job, pages, carried)  # type: ignore[misc]
            )
            if count is None:
                merged = True
                break
            scored += count
            done += sum(len(page.positions()) for page in pages)
            if progress is not None:
                progress(min(done, planned.records), planned.records)
    store.writer.transact(lambda cursor: _finish_job(store, cursor, job[0], store.writer.now()))
    result = Rescoring(job[0], reward.name, reward.version, scored, planned.lacking)
    with report_damage(store.backend.name, f"a row of job {job[0]}"):
        compare_totals(store, job[0], result.changes)
    return result


def list_jobs(store: Store) -> list[Job]:
    """Return every re-scoring, oldest first."""
    count = func.coalesce(func.sum(blocks.c.records), 0).label("records")
    statement = (
        select(jobs, specs.c.name, specs.c.version, count)
        .join(specs, specs.c.id == jobs.c.spec)
        .outerjoin(blocks, blocks.c.job == jobs.c.id)
        .group_by(jobs.c.id, specs.c.name, specs.c.version)
        .order_by(jobs.c.id)
    )
    with store.backend.snapshot() as connection, report_damage(store.backend.name, "a row of jobs"):
        return [
            Job(
                row.id,
                row.name,
                row.version,
                json.loads(row.filters),
                int(row.records),
                to_datetime(row.started),
                None if row.finished is None else to_datetime(row.finished),
            )
            for row in connection.execute(statement)
        ]


def compare_totals(store: Store, job: int, changes: Changes) -> None:
    """Compare every total of a re-scoring with the one it was made from."""
    old = blocks.alias("old")
    joined = blocks.join(old, old.c.first == blocks.c.origin).join(scopes, scopes.c.id == blocks.c.scope)
    columns = (blocks.c.origin, blocks.c.records, blocks.c.outputs, blocks.c.picked, blocks.c.episodes, blocks.c.steps)
    statement = select(
        *columns, old.c.outputs.label("before"), old.c.records.label("held"), scopes.c.decision_class, scopes.c.run
    ).select_from(joined)
    after, number, last = -1, 0, None
    while True:
        page = statement.where(blocks.c.job == job, blocks.c.origin > after).order_by(blocks.c.origin).limit(256)
        with store.backend.snapshot() as connection:
            rows = connection.execute(page).all()
        for row in rows:
            new = np.frombuffer(row.outputs, FLOAT).reshape(row.records, -1)[:, 0]
            before = np.frombuffer(row.before, FLOAT).reshape(row.held, -1)[:, 0]
            if row.picked is not None:
                before = before[json.loads(row.picked)]
            decisions = None
            if row.steps is not None:
                decisions = np.empty(row.records, np.int64)
                pairs = zip(
                    decode_column(row.episodes, row.records), decode_column(row.steps, row.records), strict=True
                )
                for at, (episode, step) in enumerate(pairs):
                    where = (row.run, row.decision_class, episode, step)
                    number += where != last
                    last, decisions[at] = where, number
            changes.add(before, new, row.decision_class, decisions)
        if not rows:
            return
        after = rows[-1].origin


def _check_query(query: Query) -> None:
    for name in ("after", "job", "id"):
        if getattr(query, name) is not None:
            raise LedgerError(f"what to re-score cannot be chosen by {name!r}.")


def _find_job(store: Store, cursor: Any, layout: RecordLayout, query: Query) -> tuple[int, str]:
    """Return the number and the digest of the re-scoring, entering it where it is new."""
    chosen = _encode_query(query)
    digest = digest_job(layout, chosen)
    found = cursor.execute(store.backend.render(_FIND_JOB), (digest,)).fetchone()
    if found is None:
        spec = store.writer.find_spec(cursor, layout)
        cursor.execute(store.backend.render(_ADD_JOB), (digest, spec, chosen, store.writer.now(), None))
        found = cursor.execute(store.backend.render(_FIND_JOB), (digest,)).fetchone()
        store.writer.chain_rows(cursor, "jobs", [_finish_job(store, cursor, int(found[0]), None)])
    return int(found[0]), digest


def _finish_job(store: Store, cursor: Any, number: int, now: int | None) -> tuple[Any, ...]:
    """Note when a re-scoring was finished, seal its row, and return what of it never changes."""
    row = tuple(cursor.execute(store.backend.render(_READ_JOB), (number,)).fetchone())
    cursor.execute(store.backend.render(_FINISH), (now, seal_row((*row, now)), number))
    return row


Carried = Mapping[int, Mapping[str, Any]]
"""Of each page, by its first record, the states that were computed anew for its records."""


def _carry(store: Store, layout: RecordLayout, replay: LedgerReplay | None, pages: Sequence[Page]) -> Carried | None:
    """Return what the reward carries into the records of `pages`; None where what is recorded will do."""
    if replay is None:
        return None

    def translate(source: RecordLayout, rows: Rows) -> dict[str, Any] | None:
        found = find_translation(store.specs, source, layout, replayed=True)
        if not isinstance(found, Translation):
            return None
        return found.take_measured(rows)

    with pages[0].report_damage():
        return replay.fill(pages, translate)


def _score_pages(
    store: Store,
    cursor: Any,
    layout: RecordLayout,
    job: tuple[int, str],
    pages: Sequence[Page],
    carried: Carried | None,
) -> int | None:
    """Score the pages that are not scored yet, and return how many records that were; None where they were merged."""
    span = (job[0], pages[0].row.first, pages[-1].row.first)
    there = dict(cursor.execute(store.backend.render(_THERE), span[1:]).fetchall())
    if any(there.get(page.row.first) != page.row.records for page in pages):
        return None
    done = {row[0] for row in cursor.execute(store.backend.render(_DONE), span).fetchall()}
    groups: dict[RecordLayout, list[Page]] = {}
    for page in pages:
        if page.row.first not in done:
            groups.setdefault(page.layout, []).append(page)
    made: list[Block] = []
    for source, group in groups.items():
        found = find_translation(store.specs, source, layout, replayed=carried is not None)
        if isinstance(found, Translation):
            with group[0].report_damage():
                made += _build_blocks(found, group, job, carried)
    made.sort(key=lambda block: block.origin or 0)
    store.writer.insert_blocks(cursor, made)
    return sum(block.count for block in made)


def _build_blocks(
    found: Translation, pages: Sequence[Page], job: tuple[int, str], carried: Carried | None
) -> Iterator[Block]:
    """Yield the new block of each page; all of them are scored at once."""
    positions = [page.positions() for page in pages]
    parts = [] if carried is None else [carried[page.row.first] for page in pages]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}
    rows = np.concatenate([p.inputs[at] for p, at in zip(pages, positions, strict=True)])
    inputs, outputs = found.score(rows, joined)
    start = 0
    for page, at in zip(pages, positions, strict=True):
        row, end = page.row, start + len(at)
        whole = page.chosen is None

        def kept(column: str | None, row: Any = row, at: Any = at, whole: bool = whole) -> str | None:
            if column is None or whole:
                return column
            listed = list(decode_column(column, row.records))
            return json.dumps([listed[position] for position in at.tolist()])

        yield Block(
            found.layout,
            "numpy",
            Scope(row.run, row.phase, row.decision_class, row.actor),
            len(at),
            row.earliest,
            row.latest,
            inputs[start:end].astype(FLOAT, copy=False).tobytes(),
            outputs[start:end].astype(FLOAT, copy=False).tobytes(),
            kept(row.times),
            None,
            kept(row.episodes),
            kept(row.steps),
            None,
            job,
            row.first,
            None if whole else json.dumps(at.tolist()),
        )
        start = end
