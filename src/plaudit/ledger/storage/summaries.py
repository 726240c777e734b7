"""Keeps the table of summaries: every block has one, but for the last few that were written one by one.

A single record is to cost one short statement, so its summary is written later, with those of others. All blocks up to
the last one that has a summary have one; those after it are looked at one by one.
"""

from typing import Any

from sqlalchemy import ColumnElement, bindparam, func, insert, literal_column, select

from plaudit.ledger.backends.backend import Backend
from plaudit.ledger.storage.schema import blocks, summaries
from plaudit.ledger.storage.summary import summarize

TAIL = 256
"""Blocks that a writer leaves without a summary, at most."""
SUMMARIZED = ("records", "earliest", "latest", "job", "episodes", "steps", "outputs")
"""The columns that `summarize` takes."""

_last = select(func.coalesce(func.max(summaries.c.first), literal_column("-1"))).scalar_subquery()
_READ = select(blocks.c.first, *(blocks.c[name] for name in SUMMARIZED)).where(blocks.c.first > _last)
_ADD = insert(summaries).values({column.name: bindparam(column.name) for column in summaries.columns})


def is_unsummarized() -> ColumnElement[bool]:
    """Return the condition that a block has no summary yet."""
    return blocks.c.first > _last


def add_summaries(backend: Backend, cursor: Any) -> None:
    """Write the summaries of all blocks that have none."""
    rows = cursor.execute(backend.render(_READ)).fetchall()
    cursor.executemany(backend.render(_ADD), [(first, *summarize(*block)) for first, *block in rows])
