"""The tables of a ledger, the same in SQLite and PostgreSQL: what a new one is made from, and what queries name.

Records lie in blocks: one or more records, written in one go, of one reward and one scope. What their numbers are
called is said by the reward's row in `specs`, so a block is little more than two runs of float64, row after row.
"""

from collections.abc import Iterator
from functools import cache

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from plaudit.ledger.backends.backend import OUT_OF_ORDER, RANGE

NUMBER = BigInteger().with_variant(Integer, "sqlite")
"""A whole number of 64 bits. SQLite's rows have a number of their own only if the type is called INTEGER."""

metadata = MetaData()

labels = Table(
    "labels",
    metadata,
    Column("name", Text, primary_key=True),
    Column("version", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
)
"""Which formula a version label stands for: one, for good."""

specs = Table(
    "specs",
    metadata,
    Column("id", NUMBER, primary_key=True),
    Column("name", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("part", Text, nullable=False),  # "whole", or "final" for the terminal terms alone
    Column("fingerprint", Text, nullable=False),
    Column("domain", Text, nullable=False),
    Column("spec", Text, nullable=False),  # the reward as canonical JSON
    Column("inputs", Text, nullable=False),  # [{"name", "kind", "labels"}]: what a row of `blocks.inputs` holds
    Column("outputs", Text, nullable=False),  # [name]: what a row of `blocks.outputs` holds
    UniqueConstraint("name", "version", "part", "fingerprint", "domain"),
)

scopes = Table(
    "scopes",
    metadata,
    Column("id", NUMBER, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("run", Text, index=True),
    Column("phase", Text, index=True),
    Column("decision_class", Text, index=True),
    Column("actor", Text, index=True),
    Column("sample_rate", Double, index=True),  # with which probability an episode was recorded; NULL where all were
)
"""What whole blocks share of a record's context."""

writers = Table(
    "writers",
    metadata,
    Column("id", NUMBER, primary_key=True),
    Column("token", Text, nullable=False, unique=True),
    Column("opened", NUMBER, nullable=False),
    Column("host", Text, nullable=False),
    Column("process", NUMBER, nullable=False),
    Column("made_with", Text, nullable=False),  # plaudit, Python, NumPy and platform, which decide the last bit
    Column("records", NUMBER, nullable=False),
    Column("head", LargeBinary, nullable=False),  # of the writer's last block
    Column("closing", LargeBinary),  # what SQL cannot compute from `head`: it shows that none was copied
    Column("signature", LargeBinary),  # of `head`, where the writer signs
)

segments = Table(
    "segments",
    metadata,
    Column("id", NUMBER, primary_key=True),
    Column("path", Text, nullable=False, unique=True),  # under the ledger's folder of segments, or an address
    Column("records", NUMBER, nullable=False),
    Column("size", NUMBER, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
    Column("made", NUMBER, nullable=False),  # microseconds since 1970, UTC
    Column("lake", Text),  # the address that it is on its way to, until a Delta table there lists it
)
"""Parquet files that hold the columns and the numbers of blocks."""

blocks = Table(
    "blocks",
    metadata,
    Column("first", NUMBER, primary_key=True),  # records have the numbers first … first + records - 1
    Column("records", NUMBER, nullable=False),
    Column("writer", NUMBER, ForeignKey("writers.id"), nullable=False),
    Column("seq", NUMBER, nullable=False),  # the place of its first record in its writer's chain
    Column("earliest", NUMBER, nullable=False),  # microseconds since 1970, UTC
    Column("latest", NUMBER, nullable=False),
    Column("spec", NUMBER, ForeignKey("specs.id"), nullable=False),
    Column("scope", NUMBER, ForeignKey("scopes.id"), nullable=False),
    Column("target", Text, nullable=False),
    Column("job", NUMBER, ForeignKey("jobs.id")),
    Column("origin", NUMBER),  # the block that was re-scored
    # One entry a record, as JSON; a single entry stands for all, and NULL for none.
    Column("picked", Text),  # which records of the origin these are, from 0; NULL for all
    Column("times", Text),  # microseconds after `earliest`
    Column("keys", Text),
    Column("episodes", Text),
    Column("steps", Text),
    Column("contexts", Text),
    # Row after row, little-endian float64; NULL, as all the columns of its records, where a segment has them.
    Column("inputs", LargeBinary),
    Column("outputs", LargeBinary),
    Column("segment", NUMBER, ForeignKey("segments.id"), index=True),
    Column("place", NUMBER),  # of its first record in the segment, from 0
    Column("digest", LargeBinary),  # of its records, where they were written to a segment; see record_table.py
    Column("head", LargeBinary, nullable=False),  # of its writer's chain, after its last record
)
Index("blocks_by_scope", blocks.c.scope, blocks.c.first, info={"only": "sqlite"})
Index("blocks_by_writer", blocks.c.writer, blocks.c.seq)
Index("blocks_by_spec", blocks.c.spec, blocks.c.first, info={"only": "sqlite"})
Index("blocks_by_job", blocks.c.job, blocks.c.origin, unique=True, info={"where": "job IS NOT NULL"})

summaries = Table(
    "summaries",
    metadata,
    Column("first", NUMBER, ForeignKey("blocks.first"), primary_key=True, autoincrement=False),
    # Where its times, its steps and the numbers of its episodes lie: see summary.py. NULL where it has none.
    Column("time_fork", NUMBER, nullable=False, index=True),
    Column("step_fork", NUMBER, index=True),
    Column("step_low", NUMBER),
    Column("step_high", NUMBER),
    Column("episode_fork", NUMBER, index=True),
    Column("episode_low", NUMBER),
    Column("episode_high", NUMBER),
    Column("total", Double),  # the sum of its totals; NULL where it has to be added up
    Column("low", Double),
    Column("high", Double),
    Column("telling", NUMBER, nullable=False),  # 1 where a context says how an episode ended, or what was paid; else 0
    Column("parts", LargeBinary),  # what it has of each episode: see parts.py. NULL where it has one record, or none
)
"""What is known of each block without opening it; all of it follows from the block."""

keys = Table(
    "keys",
    metadata,
    Column("key", Text, primary_key=True),
    Column("record", NUMBER, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", NUMBER, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("spec", NUMBER, ForeignKey("specs.id"), nullable=False),
    Column("filters", Text, nullable=False),
    Column("started", NUMBER, nullable=False),
    Column("finished", NUMBER),
    Column("seal", LargeBinary),  # what SQL cannot compute from the rest of the row
)
"""Re-scorings: one for each reward and choice of records, picked up where it stopped."""

imported = Table(
    "imported",
    metadata,
    Column("source", Text, primary_key=True),  # writer, block and place in the block, in the ledger it came from
    Column("record", NUMBER, nullable=False, index=True),
)
"""Records that were taken in from another ledger, so that none is taken in twice."""

texts = Table(
    "texts",
    metadata,
    Column("digest", Text, primary_key=True),  # SHA-256 of salt and text; contexts of records name it
    Column("salt", LargeBinary, nullable=False),
    Column("content", LargeBinary, nullable=False),  # UTF-8, compressed where the first byte says so
)
"""Texts of records, apart from these: they can be forgotten."""

forgotten = Table(
    "forgotten",
    metadata,
    Column("id", NUMBER, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("at", NUMBER, nullable=False),  # microseconds since 1970, UTC
)
"""Texts that were forgotten, so that nobody can take one away in silence."""

table_heads = Table(
    "table_heads",
    metadata,
    Column("name", Text, primary_key=True),
    Column("rows", NUMBER, nullable=False),
    Column("head", LargeBinary, nullable=False),
    Column("signature", LargeBinary),
)
"""Where the chain of each small table ends, and how many rows it has."""

appended = Table(
    "appended",
    MetaData(),
    *(Column(column.name, column.type) for column in blocks.columns),
    Column("closing", LargeBinary),
    Column("signature", LargeBinary),
    *(Column(column.name, column.type) for column in summaries.columns if column.name != "first"),
)
"""A view: one insert into it adds a row to `blocks` and to `summaries`, and moves the writer's head."""

schema_revision = Table(
    "schema_revision",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=False),
)
"""Which revision the tables have, in one row: see revisions.py."""

quarantine = Table(
    "quarantine",
    metadata,
    Column("id", NUMBER, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("source", Text, nullable=False),
    Column("at", NUMBER, nullable=False),  # when it was brought, in microseconds since 1970, UTC
    Column("file", Text, nullable=False),
    Column("line", NUMBER, nullable=False),
    Column("reason", Text, nullable=False),
    Column("record", Text, nullable=False),  # as the file has it
)
"""Records that an import brought and that their rewards do not compute: they are no part of the history."""


def _list_conflicts() -> Iterator[str]:
    for table in metadata.sorted_tables:
        uniques = [each for each in table.constraints if isinstance(each, UniqueConstraint)]
        for columns, on_server in (
            (table.primary_key.columns, f"{table.name}_pkey"),
            *((each.columns, f"{'_'.join((table.name, *each.columns.keys()))}_key") for each in uniques),
            *((index.columns, str(index.name)) for index in table.indexes if index.unique),
        ):
            yield from (", ".join(f"{table.name}.{column.name}" for column in columns), on_server)


CONFLICTS = frozenset(_list_conflicts())
"""What SQLite and PostgreSQL call the constraints by which two writers can be in each other's way."""

# -- the same in SQL ---------------------------------------------------------------------------------------------------


@cache
def list_statements(dialect: Dialect) -> list[str]:
    """Return the SQL that makes the tables, indexes, views and triggers of a new ledger, without any rows.

    To check a reference, a server locks the row that is referred to. All writers of a run add blocks of one scope and
    one reward, and would wait for each other there: it does not check those, but `verify` does.
    """
    made: list[str] = []
    for table in metadata.sorted_tables:
        checked = None if dialect.name == "sqlite" or table not in (blocks, summaries) else ()
        made.append(str(CreateTable(table, include_foreign_key_constraints=checked).compile(dialect=dialect)))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            if index.info.get("only", dialect.name) != dialect.name:
                continue
            # SQLAlchemy's own WHERE of an index would load its dialect of PostgreSQL for every ledger in a file.
            where = f" WHERE {index.info['where']}" if "where" in index.info else ""
            made.append(f"{CreateIndex(index).compile(dialect=dialect)}{where}")
    if dialect.name == "sqlite":
        return [*made, _APPENDED, _SQLITE_APPEND]
    return [*made, *_POSTGRESQL_ORDER, _APPENDED, *_POSTGRESQL_APPEND]


_POSTGRESQL_ORDER = (
    f"CREATE SEQUENCE record_numbers INCREMENT {RANGE}",
    # Every block changes its writer's row: with room on its page, no index has to change with it.
    "ALTER TABLE writers SET (fillfactor = 10)",
    # The transaction that wrote a block: its number and the block's are the order of the history. See order.py.
    "ALTER TABLE blocks ADD COLUMN xact BIGINT NOT NULL DEFAULT pg_current_xact_id()::text::bigint",
    "CREATE INDEX blocks_by_scope ON blocks (scope, xact, first)",
    "CREATE INDEX blocks_by_spec ON blocks (spec, xact, first)",
    "CREATE INDEX blocks_in_order ON blocks (xact, first)",
)

_BLOCK, _SUMMARY = blocks.columns.keys(), summaries.columns.keys()
_APPENDED = f"""
CREATE VIEW appended AS
SELECT {", ".join(f"b.{name}" for name in _BLOCK)}, w.closing, w.signature,
    {", ".join(f"s.{name}" for name in _SUMMARY[1:])}
FROM blocks AS b JOIN writers AS w ON w.id = b.writer JOIN summaries AS s ON s.first = b.first
"""

# One statement adds a block and its summary and moves its writer's head; a block that does not follow the last one is
# refused.
_MOVE = """
    UPDATE writers
    SET records = records + NEW.records, head = NEW.head, closing = NEW.closing, signature = NEW.signature
    WHERE id = NEW.writer AND records = NEW.seq - 1;"""
_ADD = "".join(
    f"""
    INSERT INTO {name} ({", ".join(columns)})
    VALUES ({", ".join(f"NEW.{column}" for column in columns)});"""
    for name, columns in (("blocks", _BLOCK), ("summaries", _SUMMARY))
)
_SQLITE_APPEND = f"""
CREATE TRIGGER append INSTEAD OF INSERT ON appended BEGIN{_MOVE}
    SELECT RAISE(ABORT, '{OUT_OF_ORDER}') WHERE changes() = 0;{_ADD}
END
"""
_POSTGRESQL_APPEND = (
    f"""
CREATE FUNCTION append_block() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN{_MOVE}
    IF NOT FOUND THEN
        RAISE EXCEPTION '{OUT_OF_ORDER}' USING ERRCODE = 'unique_violation';
    END IF;{_ADD}
    RETURN NEW;
END $$
""",
    "CREATE TRIGGER append INSTEAD OF INSERT ON appended FOR EACH ROW EXECUTE FUNCTION append_block()",
)
