"""Whether the Parquet files of a ledger are there, and are the bytes that were written."""

from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from plaudit.ledger.backends.backend import Backend, read_bytes
from plaudit.ledger.storage.schema import blocks, segments

_HOLDS = (
    select(
        *segments.c,
        func.min(blocks.c.first).label("low"),
        func.max(blocks.c.first + blocks.c.records - 1).label("high"),
    )
    .outerjoin(blocks, blocks.c.segment == segments.c.id)
    .group_by(segments.c.id)
    .order_by(segments.c.id)
)


def check_segments(connection: Connection, backend: Backend) -> Iterator[str]:
    """Yield what is wrong with each file, and which records it holds."""
    for row in connection.execute(_HOLDS):
        path, records, size, low, high = row.path, row.records, row.size, row.low, row.high
        holds = f"it holds {records:,} records, from {low} to {high}"
        if backend.segments is None:
            yield f"the segment {path} cannot be read without pyarrow (pip install 'plaudit[data]'); {holds}"
            continue
        try:
            found, digest = backend.segments.hash_file(path)
        except OSError as error:
            name = backend.segments.name_file(path)
            reason = "is gone" if isinstance(error, FileNotFoundError) else f"cannot be read ({error})"
            yield f"the segment {name} {reason}; {holds}"
            continue
        if digest != read_bytes(row.sha256):
            name = backend.segments.name_file(path)
            changed = "has other bytes" if found == size else f"has {found:,} bytes instead of {size:,}"
            yield f"the segment {name} {changed}: it was changed after being written; {holds}"
