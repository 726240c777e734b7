"""Re-scoring a ledger's own records: the new scores are new records, tied to the old ones.

A source block becomes one new block, in a transaction that also says which it came from; what was done before is seen
there, so a re-scoring that was killed goes on where it stopped and scores nothing twice.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import bindparam, insert, select, update

from plaudit.errors import LedgerError, MissingField
from plaudit.ledger.blocks.block import Block, entries
from plaudit.ledger.blocks.shape import FLOAT, Shape
from plaudit.ledger.changes.changes import Changes
from plaudit.ledger.choice import Choice
from plaudit.ledger.history import History, Page
from plaudit.ledger.places.schema import blocks, jobs, scopes
from plaudit.ledger.record import Scope
from plaudit.ledger.rescoring.translate import Translation, translation
from plaudit.ledger.verification.tables import job_digest
from plaudit.reward.reward import Reward

if TYPE_CHECKING:
    from plaudit.ledger.store import Ledger

_TOGETHER = 32_768
"""Records to score and commit together."""

_FIND_JOB = select(jobs.c.id).where(jobs.c.digest == bindparam("wanted"))
_ADD_JOB = insert(jobs).values({name: bindparam(name) for name in ("digest", "spec", "filters", "started", "finished")})
_FINISH = update(jobs).values(finished=bindparam("now")).where(jobs.c.id == bindparam("number"))
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
        return f"{self.records:,} records of {self.reward}@{self.version} lack {', '.join(self.needed)}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a re-scoring would do."""

    records: int
    """Records that have every input."""
    lacking: tuple[Lacking, ...]


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
        return "\n".join([*lines, *map(str, self.lacking), "", str(self.changes)])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        lacking = [
            {"reward": e.reward, "version": e.version, "records": e.records, "needed": list(e.needed)}
            for e in self.lacking
        ]
        about = {"job": self.job, "reward": self.reward, "version": self.version, "scored": self.scored}
        counts = {"records": self.records, "refused": self.refused}
        return {**about, **counts, "lacking": lacking, "changes": self.changes.to_dict()}


def plan(ledger: "Ledger", reward: Reward, choice: Choice) -> Plan:
    """Return how many records could be scored with a reward, and which lack an input it needs."""
    _check(choice)
    history = History(ledger.place, ledger.shelf, choice)
    shape = ledger.shelf.shape(reward)
    lacking, ready = [], 0
    for source, count in history.counts():
        found = translation(ledger.shelf, source, shape)
        if isinstance(found, Translation):
            ready += count
        else:
            lacking.append(Lacking(source.reward.name, source.reward.version, count, found))
    return Plan(ready, tuple(lacking))


def rescore(
    ledger: "Ledger", reward: Reward, choice: Choice, progress: Callable[[int, int], None] | None = None
) -> Rescoring:
    """Score recorded inputs with `reward`; go on where an earlier call with the same reward and choice stopped."""
    planned = plan(ledger, reward, choice)
    if not planned.records:
        why = "; ".join(map(str, planned.lacking)) or "no record was chosen"
        raise MissingField(f"{ledger.place.name}: nothing can be scored with {reward.name}@{reward.version}: {why}.")
    shape = ledger.shelf.shape(reward)
    job = ledger.pen.transact(lambda cursor: _job(ledger, cursor, shape, choice))
    scored = done = 0
    for pages in History(ledger.place, ledger.shelf, choice).gathered(_TOGETHER):
        scored += ledger.pen.transact(lambda cursor, pages=pages: _score(ledger, cursor, shape, job, pages))  # type: ignore[misc]
        done += sum(len(page.positions()) for page in pages)
        if progress is not None:
            progress(min(done, planned.records), planned.records)
    ledger.pen.transact(lambda cursor: cursor.execute(ledger.place.text(_FINISH), (ledger.pen.now(), job[0])))
    result = Rescoring(job[0], reward.name, reward.version, scored, planned.lacking)
    compare(ledger, job[0], result.changes)
    return result


def _check(choice: Choice) -> None:
    for name in ("after", "job", "id"):
        if getattr(choice, name) is not None:
            raise LedgerError(f"what to re-score cannot be chosen by {name!r}.")


def _job(ledger: "Ledger", cursor: Any, shape: Shape, choice: Choice) -> tuple[int, str]:
    """Return the number and the digest of the re-scoring, entering it where it is new."""
    chosen = json.dumps(choice.to_dict(), sort_keys=True)
    digest = job_digest(shape, chosen)
    found = cursor.execute(ledger.place.text(_FIND_JOB), (digest,)).fetchone()
    if found is None:
        spec = ledger.pen.spec(cursor, shape)
        cursor.execute(ledger.place.text(_ADD_JOB), (digest, spec, chosen, ledger.pen.now(), None))
        found = cursor.execute(ledger.place.text(_FIND_JOB), (digest,)).fetchone()
    return int(found[0]), digest


def _score(ledger: "Ledger", cursor: Any, shape: Shape, job: tuple[int, str], pages: Sequence[Page]) -> int:
    """Score the pages that are not scored yet, and return how many records that were."""
    span = (job[0], pages[0].row.first, pages[-1].row.first)
    done = {row[0] for row in cursor.execute(ledger.place.text(_DONE), span).fetchall()}
    groups: dict[Shape, list[Page]] = {}
    for page in pages:
        if page.row.first not in done:
            groups.setdefault(page.shape, []).append(page)
    made: list[Block] = []
    for source, group in groups.items():
        found = translation(ledger.shelf, source, shape)
        if isinstance(found, Translation):
            made += _blocks(found, group, job)
    made.sort(key=lambda block: block.origin or 0)
    ledger.pen.write(cursor, made)
    return sum(block.count for block in made)


def _blocks(found: Translation, pages: Sequence[Page], job: tuple[int, str]) -> Iterator[Block]:
    """Yield the new block of each page; all of them are scored at once."""
    positions = [page.positions() for page in pages]
    inputs, outputs = found.score(np.concatenate([p.inputs[at] for p, at in zip(pages, positions, strict=True)]))
    start = 0
    for page, at in zip(pages, positions, strict=True):
        row, end = page.row, start + len(at)
        whole = page.chosen is None

        def kept(column: str | None, row: Any = row, at: Any = at, whole: bool = whole) -> str | None:
            if column is None or whole:
                return column
            listed = list(entries(column, row.records))
            return json.dumps([listed[position] for position in at.tolist()])

        yield Block(
            found.shape,
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


def compare(ledger: "Ledger", job: int, changes: Changes) -> None:
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
        with ledger.place.reading() as connection:
            rows = connection.execute(page).all()
        for row in rows:
            new = np.frombuffer(row.outputs, FLOAT).reshape(row.records, -1)[:, 0]
            before = np.frombuffer(row.before, FLOAT).reshape(row.held, -1)[:, 0]
            if row.picked is not None:
                before = before[json.loads(row.picked)]
            decisions = None
            if row.steps is not None:
                decisions = np.empty(row.records, np.int64)
                pairs = zip(entries(row.episodes, row.records), entries(row.steps, row.records), strict=True)
                for at, (episode, step) in enumerate(pairs):
                    where = (row.run, row.decision_class, episode, step)
                    number += where != last
                    last, decisions[at] = where, number
            changes.add(before, new, row.decision_class, decisions)
        if not rows:
            return
        after = rows[-1].origin
