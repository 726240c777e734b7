"""Re-scoring a ledger's own records: the new scores are new records, tied to the old ones.

A source block becomes one new block, in a transaction that also says which it came from; what was done before is seen
there, so a re-scoring that was killed goes on where it stopped and scores nothing twice.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import bindparam, func, insert, select, update

from plaudit.errors import BrokenEpisode, LedgerError, MissingField
from plaudit.ledger.backends.backend import report_damage, require_type
from plaudit.ledger.context import Scope, to_datetime
from plaudit.ledger.history import History
from plaudit.ledger.query import Query
from plaudit.ledger.record import Page
from plaudit.ledger.rescore.changes import Changes
from plaudit.ledger.rescore.comparison import compare_rounding, compare_totals
from plaudit.ledger.rescore.replay import LedgerReplay, needs_replay
from plaudit.ledger.rescore.translation import Carried, Translation, carry_states, find_translation, join_known
from plaudit.ledger.storage.chain import CHAINED, seal_row
from plaudit.ledger.storage.codec import (
    FLOAT,
    Block,
    RecordLayout,
    Rows,
    decode_column,
    digest_job,
    encode_contexts,
)
from plaudit.ledger.storage.computation import Computation
from plaudit.ledger.storage.episode_parts import find_masked
from plaudit.ledger.storage.recompute import get_recomputer
from plaudit.ledger.storage.schema import blocks, jobs, specs
from plaudit.ledger.storage.segment_rows import LOCATED
from plaudit.ledger.storage.sources import build_lookup, look_up
from plaudit.ledger.storage.store import Store
from plaudit.ledger.storage.texts import StoredText, add_texts
from plaudit.ledger.summary.episodes import CHOSEN_BY, find_unfinished
from plaudit.ledger.summary.listing import list_episodes
from plaudit.reward.reward import Reward
from plaudit.terminal import escape_controls, format_count

STOPPED = "stopped"
"""What the choice of a re-scoring says besides, where it holds what was read until another was stopped."""
AS_RECORDED = "as_recorded"
"""What the choice of a re-scoring says besides, where it is done as recorded."""
_BATCH = 32_768
"""Records to score and commit together."""
_FIND_JOB = select(jobs.c.id).where(jobs.c.digest == bindparam("wanted"))
_ADD_JOB = insert(jobs).values({name: bindparam(name) for name in ("digest", "spec", "filters", "started", "finished")})
_READ_JOB = select(*(jobs.c[name] for name in CHAINED["jobs"])).where(jobs.c.id == bindparam("number"))
_FINISH = (
    update(jobs).values(finished=bindparam("now"), seal=bindparam("sealed")).where(jobs.c.id == bindparam("number"))
)
_THERE = build_lookup(select(blocks.c.first, blocks.c.records), blocks.c.first)
_DONE = build_lookup(select(blocks.c.origin).where(blocks.c.job == bindparam("of")), blocks.c.origin)


class ReadAgain(NamedTuple):
    """What was read of the chosen records of a page another time: new inputs, and what their contexts say."""

    inputs: Rows
    contexts: Sequence[str | None]
    texts: Sequence[StoredText]
    """Texts that the contexts name and that are not in the ledger yet."""


class Reading(NamedTuple):
    """Where new inputs come from, if not from the old ones."""

    about: Mapping[str, Any]
    """What tells this way of reading from others: part of the identity of the job."""
    read: Callable[[int, Sequence[Page]], Sequence[ReadAgain]]
    """Called with the number of the job and pages, outside any transaction; returns what it read of each."""
    together: int
    """How many records are read at a time."""
    rescue: Callable[[], Sequence[tuple[Page, ReadAgain]]]
    """Called where reading was stopped; returns records of which something was read that must not be lost."""


@dataclass(frozen=True, slots=True)
class Lacking:
    """Records that a reward cannot score, because they were recorded without an input it needs."""

    reward: str
    version: str
    records: int
    needed: tuple[str, ...]

    def __str__(self) -> str:
        verb = "lacks" if self.records == 1 else "lack"
        count = format_count(self.records, "record")
        return escape_controls(f"{count} of {self.reward}@{self.version} {verb} {', '.join(self.needed)}")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a re-scoring would do: the result of `plan_rescore`."""

    records: int
    """Records with every input that the reward needs."""
    lacking: tuple[Lacking, ...]
    scored: int = 0
    """How many of them the same job has scored or refused already."""


@dataclass(slots=True)
class Rescoring:
    """The result of a re-scoring, and how totals changed."""

    job: int
    reward: str
    version: str
    scored: int
    """Records scored this time; those of an earlier, interrupted run are only in `changes`."""
    lacking: tuple[Lacking, ...]
    """Records without a new score, because they lack an input."""
    changes: Changes = field(default_factory=Changes)
    refused: int = 0
    """Records whose inputs the new reward refuses: out of range, or outside a function's domain."""

    @property
    def records(self) -> int:
        """Records with a new score, over all runs of this job."""
        return self.changes.records + self.changes.gained

    def __str__(self) -> str:
        lines = [f"job {self.job}: {self.records:,} records scored with {self.reward}@{self.version}"]
        if self.refused:
            lines.append(f"{self.refused:,} refused: their inputs are outside the declared ranges")
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

    def to_dict(self) -> dict[str, Any]:
        """Return the re-scoring as plain data for JSON."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        times = {name: plain[name] and plain[name].isoformat().replace("+00:00", "Z") for name in _TIMES}
        return {**plain, **times, "chosen": dict(self.chosen)}


_TIMES = ("started", "finished")


def plan_rescore(store: Store, reward: Reward, query: Query, *, as_recorded: bool = False) -> Plan:
    """Return how many records could be scored with a reward, and which lack an input it needs."""
    _check_query(query)
    history = History(store, query)
    layout = store.specs.get_layout(reward)
    counts = list(history.counts())
    ways = _find_ways(store, layout, [source for source, _ in counts])
    lacking = [
        Lacking(source.reward.name, source.reward.version, count, found)
        for (source, count), found in zip(counts, ways.values(), strict=True)
        if not isinstance(found, Translation)
    ]
    lacking += _find_lacking(history, ways, masked=True)
    ready = sum(count for _, count in counts) - sum(each.records for each in lacking)
    done = _count_scored(store, layout, _encode_query(query, as_recorded))
    return Plan(ready, tuple(lacking), min(ready, done))


def _find_ways(
    store: Store, layout: RecordLayout, sources: Sequence[RecordLayout]
) -> dict[RecordLayout, Translation | tuple[str, ...]]:
    """Return how the records of each of `sources` become records of `layout`, or what all of them lack."""
    replayed = needs_replay(layout.reward, sources)
    return {source: find_translation(store.specs, source, layout, replayed=replayed) for source in sources}


def _find_lacking(
    history: History, ways: Mapping[RecordLayout, Translation | tuple[str, ...]], *, masked: bool
) -> Iterator[Lacking]:
    """Yield how many records lack which inputs: their reward did not read them or, of those `masked`, could not."""
    known = {source: way for source, way in ways.items() if isinstance(way, Translation)}
    if not (masked and history.may_have_masked()):
        known = {source: way for source, way in known.items() if way.may_lack}
    counts: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    for page in history.pages() if known else ():
        found = known.get(page.layout)
        if found is None:
            continue
        with page.report_damage():
            gaps = found.find_lacking(page.inputs[page.positions()], join_known(found, None, [page]))
            if not masked:
                scored = ~np.isnan(page.outputs[page.positions(), 0])
                gaps = {name: rows & scored for name, rows in gaps.items()}
        reward, names = page.layout.reward, list(gaps)
        for row in np.stack(list(gaps.values()), axis=1).tolist() if gaps else ():
            needed = tuple(name for name, missing in zip(names, row, strict=True) if missing)
            if needed:
                counts[reward.name, reward.version, needed] += 1
    for (name, version, needed), count in counts.items():
        yield Lacking(name, version, count, needed)


def _count_scored(store: Store, layout: RecordLayout, chosen: str) -> int:
    """Return how many records the re-scoring with this reward and choice has gone through so far."""
    job = select(jobs.c.id).where(jobs.c.digest == digest_job(layout, chosen)).scalar_subquery()
    with store.backend.snapshot() as connection:
        return int(connection.execute(select(func.sum(blocks.c.records)).where(blocks.c.job == job)).scalar() or 0)


def _encode_query(query: Query, as_recorded: bool) -> str:
    return json.dumps({**query.to_dict(), **({AS_RECORDED: True} if as_recorded else {})}, sort_keys=True)


def rescore(
    store: Store,
    reward: Reward,
    query: Query,
    progress: Callable[[int, int], None] | None = None,
    *,
    as_recorded: bool = False,
    reading: Reading | None = None,
) -> Rescoring:
    """Score recorded inputs with `reward`; go on where an earlier call with the same reward and query stopped.

    `as_recorded`, what JAX or PyTorch scored is scored by them again, in their dtype; otherwise all of it in float64.
    With `reading`, inputs are read again from what else was recorded.
    """
    layout = store.specs.get_layout(reward)
    if reading is None:
        planned, replayed = _plan_from_inputs(store, reward, query, as_recorded)
        chosen = _encode_query(query, as_recorded)
    else:
        _check_query(query)
        planned, replayed = Plan(History(store, query).count(), ()), False
        chosen = json.dumps({**query.to_dict(), **reading.about}, sort_keys=True)
        if not planned.records:
            raise MissingField(f"{store.backend.name}: no records match.")
    job = store.writer.transact(lambda cursor: _find_job(store, cursor, layout, chosen))
    scored = 0
    merged = True
    while merged:  # begin again where blocks were merged meanwhile: what is scored is not scored again
        done, merged = 0, False
        replay = LedgerReplay(reward) if replayed else None
        for pages in History(store, query).read_batches(reading.together if reading else _BATCH, whole=True):
            carried = carry_states(store.specs, layout, replay, pages)
            try:
                again = None if reading is None else _read_again(store, reading, job[0], pages)
                count = store.writer.transact(
                    lambda cursor, pages=pages, carried=carried, again=again: _score_pages(  # type: ignore[misc]
                        store, cursor, layout, job, pages, carried, as_recorded, again
                    )
                )
            except BaseException:
                if reading is not None:
                    _keep_rescued(store, layout, chosen, job[0], reading.rescue())
                raise
            if count is None:
                merged = True
                break
            scored += count
            done += sum(len(page.positions()) for page in pages)
            if progress is not None:
                progress(min(done, planned.records), planned.records)
    store.writer.transact(lambda cursor: _finish_job(store, cursor, job[0], store.writer.now()))
    result = Rescoring(job[0], reward.name, reward.version, scored, planned.lacking)
    whole = Query(**{name: getattr(query, name) for name in CHOSEN_BY})
    result.changes.episodes.unfinished = find_unfinished(list_episodes(store, whole))
    with report_damage(store.backend.name, f"a row of job {job[0]}"):
        compare_totals(store, job[0], result.changes)
        if not as_recorded:
            compare_rounding(store, layout, job[0], result.changes.rounding)
    result.refused = max(0, planned.records - result.records)
    return result


def _plan_from_inputs(store: Store, reward: Reward, query: Query, as_recorded: bool) -> tuple[Plan, bool]:
    """Return what can be scored from recorded inputs, and whether states have to be followed from step to step."""
    planned = plan_rescore(store, reward, query, as_recorded=as_recorded)
    if not planned.records:
        why = "; ".join(map(str, planned.lacking)) or "no records match"
        raise MissingField(f"{store.backend.name}: nothing can be scored with {reward.name}@{reward.version}: {why}.")
    layout = store.specs.get_layout(reward)
    sources = [source for source, _ in History(store, query).counts()]
    replayed = needs_replay(reward, sources)
    if replayed:  # before anything is written
        LedgerReplay(reward).check(History(store, query).pages())
        for each in _find_lacking(History(store, query), _find_ways(store, layout, sources), masked=False):
            raise BrokenEpisode(
                f"{store.backend.name}: {each}. {reward.name}@{reward.version} carries state from step to step and "
                "needs all of them."
            )
    return planned, replayed


def _read_again(store: Store, reading: Reading, job: int, pages: Sequence[Page]) -> dict[int, ReadAgain]:
    """Return what is read of the pages that are not scored yet, by their first record."""
    with store.backend.snapshot() as connection:
        cursor = connection.connection.cursor()
        done = {row[0] for row in look_up(store.backend, cursor, _DONE, [page.row.first for page in pages], job)}
    left = [page for page in pages if page.row.first not in done]
    found = reading.read(job, left) if left else ()
    return {page.row.first: again for page, again in zip(left, found, strict=True)}


def _keep_rescued(
    store: Store, layout: RecordLayout, chosen: str, stopped: int, rescued: Sequence[tuple[Page, ReadAgain]]
) -> None:
    """Record what was read until a re-scoring was stopped as one of its own, in which the next one finds it."""

    def write(cursor: Any) -> None:
        store.backend.take_turn(cursor)  # nobody merges the blocks meanwhile
        there = dict(look_up(store.backend, cursor, _THERE, [page.row.first for page, _ in rescued]))
        left = [(page, again) for page, again in rescued if there.get(page.row.first) == page.row.records]
        for _, again in left:
            add_texts(store.backend, cursor, again.texts)
        store.writer.insert_blocks(cursor, [_build_read(layout, page, again, job) for page, again in left])

    if rescued:
        about = {**json.loads(chosen), STOPPED: {"job": stopped, "at": store.writer.now()}}
        job = store.writer.transact(lambda cursor: _find_job(store, cursor, layout, json.dumps(about, sort_keys=True)))
        store.writer.transact(write)


def list_new_contexts(
    store: Store, firsts: Sequence[int], wanted: Callable[[Mapping[str, Any]], bool]
) -> Iterator[tuple[int, Any]]:
    """Yield the numbers of records in the blocks that begin with `firsts`, with the context of each new record.

    New records are those of re-scorings whose choice is `wanted`, oldest first.
    """
    columns = (*LOCATED, blocks.c.contexts, blocks.c.origin, blocks.c.picked)
    with store.backend.snapshot() as connection, report_damage(store.backend.name, "a block of a re-scoring"):
        listed = connection.execute(select(jobs.c.id, jobs.c.filters).order_by(jobs.c.id))
        known = [row.id for row in listed if wanted(json.loads(row.filters))]
        found = select(*columns).where(blocks.c.job.in_(known), blocks.c.origin.in_(firsts)).order_by(blocks.c.first)
        for row in map(store.segments.hydrate, connection.execute(found) if known else ()):
            picked = range(row.records) if row.picked is None else json.loads(row.picked)
            for at, context in zip(picked, decode_column(row.contexts, row.records), strict=True):
                yield row.origin + at, context


def count_reasons(store: Store, job: int) -> Counter[str]:
    """Return why records of a re-scoring have no score, where it said so, and how many."""
    reasons = map(find_masked, list_job_contexts(store, job))
    return Counter(reason for reason in reasons if reason is not None)


def list_job_contexts(store: Store, job: int | None = None) -> Iterator[Any]:
    """Yield the context of every record of a re-scoring, or of all of them; also of those without a score."""
    which = blocks.c.job.is_not(None) if job is None else blocks.c.job == job
    statement = select(*LOCATED, blocks.c.contexts).where(which).order_by(blocks.c.first)
    with store.backend.snapshot() as connection, report_damage(store.backend.name, "a block of a re-scoring"):
        for row in map(store.segments.hydrate, connection.execute(statement)):
            yield from decode_column(row.contexts, row.records)


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


def _check_query(query: Query) -> None:
    for name in ("after", "job", "id"):
        if getattr(query, name) is not None:
            raise LedgerError(f"records to re-score cannot be chosen by {name!r}.")


def _find_job(store: Store, cursor: Any, layout: RecordLayout, chosen: str) -> tuple[int, str]:
    """Return the number and the digest of the re-scoring, entering it where it is new."""
    digest = digest_job(layout, chosen)
    found = cursor.execute(store.backend.render(_FIND_JOB), (digest,)).fetchone()
    if found is None:
        store.backend.take_turn(cursor)
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


def _score_pages(
    store: Store,
    cursor: Any,
    layout: RecordLayout,
    job: tuple[int, str],
    pages: Sequence[Page],
    carried: Carried | None,
    as_recorded: bool,
    again: Mapping[int, ReadAgain] | None,
) -> int | None:
    """Score the pages that are not scored yet, and return how many records that were; None where they were merged."""
    store.backend.take_turn(cursor)  # nobody merges the blocks meanwhile
    firsts = [page.row.first for page in pages]
    there = dict(look_up(store.backend, cursor, _THERE, firsts))
    if any(there.get(page.row.first) != page.row.records for page in pages):
        return None
    done = {row[0] for row in look_up(store.backend, cursor, _DONE, firsts, job[0])}
    groups: dict[tuple[RecordLayout, str], list[Page]] = {}
    for page in pages:
        if page.row.first not in done:
            groups.setdefault((page.layout, page.row.target), []).append(page)
    made: list[Block] = []
    if again is not None:
        left = [page for group in groups.values() for page in group if page.row.first in again]
        for page in left:
            add_texts(store.backend, cursor, again[page.row.first].texts)
            made.append(_build_read(layout, page, again[page.row.first], job))
        groups = {}
    for (source, target), group in groups.items():
        found = find_translation(store.specs, source, layout, replayed=carried is not None)
        if isinstance(found, Translation):
            with group[0].report_damage():
                computation = found.find_computation(target, as_recorded=as_recorded)
                made += _build_blocks(found, computation, group, job, carried)
    places = {first: at for at, first in enumerate(firsts)}
    made.sort(key=lambda block: places[block.origin or 0])
    with report_damage(store.backend.name, "a block that is being re-scored"):
        store.writer.insert_blocks(cursor, made)
    return sum(block.count for block in made)


def _build_read(layout: RecordLayout, page: Page, again: ReadAgain, job: tuple[int, str]) -> Block:
    """Return the new block of a page whose inputs were read again."""
    outputs = get_recomputer(layout).run_numpy(again.inputs)
    target = Computation("numpy", inputs=()).format(layout.scored.program)
    return _build_block(layout, target, page, again.inputs, outputs, job, encode_contexts(again.contexts))


def _build_blocks(
    found: Translation, computation: Computation, pages: Sequence[Page], job: tuple[int, str], carried: Carried | None
) -> Iterator[Block]:
    """Yield the new block of each page, all of them scored at once; a record that lacks an input has no new score."""
    positions = [page.positions() for page in pages]
    rows = np.concatenate([p.inputs[at] for p, at in zip(pages, positions, strict=True)])
    known = join_known(found, carried, pages)
    inputs, outputs = found.score(rows, computation, known)
    target = computation.format(found.layout.scored.program)
    start = 0
    for page, at in zip(pages, positions, strict=True):
        end = start + len(at)
        yield _build_block(found.layout, target, page, inputs[start:end], outputs[start:end], job, None)
        start = end


def _build_block(
    layout: RecordLayout,
    target: str,
    page: Page,
    inputs: Rows,
    outputs: Rows,
    job: tuple[int, str],
    contexts: str | None,
) -> Block:
    """Return the new block of the chosen records of a page."""
    row, at = page.row, page.positions()
    whole = len(at) == row.records
    scope = Scope(*(getattr(row, name) for name in Scope._fields))
    require_type(str, *scope[:4])

    def keep(column: str | None) -> str | None:
        if column is None or whole:
            return column
        listed = list(decode_column(column, row.records))
        return json.dumps([listed[position] for position in at.tolist()])

    return Block(
        layout,
        target,
        scope,
        len(at),
        row.earliest,
        row.latest,
        inputs.astype(FLOAT, copy=False).tobytes(),
        outputs.astype(FLOAT, copy=False).tobytes(),
        keep(row.times),
        None,
        keep(row.episodes),
        keep(row.steps),
        contexts,
        job,
        row.first,
        None if whole else json.dumps(at.tolist()),
    )
