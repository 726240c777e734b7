"""What is wrong with the tables beside the blocks: rewards, labels, scopes, re-scorings, imports, what is derived."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from plaudit.errors import LedgerBroken
from plaudit.ledger.backends.backend import UNREADABLE, read_bytes
from plaudit.ledger.context import Scope
from plaudit.ledger.heads import Head, LedgerHead, TableHead
from plaudit.ledger.storage.chain import CHAINED, EMPTY, close_chain, extend_rows, seal_row
from plaudit.ledger.storage.codec import RecordLayout, digest_job, digest_scope
from plaudit.ledger.storage.episode_parts import summarize_episodes
from plaudit.ledger.storage.schema import (
    blocks,
    jobs,
    labels,
    metadata,
    scopes,
    summaries,
    table_heads,
    writers,
)
from plaudit.ledger.storage.segment_rows import SegmentReader
from plaudit.ledger.storage.signing import SignatureChecker, format_ledger_end, format_table_end, format_writer_end
from plaudit.ledger.storage.sizes import limit_size
from plaudit.ledger.storage.summary import summarize

_SUMMARIZED = ("records", "earliest", "latest", "job", "episodes", "steps", "outputs")
_SPLIT = ("records", "earliest", "job", "times", "episodes", "steps", "contexts", "outputs")
_STREAMED = {"yield_per": 100}

# Made once: to make a statement takes longer than to run it on a small ledger.
_LABELS, _SCOPES, _JOBS = select(labels), select(scopes), select(jobs)
_CHAINED = {
    name: select(*(metadata.tables[name].c[column] for column in columns)).order_by(metadata.tables[name].c[columns[0]])
    for name, columns in CHAINED.items()
}
_CHAINS = select(table_heads.c.name)
_TABLE_HEAD = select(table_heads).where(table_heads.c.name == bindparam("wanted"))
_SUMMARIES = select(func.count()).select_from(summaries)
_COLUMNS = tuple(dict.fromkeys((*_SUMMARIZED, *_SPLIT)))
_OF_BLOCK = (*_COLUMNS, "first", "spec", "target", "segment", "place", "digest")
_DERIVED = (
    select(*(limit_size(blocks.c[name]) for name in _OF_BLOCK), *map(limit_size, summaries.c))
    .select_from(blocks.outerjoin(summaries, summaries.c.first == blocks.c.first))
    .order_by(blocks.c.first)
)

Kept = Sequence[tuple[str, TableHead]]


def find_problems(connection: Connection, layouts: Mapping[int, RecordLayout], kept: Kept) -> Iterator[tuple[str, str]]:
    """Yield kind and text; `kept` are heads of tables kept elsewhere."""
    yield from _check_labels(connection, layouts)
    yield from _check_scopes(connection)
    yield from _check_jobs(connection, layouts)
    for name in CHAINED:
        yield from _check_rows(connection, name, [head for of, head in kept if of == name])
    for name in connection.execute(_CHAINS).scalars():
        if name not in CHAINED:
            yield "edited", f"a head is stored for {name!r:.60}, which is not a chained table"


def _check_labels(connection: Connection, layouts: Mapping[int, RecordLayout]) -> Iterator[tuple[str, str]]:
    tied = {(row.name, row.version): row.fingerprint for row in connection.execute(_LABELS)}
    wanted = {layout.identity[:2]: layout.identity[3] for layout in layouts.values()}
    for label in tied.keys() | wanted.keys():
        if tied.get(label) != wanted.get(label):
            yield "reward", f"the label {'@'.join(label)} is not tied to the formula that it was recorded with"


def _check_scopes(connection: Connection) -> Iterator[tuple[str, str]]:
    for row in connection.execute(_SCOPES):
        if digest_scope(Scope(*(getattr(row, name) for name in Scope._fields))) != row.digest:
            yield "edited", f"scope {row.id} (run, phase, decision class, actor, sample rate) was changed"


def _check_jobs(connection: Connection, layouts: Mapping[int, RecordLayout]) -> Iterator[tuple[str, str]]:
    for row in connection.execute(_JOBS):
        layout = layouts.get(row.spec)
        if layout is None or digest_job(layout, row.filters) != row.digest:
            yield "edited", f"re-scoring {row.id} was changed: its reward or its selection of records does not match"
            continue
        content = [row._mapping[name] for name in (*CHAINED["jobs"], "finished")]
        if row.seal is None or read_bytes(row.seal) != seal_row(content):
            yield "edited", f"re-scoring {row.id} was changed: its start or end time does not match"


def _check_rows(connection: Connection, name: str, kept: Sequence[TableHead]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the chain of a small table, and which kept heads it does not come to."""
    wanted: dict[int, set[str]] = {}
    for each in kept:
        wanted.setdefault(each.rows, set()).add(each.checksum)
    head, count = EMPTY, 0
    for row in connection.execute(_CHAINED[name]):
        if wanted:
            wanted.get(count, set()).discard(head.hex())
        head, count = extend_rows(head, [tuple(row)]), count + 1
    wanted.get(count, set()).discard(head.hex())
    said = connection.execute(_TABLE_HEAD, {"wanted": name}).one_or_none()
    rows, end = (0, b"") if said is None else (said.rows, read_bytes(said.head))
    if rows != count:
        yield "removed", f"{rows} rows were written to {name!r}, but {count} are there"
    elif end != head:
        yield "reward" if name == "specs" else "edited", f"a row of {name!r} was changed"
    if any(wanted.values()):
        yield "removed", f"rows that {name!r} held when the head of the ledger was kept are missing or changed"


def check_derived(connection: Connection, reader: SegmentReader) -> Iterator[tuple[int | None, str]]:
    """Yield the first record of each block of which another table says what does not follow from it; None for all."""
    counted = 0
    with connection.execute(_DERIVED, execution_options=_STREAMED) as rows:
        for row in rows:
            counted += 1
            _, *summary, telling, parts = row[len(_OF_BLOCK) :]
            follows = _find_following(reader.hydrate(row))
            if follows[: len(summary)] != tuple(summary):
                yield row.first, "its summary does not match its records: searches may miss it, and sums may be wrong"
            if follows[len(summary) :] != (telling, parts):
                yield row.first, "its episode sums do not match its records: listings of its episodes are wrong"
    found = connection.execute(_SUMMARIES).scalar_one()
    if found != counted:
        yield None, f"there are {found:,} summaries of {counted:,} blocks"


def _find_following(row: Any) -> tuple[Any, ...]:
    """Return what follows from a block: nothing from one that cannot be read."""
    try:
        if row.digest is not None:
            return tuple(row.summarize())
        own = {name: getattr(row, name) for name in _COLUMNS}
        return *summarize(*(own[name] for name in _SUMMARIZED)), *summarize_episodes(*(own[name] for name in _SPLIT))
    except (*UNREADABLE, LedgerBroken):
        return ()


def find_unsigned(
    connection: Connection, kept: Sequence[Head | LedgerHead], checker: SignatureChecker
) -> Iterator[str]:
    """Yield which heads are not signed with the key that they should be signed with, and which kept ones wrongly."""
    for head in kept:
        if not isinstance(head, LedgerHead) or head.signature is None:
            continue
        if not checker.accepts(head.signature, format_ledger_end(head.digest)):
            yield f"the kept head of {head.records:,} records {_describe_signature(head.signature)}"
    for row in connection.execute(select(writers)):
        end = format_writer_end(close_chain(row.token, row.records, read_bytes(row.head)))
        if row.records and not _is_signed(checker, row.signature, end):
            yield f"writer {row.token[:8]}: its head {_describe_signature(row.signature)}"
    for row in connection.execute(select(table_heads)):
        end = format_table_end(row.name, row.rows, read_bytes(row.head))
        if row.rows and not _is_signed(checker, row.signature, end):
            yield f"the head of {row.name!r} {_describe_signature(row.signature)}"


def _is_signed(checker: SignatureChecker, signature: object, end: bytes) -> bool:
    return isinstance(signature, bytes | memoryview) and checker.accepts(bytes(signature), end)


def _describe_signature(signature: object) -> str:
    return "is not signed" if signature is None else "has a signature by another key or for another head"
