"""What each block has of each episode, so that episodes are listed without opening blocks."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from plaudit.ledger.storage.episode_parts import EpisodePart, summarize_episodes

revision = "0004"
down_revision = "0003"

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_KINDS: dict[str, Any] = {"episode": sa.Text, "ended": sa.Text, "total": sa.Double, "terms": sa.LargeBinary}
_BLOCKS = 100
"""Blocks to read at a time."""


def upgrade() -> None:
    """Create the table, and enter every block that is there."""
    parts = op.create_table(
        "episode_parts",
        sa.Column("first", NUMBER, sa.ForeignKey("blocks.first"), primary_key=True, autoincrement=False),
        sa.Column("position", NUMBER, primary_key=True, autoincrement=False),
        *(
            sa.Column(name, _KINDS.get(name, NUMBER), nullable=name in ("step_low", "step_high", "ended"))
            for name in EpisodePart._fields[1:]
        ),
    )
    _enter_blocks(op.get_bind(), parts)


def _enter_blocks(connection: sa.Connection, parts: sa.Table) -> None:
    names = ("records", "earliest", "job", "times", "episodes", "steps", "contexts", "outputs")
    blocks = sa.table("blocks", sa.column("first"), *map(sa.column, names))
    page = sa.select(blocks).where(blocks.c.records > 1, blocks.c.episodes.is_not(None))
    after = -1
    while rows := connection.execute(page.where(blocks.c.first > after).order_by(blocks.c.first).limit(_BLOCKS)).all():
        made = [{"first": row.first, **part._asdict()} for row in rows for part in summarize_episodes(*row[1:])]
        if made:
            connection.execute(sa.insert(parts), made)
        after = rows[-1].first
