"""Verification: every record recomputed from its stored reward and inputs, every checksum checked."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, func, select

from plaudit.errors import LedgerBroken, LedgerBusy, LedgerError
from plaudit.ledger.backends.backend import LARGEST_VALUE, UNREADABLE, TooLarge
from plaudit.ledger.context import Scope
from plaudit.ledger.heads import Head, TableHead, collect_heads, list_heads, read_head
from plaudit.ledger.storage.codec import RecordLayout, format_origin
from plaudit.ledger.storage.computation import LIBRARIES, parse_computation
from plaudit.ledger.storage.recompute import get_recomputer
from plaudit.ledger.storage.schema import blocks, jobs, scopes, writers
from plaudit.ledger.storage.segment_rows import HELD
from plaudit.ledger.storage.signing import SignatureChecker
from plaudit.ledger.storage.sizes import limit_size
from plaudit.ledger.storage.specs import list_specs, load_spec
from plaudit.ledger.storage.store import Store
from plaudit.ledger.storage.texts import find_changed, find_missing, list_named
from plaudit.ledger.storage.writer import describe_platform
from plaudit.ledger.verify.chains import BlockRow, WriterChain, open_chain
from plaudit.ledger.verify.keys import KeyCheck
from plaudit.ledger.verify.objects import NothingToCompare, find_changed_objects, find_wrong_types
from plaudit.ledger.verify.result import Verification
from plaudit.ledger.verify.segments import check_segments
from plaudit.ledger.verify.tables import check_derived, find_problems, find_unsigned

_ROWS = 32_768
"""Records to recompute at a time."""
_BLOCKS = 4096
"""Blocks to read at a time, at most."""
_BYTES = 16 << 20
_INPUTS = BlockRow._fields.index("inputs")
_EMPTY = re.compile(r"\[null(?:, ?null)*\]")
"""A column without an entry, which no ledger writes and which changes no record."""
_PAGE = (
    select(*map(limit_size, blocks.c))
    .where(blocks.c.first > bindparam("after"), blocks.c.first <= bindparam("to"))
    .order_by(blocks.c.first)
)
_PLACE = select(blocks.c.records, blocks.c.writer, blocks.c.seq).where(blocks.c.first == bindparam("first"))
_EXTENT = select(func.sum(blocks.c.records), func.max(blocks.c.first))
_NEXT = select(func.min(blocks.c.first)).where(blocks.c.first > bindparam("after"))
_WRITERS, _JOBS = select(writers), select(jobs)
_FIND_SCOPE = select(*(scopes.c[name] for name in Scope._fields)).where(scopes.c.id == bindparam("wanted"))


def verify(
    store: Store,
    heads: Any = (),
    checker: SignatureChecker | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verification:
    """Recompute every record of a ledger and check every checksum, in one view that later writes do not change.

    `heads` are ends of chains that were kept elsewhere; each must still occur. With `checker`, those that are stored
    must be signed, and signatures of those that were kept must be right.
    """
    backend = store.backend
    result = Verification(backend.name)
    kept = list(list_heads(heads))
    for text in backend.find_damage():
        result.add("damaged", None, text)
    try:
        with backend.snapshot() as connection:
            walk = _Walk(store, connection, result, *collect_heads(kept), progress)
            walk.run()
            result.head = read_head(connection).digest
            if checker is not None:
                for text in find_unsigned(connection, kept, checker):
                    result.add("unsigned", None, text)
    except LedgerError as error:
        if isinstance(error, LedgerBusy) or (result.ok and not isinstance(error, LedgerBroken)):
            raise
        result.add("damaged", None, str(error))  # of a table that is gone, say, nothing more can be read
    except UNREADABLE as error:
        if walk.reporting:  # the caller's own
            raise
        result.add("damaged", None, f"a row cannot be read: {type(error).__name__}: {error}")
    return result


class _Walk:
    """One pass over all blocks, in the order in which they were written."""

    def __init__(
        self,
        store: Store,
        connection: Connection,
        result: Verification,
        heads: Sequence[Head],
        table_heads: Sequence[tuple[str, TableHead]],
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.backend, self.segments = store.backend, store.segments
        self.connection = connection
        self.result = result
        self.progress = progress
        self.reporting = False
        self.unloaded = False
        """Whether there is a block with a value that is too large to be loaded."""
        self.here = describe_platform()
        self.heads = heads
        self.table_heads = table_heads
        self.layouts: dict[int, RecordLayout] = {}
        self.chains: dict[int, WriterChain] = {}
        self.jobs: dict[int, str] = {}
        self.next = 1
        self.keys = KeyCheck()
        self.cursor = connection.connection.cursor()
        self.common: dict[tuple[Any, ...], bytes] = {}
        self.waiting: dict[tuple[int, str, bool], list[tuple[int, int, bytes, bytes]]] = {}
        self.waiting_rows = 0
        self.targets: set[tuple[int, str]] = set()
        """What computed records of each reward, as far as it can be read."""

    def run(self) -> None:
        self._check_schema()
        self._read_small_tables()
        total, last = self.connection.execute(_EXTENT).one()
        for row in self._read_blocks(last or 0):
            try:
                self._check_block(BlockRow(*row))
            except (*UNREADABLE, MemoryError) as error:
                self.result.add("damaged", row[0], f"it cannot be read: {type(error).__name__}: {error}")
            if self.result.blocks % 4096 == 0:
                self._report(self.result.records, total)
        self._recompute()
        for text in (*check_segments(self.connection, self.backend), *find_changed(self.connection)):
            self.result.add("damaged", None, text)
        for record, text in self.keys.find_problems(self.connection):
            self.result.add("key", record, text)
        for chain in self.chains.values():
            for text in chain.find_problems():
                self.result.add("removed", None, text)
        for kind, text in find_problems(self.connection, self.layouts, self.table_heads):
            self.result.add(kind, None, text)
        if not self.unloaded:  # which it would be asked to load again
            self._check_derived()
        self._report(total or 0, total or 0)

    def _check_schema(self) -> None:
        try:
            for text in find_changed_objects(self.connection):
                self.result.add("edited", None, text)
        except NothingToCompare as error:
            self.result.not_compared = str(error)
        for text in find_wrong_types(self.connection):
            self.result.add("edited", None, text)

    def _check_derived(self) -> None:
        """Check what other tables say of blocks; of one that was changed itself, that is said already."""
        changed = {problem.id for problem in self.result.problems} - {None}
        for record, text in check_derived(self.connection, self.segments):
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
        for row in self.connection.execute(_WRITERS):
            self.chains[row.id] = open_chain(row, [head for head in self.heads if head.writer == row.id])
        for head in self.heads:
            if head.records and head.writer not in self.chains:
                self.result.add(
                    "removed", None, f"writer {head.writer} is not in the ledger, but a head of it was kept"
                )
        self.jobs = {row.id: row.digest for row in self.connection.execute(_JOBS)}
        self.result.writers = len(self.chains)

    def _read_blocks(self, last: int) -> Iterator[Sequence[Any]]:
        """Yield every block, reading so many at a time that memory stays flat."""
        statement = self.backend.render(_PAGE)
        cursor = self.connection.connection.cursor()
        after, span = -1, 64
        while after < last:
            try:
                with self.backend.translate_errors():
                    cursor.execute(statement, (after, after + span))
                    found = cursor.fetchall()
            except TooLarge:  # the others are read without its block
                if span == 1:
                    self._skip_block(after + 1)
                    after += 1
                span = max(1, span // 8)
                continue
            yield from found
            after += span
            size = sum(len(row[_INPUTS] or b"") + len(row[_INPUTS + 1] or b"") for row in found)
            if not found:
                following = self.connection.execute(_NEXT, {"after": after}).scalar()
                after = max(after, (following or last + 1) - 1)
            elif len(found) < _BLOCKS and size < _BYTES // 2:
                span *= 2
            elif len(found) > 2 * _BLOCKS or size > 2 * _BYTES:
                span = max(1, span // 4)

    def _skip_block(self, first: int) -> None:
        """Tell of a block that SQLite does not load, and go on behind it."""
        self.unloaded = True
        self.result.add(
            "damaged",
            first,
            f"one of its columns is larger than {LARGEST_VALUE >> 20} MiB, more than a ledger can hold",
        )
        with suppress(*UNREADABLE):
            count, writer, seq = self.connection.execute(_PLACE, {"first": first}).one()
            self.next = max(self.next, first + count)
            self.chains[writer].skip(seq, count, b"")

    def _check_block(self, block: BlockRow) -> None:
        first, count, writer, spec, target = block.first, block.records, block.writer, block.spec, block.target
        result = self.result
        result.blocks += 1
        result.records += count
        if first < self.next:
            result.add("removed", first, "its number belongs to another record")
        self.next = max(self.next, first + count)
        chain, layout = self.chains.get(writer), self.layouts.get(spec)
        if chain is None or layout is None:
            result.add("removed", first, f"its {'writer' if chain is None else 'reward'} is not in the ledger")
            return
        scope = block.scope
        common = self.common.get((writer, spec, target, scope)) or self._find_common(writer, spec, target, scope)
        if block.segment is not None:
            block, inputs, outputs = self._open_segment(block)
        else:
            inputs, outputs = block.inputs, block.outputs
        if block.contexts is not None:
            self._check_texts(first, block.contexts)
        if inputs is None or outputs is None or not layout.fits(inputs, outputs, count):
            result.add("damaged", first, f"it does not hold {count} rows of {layout.reward.name!r}")
            chain.skip(block.seq, count, block.head)
            return
        if (spec, target) not in self.targets:
            try:
                parse_computation(target, layout.scored.program)
            except LedgerError as error:
                result.add("damaged", first, str(error))
                chain.skip(block.seq, count, block.head)
                return
            self.targets.add((spec, target))
        if block.segment is None and (block.place, block.digest) != (None, None):
            result.add("edited", first, "it says where in a segment its records lie, and names no segment")
        columns = (block.keys, block.episodes, block.steps, block.contexts)
        if any(column is not None and _EMPTY.fullmatch(column) for column in columns):
            result.add("edited", first, "one of its columns has no value for any record: a ledger writes NULL there")
        problem = chain.follow(block, common, None if block.job is None else self.jobs.get(block.job, "missing"))
        if problem is not None:
            result.add(problem[0], first, problem[1])
        if block.keys is not None:
            self.keys.add(first, count, block.keys)
        here = chain.row.made_with == self.here
        self.waiting.setdefault((spec, target, here), []).append((first, count, inputs, outputs))
        self.waiting_rows += count
        if self.waiting_rows >= _ROWS:
            self._recompute()

    def _check_texts(self, first: int, contexts: str) -> None:
        """Tell of texts that contexts name and that were taken away without being forgotten."""
        for digest in find_missing(self.backend, self.cursor, list_named(contexts)):
            self.result.add("removed", first, f"the text {digest[:16]}… that it names is not in the ledger")

    def _open_segment(self, block: BlockRow) -> tuple[BlockRow, bytes | None, bytes | None]:
        """Return a block of a segment as its chain takes it, and its numbers; None where they cannot be read."""
        opened = self.segments.hydrate(block)
        try:
            if block.digest is None:  # `compact` moved it: its chain runs over what the database held
                block = block._replace(**{name: getattr(opened, name) for name in HELD})
            elif opened.compute_digest() != block.digest:
                name = self.segments.name_file(block)
                self.result.add("edited", block.first, f"{block.span} changed in the segment {name}")
            else:
                block = block._replace(contexts=opened.further_contexts)
            return block, opened.inputs, opened.outputs
        except LedgerBroken as error:
            self.result.add("damaged", block.first, f"{block.span} cannot be read: {error}")
            return block, None, None

    def _find_common(self, writer: int, spec: int, target: str, scope: int) -> bytes:
        if len(self.common) > 50_000:
            self.common.clear()
        row = self.cursor.execute(self.backend.render(_FIND_SCOPE), (scope,)).fetchone()
        shared = Scope("\0") if row is None else Scope(*row)  # which no record has: the checksum will be another
        made = self.common[writer, spec, target, scope] = format_origin(
            self.chains[writer].row.token, self.layouts[spec], target, shared
        )
        return made

    def _recompute(self) -> None:
        for (spec, target, here), group in self.waiting.items():
            layout = self.layouts[spec]
            again = get_recomputer(layout)
            count = sum(part[1] for part in group)
            rows = layout.decode_inputs(b"".join([part[2] for part in group]), count)
            stored = layout.decode_outputs(b"".join([part[3] for part in group]), count)
            computation = again.parse(target)
            if not computation.is_installed:
                self.result.not_recomputed[computation.target] += len(rows)
                continue
            if computation.target in LIBRARIES:
                self.result.compared_rounding += len(rows)
            elif again.exact or here:
                self.result.compared_bits += len(rows)
            else:
                self.result.compared_ulp += len(rows)
            for kind, wrong, text in (
                (
                    "differs",
                    again.find_different(rows, stored, target=target, here=here),
                    "recomputing gives different numbers",
                ),
                ("sum", again.find_wrong_sums(stored, target), "its values do not add up to its total"),
            ):
                if wrong.any():
                    numbers = np.concatenate([np.arange(part[0], part[0] + part[1]) for part in group])
                    for number in numbers[wrong].tolist():
                        self.result.add(kind, number, text)
        self.waiting.clear()
        self.waiting_rows = 0
