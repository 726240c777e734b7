"""A summary of each block, so that every choice of records is answered by an index and means without opening blocks."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from plaudit.ledger.storage.migrations.versions import second_0002
from plaudit.ledger.storage.summary import Summary, summarize

revision = "0003"
down_revision = "0002"

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_BLOCKS = 1000
"""Summaries to write at a time."""


def upgrade() -> None:
    """Create the table, enter every block that is there, and index what choices ask for."""
    kinds = {name: sa.Double if name in ("total", "low", "high") else NUMBER for name in Summary._fields}
    summaries = op.create_table(
        "summaries",
        sa.Column("first", NUMBER, sa.ForeignKey("blocks.first"), primary_key=True, autoincrement=False),
        *(sa.Column(name, kind, nullable=name != "time_fork") for name, kind in kinds.items()),
    )
    _enter_blocks(op.get_bind(), summaries)
    for name in ("time_fork", "step_fork", "episode_fork"):
        op.create_index(f"ix_summaries_{name}", "summaries", [name])
    op.create_index("ix_scopes_phase", "scopes", ["phase"])
    op.create_index("ix_scopes_actor", "scopes", ["actor"])
    op.create_index("blocks_by_spec", "blocks", ["spec", "first"])
    _append_summaries()


def _enter_blocks(connection: sa.Connection, summaries: sa.Table) -> None:
    names = ("records", "earliest", "latest", "job", "episodes", "steps", "outputs")
    blocks = sa.table("blocks", sa.column("first"), *map(sa.column, names))
    after: int | None = None
    while True:
        page = sa.select(blocks).order_by(blocks.c.first).limit(_BLOCKS)
        rows = connection.execute(page if after is None else page.where(blocks.c.first > after)).all()
        if not rows:
            return
        made: list[dict[str, Any]] = [{"first": row.first, **summarize(*row[1:])._asdict()} for row in rows]
        connection.execute(sa.insert(summaries), made)
        after = rows[-1].first


def _append_summaries() -> None:
    """Let the statement that adds a block and moves its writer's head add the summary too."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    dropped = ("DROP TRIGGER append",) if sqlite else ("DROP TRIGGER append ON appended", "DROP FUNCTION append_block")
    for statement in (*dropped, "DROP VIEW appended", VIEW, *((SQLITE_APPEND,) if sqlite else _POSTGRESQL_APPEND)):
        op.get_bind().exec_driver_sql(statement)


VIEW = f"""
CREATE VIEW appended AS
SELECT {", ".join(f"b.{name}" for name in second_0002._COLUMNS)}, w.closing, w.signature,
    {", ".join(f"s.{name}" for name in Summary._fields)}
FROM blocks AS b JOIN writers AS w ON w.id = b.writer JOIN summaries AS s ON s.first = b.first
"""

_SUMMARIZE = f"""
    INSERT INTO summaries (first, {", ".join(Summary._fields)})
    VALUES (NEW.first, {", ".join(f"NEW.{name}" for name in Summary._fields)})"""

SQLITE_APPEND = second_0002._SQLITE_APPEND.replace("END\n", f"    {_SUMMARIZE.strip()};\nEND\n")
APPEND_SOURCE = second_0002.APPEND_SOURCE.replace("    RETURN NEW;", f"    {_SUMMARIZE.strip()};\n    RETURN NEW;")
_POSTGRESQL_APPEND = (
    f"CREATE FUNCTION append_block() RETURNS trigger LANGUAGE plpgsql AS $${APPEND_SOURCE}$$",
    second_0002._POSTGRESQL_APPEND[1],
)
