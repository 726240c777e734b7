"""Checks that the summaries of blocks, by which records are found and added up, follow from the blocks."""

from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from plaudit.ledger.storage.schema import blocks, summaries
from plaudit.ledger.storage.summaries import SUMMARIZED, is_unsummarized
from plaudit.ledger.storage.summary import Summary, summarize

_STREAMED = {"yield_per": 1000}
UNREADABLE = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError)
"""What reading a row raises that no ledger has written."""


def check_summaries(connection: Connection) -> Iterator[tuple[int | None, str]]:
    """Yield the first record of each block whose summary is another, and what that means; None for the whole table."""
    columns = [
        blocks.c.first,
        *(blocks.c[name] for name in SUMMARIZED),
        *(summaries.c[name] for name in Summary._fields),
    ]
    joined = blocks.outerjoin(summaries, summaries.c.first == blocks.c.first)
    statement = select(*columns).select_from(joined).where(~is_unsummarized()).order_by(blocks.c.first)
    counted = 0
    for first, *block in connection.execute(statement, execution_options=_STREAMED):
        counted += 1
        try:
            right = summarize(*block[: len(SUMMARIZED)]) == tuple(block[len(SUMMARIZED) :])
        except UNREADABLE:
            right = False
        if not right:
            yield first, "its summary is not what follows from it: searches may miss it, and sums be wrong"
    found = connection.execute(select(func.count()).select_from(summaries)).scalar_one()
    if found != counted:
        yield None, f"there are {found:,} summaries of {counted:,} blocks that have to have one"
