"""Verification: every record recomputed from its stored reward and inputs, every checksum checked."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, func, select

from plaudit.errors import LedgerBroken, WrongType
from plaudit.ledger.backends.backend import Backend
from plaudit.ledger.context import Scope
from plaudit.ledger.stats import Head
from plaudit.ledger.storage.codec import (
    RecordLayout,
    compute_checksum,
    decode_column,
    digest_job,
    digest_scope,
    format_block,
    format_origin,
    start_chain,
)
from plaudit.ledger.storage.schema import blocks, jobs, keys, labels, powers, scopes, writers
from plaudit.ledger.storage.specs import list_specs, load_spec
from plaudit.ledger.storage.writer import describe_platform
from plaudit.ledger.verify.recompute import Recomputer
from plaudit.ledger.verify.summaries import UNREADABLE, check_summaries
from plaudit.terminal import format_count

_KEPT = 1000
"""Problems to keep in full; beyond that they are counted."""
_ROWS = 32_768
"""Records to recompute at a time."""
_BLOCKS = 4096
"""Blocks to read at a time, at most."""
_BYTES = 16 << 20
_PAGE = (
    select(blocks)
    .where(blocks.c.first > bindparam("after"), blocks.c.first <= bindparam("to"))
    .order_by(blocks.c.first)
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it was written."""

    kind: str
    """`edited`, `removed`, `differs`, `sum`, `reward`, `key` or `damaged`."""
    id: int | None
    """The record, or the first of the block, where that is known."""
    text: str


@dataclass(slots=True)
class Verification:
    """What a verification found; `ok` when nothing."""

    ledger: str
    records: int = 0
    blocks: int = 0
    writers: int = 0
    compared_bits: int = 0
    """Records that had to be equal in every bit."""
    compared_ulp: int = 0
    """Records of another machine whose reward uses functions that C libraries round differently."""
    found: int = 0
    problems: list[Problem] = field(default_factory=list)
    """The first of what was found."""

    @property
    def ok(self) -> bool:
        """Whether everything is as it was written."""
        return not self.found

    def add(self, kind: str, record: int | None, text: str) -> None:
        """Note a problem."""
        self.found += 1
        if len(self.problems) < _KEPT:
            self.problems.append(Problem(kind, record, text))

    def __str__(self) -> str:
        """Return the result for people."""
        numbers = {"record": self.records, "block": self.blocks, "writer": self.writers, "problem": self.found}
        counts = {name: format_count(count, name) for name, count in numbers.items()}
        what = f"{counts['record']} in {counts['block']} of {counts['writer']}"
        how = f"{self.compared_bits:,} compared bit for bit"
        if self.compared_ulp:
            how += f", {self.compared_ulp:,} of another machine within 4 units in the last place"
        lines = [f"{self.ledger}: {what}; {how}."]
        if self.ok:
            return f"{lines[0]}\nEverything is as it was written."
        lines.append(f"{counts['problem']}:")
        lines += [f"  {p.kind:8}{'' if p.id is None else f'record {p.id}: '}{p.text}" for p in self.problems[:20]]
        if self.found > 20:
            lines.append(f"  … and {self.found - 20:,} more")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        counts = ("records", "blocks", "writers", "compared_bits", "compared_ulp", "found")
        listed = [{"kind": p.kind, "id": p.id, "text": p.text} for p in self.problems]
        return {"ledger": self.ledger, "ok": self.ok, **{n: getattr(self, n) for n in counts}, "problems": listed}


def verify(
    backend: Backend, heads: Iterable[Head] = (), progress: Callable[[int, int], None] | None = None
) -> Verification:
    """Recompute every record of a ledger and check every checksum, in one view that later writes do not change.

    `heads` are ends of chains that were kept elsewhere; each must still occur.
    """
    result = Verification(backend.name)
    kept = [head if isinstance(head, Head) else Head.from_dict(head) for head in _as_list(heads)]
    for text in backend.find_damage():
        result.add("damaged", None, text)
    try:
        with backend.snapshot() as connection:
            walk = _Walk(backend, connection, result, kept, progress)
            walk.run()
    except LedgerBroken as error:
        result.add("damaged", None, str(error))
    except UNREADABLE as error:
        if walk.reporting:  # the caller's own
            raise
        result.add("damaged", None, f"a row cannot be read: {type(error).__name__}: {error}")
    return result


def _as_list(heads: Any) -> Iterable[Any]:
    if isinstance(heads, str | bytes | os.PathLike) or not isinstance(heads, Iterable):
        raise WrongType(
            f"heads={heads!r:.60} are what stats().heads gave: a list of heads, or of what their JSON holds."
        )
    return heads


@dataclass(slots=True)
class _Chain:
    """What is known of a writer, and how far its chain has been followed."""

    token: str
    made_with: str
    blocks: int
    records: int
    head: bytes
    last: bytes
    seen: int = 0
    counted: int = 0


class _Walk:
    """One pass over all blocks, in the order in which they were written."""

    def __init__(
        self,
        backend: Backend,
        connection: Connection,
        result: Verification,
        heads: Iterable[Head],
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.backend = backend
        self.connection = connection
        self.result = result
        self.progress = progress
        self.reporting = False
        self.here = describe_platform()
        self.kept = {bytes.fromhex(head.checksum): head for head in heads if head.records}
        self.layouts: dict[int, RecordLayout] = {}
        self.recomputers: dict[int, Recomputer] = {}
        self.chains: dict[int, _Chain] = {}
        self.jobs: dict[int, str] = {}
        self.keyed = 0
        self.common: dict[tuple[Any, ...], bytes] = {}
        self.waiting: dict[tuple[int, str, bool], list[tuple[int, int, bytes, bytes]]] = {}
        self.waiting_rows = 0

    def run(self) -> None:
        self._read_small_tables()
        total, last = self.connection.execute(select(func.sum(blocks.c.records), func.max(blocks.c.first))).one()
        for block in self._read_blocks(last or 0):
            try:
                self._check_block(block)
            except UNREADABLE as error:
                self.result.add("damaged", block[0], f"it cannot be read: {type(error).__name__}: {error}")
            if self.result.blocks % 4096 == 0:
                self._report(self.result.records, total)
        self._recompute()
        for chain in self.chains.values():
            if (chain.seen, chain.last, chain.counted) != (chain.blocks, chain.head, chain.records):
                gone = chain.blocks - chain.seen
                what = (
                    f"the last {gone} of them are missing" if gone > 0 else "its last checksum or its count is another"
                )
                self.result.add("removed", None, f"writer {chain.token[:8]} wrote {chain.blocks} blocks; {what}")
        for head in self.kept.values():
            text = f"what writer {head.writer} had written when its head was kept is not there as it was"
            self.result.add("removed", None, text)
        for kind, text in find_problems(self.connection, self.layouts, self.keyed):
            self.result.add(kind, None, text)
        self._check_summaries()
        self._report(total or 0, total or 0)

    def _check_summaries(self) -> None:
        """Check the summaries of blocks; of one that was changed itself, that is said already."""
        changed = {problem.id for problem in self.result.problems} - {None}
        for record, text in check_summaries(self.connection):
            if record not in changed:
                self.result.add("edited", record, text)

    def _report(self, done: int, total: int) -> None:
        if self.progress is not None and total:
            self.reporting = True
            self.progress(done, total)
            self.reporting = False

    def _read_small_tables(self) -> None:
        for row in list_specs(self.connection):
            try:
                self.layouts[row.id] = load_spec(self.backend, row)
            except LedgerBroken as error:
                self.result.add("reward", None, str(error))
        for row in self.connection.execute(select(writers)):
            start = start_chain(row.token, row.opened, row.host, row.process, row.made_with)
            self.chains[row.id] = _Chain(row.token, row.made_with, row.blocks, row.records, bytes(row.head), start)
        self.jobs = {row.id: row.digest for row in self.connection.execute(select(jobs))}
        self.result.writers = len(self.chains)

    def _read_blocks(self, last: int) -> Iterator[Sequence[Any]]:
        """Yield every block, reading so many at a time that memory stays flat."""
        statement = self.backend.render(_PAGE)
        cursor = self.connection.connection.cursor()
        after, span = -1, 64
        while after < last:
            cursor.execute(statement, (after, after + span))
            found = cursor.fetchall()
            yield from found
            after += span
            size = sum(len(row[-3]) + len(row[-2]) for row in found)
            if not found:
                following = self.connection.execute(select(func.min(blocks.c.first)).where(blocks.c.first > after))
                after = max(after, (following.scalar() or last + 1) - 1)
            elif len(found) < _BLOCKS and size < _BYTES // 2:
                span *= 2
            elif len(found) > 2 * _BLOCKS or size > 2 * _BYTES:
                span = max(1, span // 4)

    def _check_block(self, row: Sequence[Any]) -> None:
        (first, count, writer, seq, earliest, latest, spec, scope, target, job, origin) = row[:11]
        texts = tuple(row[11:17])
        inputs, outputs, checksum = bytes(row[17]), bytes(row[18]), bytes(row[19])
        result = self.result
        result.blocks += 1
        result.records += count
        chain, layout = self.chains.get(writer), self.layouts.get(spec)
        if chain is None or layout is None:
            result.add("removed", first, f"its {'writer' if chain is None else 'reward'} is not in the ledger")
            return
        common = self.common.get((writer, spec, target, scope)) or self._find_common(writer, spec, target, scope)
        digest = None if job is None else self.jobs.get(job, "missing")
        text = format_block((first, count, seq, earliest, latest, origin), (digest, *texts))
        if seq != chain.seen + 1:
            missing = seq - chain.seen - 1
            what = f"{missing} blocks before it are missing" if missing > 0 else "it stands where another block stood"
            result.add("removed", first, f"writer {chain.token[:8]}: {what}")
        elif compute_checksum(chain.last, common, text, inputs, outputs) != checksum or "None" in (origin, *texts):
            end = first + count - 1
            span = f"records {first} to {end}" if count > 1 else "it"
            result.add("edited", first, f"{span} changed after being written: the checksum is another")
        chain.seen, chain.last = seq, checksum
        if self.kept:
            self.kept.pop(checksum, None)
        chain.counted += count
        if not layout.fits(inputs, outputs, count):
            result.add("damaged", first, f"it does not hold {count} rows of {layout.reward.name!r}")
            return
        if texts[2] is not None:
            self._check_keys(first, count, texts[2])
        here = chain.made_with == self.here
        self.waiting.setdefault((spec, target, here), []).append((first, count, inputs, outputs))
        self.waiting_rows += count
        if self.waiting_rows >= _ROWS:
            self._recompute()

    def _find_common(self, writer: int, spec: int, target: str, scope: int) -> bytes:
        if len(self.common) > 50_000:
            self.common.clear()
        row = self.connection.execute(select(scopes).where(scopes.c.id == scope)).one_or_none()
        gone = Scope("\0")  # which no record has: the checksum will be another
        shared = gone if row is None else Scope(row.run, row.phase, row.decision_class, row.actor)
        made = self.common[writer, spec, target, scope] = format_origin(
            self.chains[writer].token, self.layouts[spec], target, shared
        )
        return made

    def _check_keys(self, first: int, count: int, column: str) -> None:
        """Check that keys still lead to their records."""
        wanted = {key: first + at for at, key in enumerate(decode_column(column, count)) if key is not None}
        self.keyed += len(wanted)
        found: dict[str, int] = {}
        names = list(wanted)
        for start in range(0, len(names), 500):
            part = select(keys.c.key, keys.c.record).where(keys.c.key.in_(names[start : start + 500]))
            found |= {row.key: row.record for row in self.connection.execute(part)}
        for key, record in wanted.items():
            if found.get(key) != record:
                self.result.add("key", record, f"its key {key!r} leads to {found.get(key, 'nothing')}")

    def _recompute(self) -> None:
        for (spec, target, here), group in self.waiting.items():
            layout = self.layouts[spec]
            again = self.recomputers.setdefault(spec, Recomputer(layout))
            count = sum(part[1] for part in group)
            rows = layout.decode_inputs(b"".join([part[2] for part in group]), count)
            stored = layout.decode_outputs(b"".join([part[3] for part in group]), count)
            if again.exact or here:
                self.result.compared_bits += len(rows)
            else:
                self.result.compared_ulp += len(rows)
            for kind, wrong, text in (
                (
                    "differs",
                    again.find_different(rows, stored, target=target, here=here),
                    "recomputing gives other numbers",
                ),
                ("sum", again.find_wrong_sums(stored), "its values do not add up to its total"),
            ):
                if wrong.any():
                    numbers = np.concatenate([np.arange(part[0], part[0] + part[1]) for part in group])
                    for number in numbers[wrong].tolist():
                        self.result.add(kind, number, text)
        self.waiting.clear()
        self.waiting_rows = 0


def find_problems(connection: Connection, layouts: Mapping[int, RecordLayout], keyed: int) -> Iterator[tuple[str, str]]:
    """Yield kind and text of what is wrong with the small tables; `keyed` is how many records have keys."""
    yield from _check_labels(connection, layouts)
    yield from _check_scopes(connection)
    yield from _check_jobs(connection, layouts)
    found = connection.execute(select(func.count()).select_from(keys)).scalar_one()
    if found != keyed:
        yield "key", f"{found:,} keys are kept, and {keyed:,} records have one"
    if [(row.exponent, row.value) for row in connection.execute(select(powers).order_by(powers.c.exponent))] != [
        (exponent, 2.0 ** (max(exponent, 1) - 1075)) for exponent in range(2047)
    ]:
        yield "edited", "the powers of two, with which `readable` shows numbers, are not what they were"


def _check_labels(connection: Connection, layouts: Mapping[int, RecordLayout]) -> Iterator[tuple[str, str]]:
    tied = {(row.name, row.version): row.fingerprint for row in connection.execute(select(labels))}
    wanted = {layout.identity[:2]: layout.identity[3] for layout in layouts.values()}
    for label in tied.keys() | wanted.keys():
        if tied.get(label) != wanted.get(label):
            yield "reward", f"the label {'@'.join(label)} is not tied to the formula that it was recorded with"


def _check_scopes(connection: Connection) -> Iterator[tuple[str, str]]:
    for row in connection.execute(select(scopes)):
        if digest_scope(Scope(row.run, row.phase, row.decision_class, row.actor)) != row.digest:
            yield "edited", f"scope {row.id} (run, phase, decision class, actor) is not what it was"


def _check_jobs(connection: Connection, layouts: Mapping[int, RecordLayout]) -> Iterator[tuple[str, str]]:
    for row in connection.execute(select(jobs)):
        layout = layouts.get(row.spec)
        if layout is None or digest_job(layout, row.filters) != row.digest:
            yield "edited", f"re-scoring {row.id} is not what it was: its reward or its choice of records is another"
