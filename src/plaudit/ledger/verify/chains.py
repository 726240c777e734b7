"""Following the chain of a writer, block after block, through the records that are there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from plaudit.ledger.backends.backend import read_bytes
from plaudit.ledger.heads import Head
from plaudit.ledger.storage.chain import (
    RecordChain,
    close_chain,
    encode_moments,
    split_column,
    start_chain,
)
from plaudit.ledger.storage.codec import format_job


class BlockRow(NamedTuple):
    """A row of `blocks`, as it was read."""

    first: int
    records: int
    writer: int
    seq: int
    earliest: int
    latest: int
    spec: int
    scope: int
    target: str
    job: int | None
    origin: int | None
    picked: str | None
    times: str | None
    keys: str | None
    episodes: str | None
    steps: str | None
    contexts: str | None
    inputs: bytes
    outputs: bytes
    segment: int | None
    place: int | None
    digest: bytes | None
    head: bytes

    @property
    def span(self) -> str:
        """What errors call its records."""
        return f"records {self.first} to {self.first + self.records - 1}" if self.records > 1 else "it"


@dataclass(slots=True)
class WriterChain:
    """What a writer's row says, and how far its chain over records has been followed, whatever blocks they lie in."""

    row: Any
    last: bytes
    """The head of the last block that was seen."""
    kept: dict[int, list[Head]]
    """Heads that were kept elsewhere and have not been met yet, by how many records they cover."""
    chain: RecordChain | None
    """None where something was not as it was written; what follows is told again from where the stream begins anew."""
    counted: int = 0

    def follow(self, block: BlockRow, common: bytes, job: str | None) -> tuple[str, str] | None:
        """Take in the next block; return kind and text of what is wrong with it."""
        problem = None
        moments = None
        if job is not None:
            times = block.earliest, block.latest, block.times
            common, moments = common + format_job(job, block.origin, block.picked, times), b""
        if block.seq != self.counted + 1:
            missing = block.seq - self.counted - 1
            what = f"{missing} records before it are missing" if missing > 0 else "it is in the place of another block"
            problem = "removed", f"writer {self.row.token[:8]}: {what}"
            self.chain = None
        if self.chain is not None:
            if self.kept and block.digest is None:
                self._meet_inside(block, common, moments)
            odd = job is None and (block.origin, block.picked) != (None, None)
            if not _fits(self.chain, block, common, moments) or odd:
                problem = "edited", f"{block.span} changed after being written: the checksum does not match"
                self.chain = None
        if self.chain is None:
            fresh = RecordChain(self.last, block.seq - 1)
            self.chain = fresh if _fits(fresh, block, common, moments) else None
        self.last = block.head
        self.counted = block.seq - 1 + block.records
        if self.kept:
            self._meet(self.counted, block.head)
        return problem

    def skip(self, seq: int, records: int, head: bytes) -> None:
        """Pass over a block that cannot be read."""
        self.chain, self.last = None, head
        self.counted = seq - 1 + records

    def _meet_inside(self, block: BlockRow, common: bytes, moments: bytes | None) -> None:
        """Check the heads that were kept when the writer had written a part of what is one block now."""
        assert self.chain is not None
        for records in [records for records in self.kept if block.seq <= records < block.seq - 1 + block.records]:
            count = records - block.seq + 1
            part = take_first(block, count)
            known = encode_moments(block, block.records)[: 8 * count] if moments is None else moments
            self._meet(records, self.chain.copy().extend(common, block.first, count, part, known))

    def find_problems(self) -> Iterator[str]:
        """Yield what is wrong with the end of the chain, when every block was seen."""
        row = self.row
        wrote, missing = f"writer {row.token[:8]} wrote {row.records} records", int(row.records) - self.counted
        if missing > 0:
            yield f"{wrote}; the last {missing} of them are missing"
        elif missing < 0 or self.last != read_bytes(row.head):
            yield f"{wrote}; its last checksum or its count does not match"
        elif row.closing is None or read_bytes(row.closing) != close_chain(row.token, row.records, self.last):
            yield f"writer {row.token[:8]} has an earlier head: the records written after it are missing"
        for heads in self.kept.values():
            for head in heads:
                yield f"records that writer {head.writer} had written when its head was kept are missing or changed"

    def _meet(self, records: int, head: bytes) -> None:
        """Cross off the heads that were kept when the writer had written so many records."""
        left = [each for each in self.kept.pop(records, ()) if each.checksum != head.hex()]
        if left:
            self.kept[-records] = left  # which no chain comes to


def open_chain(row: Any, heads: Sequence[Head]) -> WriterChain:
    """Return the chain of a row of `writers`, not followed yet, with the heads of it that were kept elsewhere."""
    start = start_chain(row.token, row.opened, row.host, row.process, row.made_with)
    kept: dict[int, list[Head]] = {}
    for head in heads:
        if head.records:
            kept.setdefault(head.records, []).append(head)
    return WriterChain(row, start, kept, RecordChain(start))


def take_first(block: BlockRow, count: int) -> BlockRow:
    """Return the first so many records of a block."""

    def take(column: str | None, separator: str = ", ") -> str:
        entries = split_column(column, block.records, separator)[:count]
        return f"[{separator.join('null' if entry is None else entry for entry in entries)}]"

    return block._replace(
        records=count,
        keys=take(block.keys),
        episodes=take(block.episodes),
        steps=take(block.steps),
        contexts=take(block.contexts, ","),
        inputs=block.inputs[: count * len(block.inputs) // block.records],
        outputs=block.outputs[: count * len(block.outputs) // block.records],
    )


def _fits(chain: RecordChain, block: BlockRow, common: bytes, moments: bytes | None) -> bool:
    if block.digest is not None:
        return chain.extend_digest(common, block.first, block.records, read_bytes(block.digest)) == block.head
    try:
        return chain.extend(common, block.first, block.records, block, moments) == block.head
    except ValueError:
        return False
