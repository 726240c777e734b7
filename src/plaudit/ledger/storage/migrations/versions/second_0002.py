"""Chains over records and over the rows of small tables; records that do not recompute are kept apart."""

import sqlalchemy as sa
from alembic import op

from plaudit.ledger.storage.chain import BY_BLOCK, CHAINED, EMPTY, close_chain, extend_rows, seal_row

revision = "0002"
down_revision = "0001"

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Change tables, each part by itself."""
    _index_writers()
    _keep_apart()
    _chain_records()
    _chain_rows()


# -- chains over records ---------------------------------------------------------------------------------------------


def _chain_records() -> None:
    """Say of each writer how its chain runs; those that are there keep theirs. A block and the head move together."""
    sqlite = op.get_bind().dialect.name == "sqlite"
    execute = op.get_bind().exec_driver_sql
    for statement in ("DROP TRIGGER head",) if sqlite else ("DROP TRIGGER head ON blocks", "DROP FUNCTION move_head"):
        execute(statement)
    execute("ALTER TABLE blocks RENAME COLUMN checksum TO head")  # which also keeps an older plaudit from writing
    op.add_column("writers", sa.Column("scheme", NUMBER, nullable=False, server_default=str(BY_BLOCK)))
    op.add_column("writers", sa.Column("closing", sa.LargeBinary))
    op.add_column("writers", sa.Column("signature", sa.LargeBinary))
    writers = sa.table("writers", *map(sa.column, ("id", "token", "records", "head", "closing")))
    for row in op.get_bind().execute(sa.select(writers)).all():
        closing = close_chain(row.token, row.records, bytes(row.head))
        op.get_bind().execute(sa.update(writers).where(writers.c.id == row.id).values(closing=closing))
    for statement in (_VIEW, *((_SQLITE_APPEND,) if sqlite else _POSTGRESQL_APPEND)):
        execute(statement)


_COLUMNS = (
    "first", "records", "writer", "seq", "earliest", "latest", "spec", "scope", "target", "job", "origin",
    "picked", "times", "keys", "episodes", "steps", "contexts", "inputs", "outputs", "head",
)  # fmt: skip

_VIEW = f"""
CREATE VIEW appended AS
SELECT {", ".join(f"b.{name}" for name in _COLUMNS)}, w.closing, w.signature
FROM blocks AS b JOIN writers AS w ON w.id = b.writer
"""

_MOVE = """
    UPDATE writers
    SET records = records + NEW.records, head = NEW.head, closing = NEW.closing, signature = NEW.signature
    WHERE id = NEW.writer AND scheme = 2 AND records = NEW.seq - 1"""
_ADD = f"""
    INSERT INTO blocks ({", ".join(_COLUMNS)})
    VALUES ({", ".join(f"NEW.{name}" for name in _COLUMNS)})"""

# One statement adds a block and moves its writer's head; a block that does not follow the last one is refused.
_SQLITE_APPEND = f"""
CREATE TRIGGER append INSTEAD OF INSERT ON appended BEGIN{_MOVE};
    SELECT RAISE(ABORT, 'this block does not follow the last one of its writer') WHERE changes() = 0;{_ADD};
END
"""

APPEND_SOURCE = f"""
BEGIN{_MOVE};
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this block does not follow the last one of its writer' USING ERRCODE = 'unique_violation';
    END IF;{_ADD};
    RETURN NEW;
END """
_POSTGRESQL_APPEND = (
    f"CREATE FUNCTION append_block() RETURNS trigger LANGUAGE plpgsql AS $${APPEND_SOURCE}$$",
    "CREATE TRIGGER append INSTEAD OF INSERT ON appended FOR EACH ROW EXECUTE FUNCTION append_block()",
)


# -- chains over the rows of small tables ------------------------------------------------------------------------------


def _chain_rows() -> None:
    """Keep the head of each small table, over the rows that are there, and a seal for each re-scoring."""
    heads = op.create_table(
        "table_heads",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("rows", NUMBER, nullable=False),
        sa.Column("head", sa.LargeBinary, nullable=False),
        sa.Column("signature", sa.LargeBinary),
    )
    connection = op.get_bind()
    for name, columns in CHAINED.items():
        table = sa.table(name, *map(sa.column, columns))
        rows = [tuple(row) for row in connection.execute(sa.select(table).order_by(table.c[columns[0]]))]
        connection.execute(sa.insert(heads).values(name=name, rows=len(rows), head=extend_rows(EMPTY, rows)))
    op.add_column("jobs", sa.Column("seal", sa.LargeBinary))
    jobs = sa.table("jobs", *map(sa.column, (*CHAINED["jobs"], "finished", "seal")))
    for row in connection.execute(sa.select(jobs)).all():
        seal = seal_row(row[:-1])
        connection.execute(sa.update(jobs).where(jobs.c.id == row.id).values(seal=seal))


# -- the place of a record among those of its writer -------------------------------------------------------------------


def _index_writers() -> None:
    op.create_index("blocks_by_writer", "blocks", ["writer", "seq"])


# -- records kept apart ------------------------------------------------------------------------------------------------


def _keep_apart() -> None:
    op.create_table(
        "quarantine",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False, unique=True),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("at", NUMBER, nullable=False),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("line", NUMBER, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
    )
