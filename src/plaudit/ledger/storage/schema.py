"""The tables of a ledger, the same in SQLite and PostgreSQL.

Records lie in blocks: one or more records, written in one go, of one reward and one scope. What their numbers are
called is said by the reward's row in `specs`, so a block is little more than two runs of float64, row after row. The
view `readable` spells them out for people who have only an SQL shell.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    text,
)

from plaudit.errors import LedgerBroken, LedgerError, LedgerTooNew, shorten
from plaudit.ledger.backends.backend import Backend
from plaudit.ledger.backends.sqlite import PAGE, SqliteBackend

REVISION = "0004"
"""The newest migration: what this version of plaudit reads and writes."""

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
    Column("blocks", NUMBER, nullable=False),  # of a chain by blocks; otherwise 0
    Column("records", NUMBER, nullable=False),
    Column("head", LargeBinary, nullable=False),  # of the writer's last block
    Column("scheme", NUMBER, nullable=False, server_default="1"),  # how its chain runs: see chain.py
    Column("closing", LargeBinary),  # what SQL cannot compute from `head`: it shows that none was copied
    Column("signature", LargeBinary),  # of `head`, where the writer signs
)

blocks = Table(
    "blocks",
    metadata,
    Column("first", NUMBER, primary_key=True),  # records have the numbers first … first + records - 1
    Column("records", NUMBER, nullable=False),
    Column("writer", NUMBER, ForeignKey("writers.id"), nullable=False),
    Column("seq", NUMBER, nullable=False),  # the place of its first record in its writer's chain; or of the block
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
    # Row after row, little-endian float64.
    Column("inputs", LargeBinary, nullable=False),
    Column("outputs", LargeBinary, nullable=False),
    Column("head", LargeBinary, nullable=False),  # of its writer's chain, after its last record
)
Index("blocks_by_scope", blocks.c.scope, blocks.c.first)
Index("blocks_by_writer", blocks.c.writer, blocks.c.seq)
Index("blocks_by_spec", blocks.c.spec, blocks.c.first)
Index("blocks_by_job", blocks.c.job, blocks.c.origin, unique=True)
# Of blocks with a job alone, as the first migration has it: said here, it would load SQLAlchemy for PostgreSQL too.

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
)
"""What is known of each block without opening it; all of it follows from the block."""

episode_parts = Table(
    "episode_parts",
    metadata,
    Column("first", NUMBER, ForeignKey("blocks.first"), primary_key=True, autoincrement=False),
    Column("position", NUMBER, primary_key=True, autoincrement=False),  # in the block, of the first record
    Column("last", NUMBER, nullable=False),
    Column("episode", Text, nullable=False),
    Column("records", NUMBER, nullable=False),
    Column("earliest", NUMBER, nullable=False),
    Column("latest", NUMBER, nullable=False),
    Column("step_low", NUMBER),
    Column("step_high", NUMBER),
    Column("ended", Text),  # "terminated" or "truncated"; NULL where that is not known
    Column("total", Double, nullable=False),  # the sum of its totals
    Column("terms", LargeBinary, nullable=False),  # the sums of each term's values, little-endian float64
)
"""What each block of several records has of each episode; all of it follows from the block: see episode_parts.py."""

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

powers = Table(
    "powers",
    metadata,
    Column("exponent", NUMBER, primary_key=True, autoincrement=False),
    Column("value", Double, nullable=False),
)
"""Powers of two, with which `readable` turns the bytes of a number into the number."""

POWERS = [(exponent, 2.0 ** (max(exponent, 1) - 1075)) for exponent in range(2047)]
"""The rows of `powers`, for good."""


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

_SCRIPTS = Path(__file__).parent / "migrations"


def upgrade_tables(backend: Backend, *, newest: str = REVISION, scripts: Path = _SCRIPTS) -> Path | None:
    """Bring the tables to the newest revision; return the backup that was made of an older file, if any."""
    with backend.snapshot() as connection:
        found = _read_revision(backend, connection)
    if found == newest:
        return None
    if found is not None and found > newest:
        raise LedgerTooNew(
            f"{backend.name} was written by a newer plaudit (tables of revision {found}; this one knows {newest}). "
            "Upgrade plaudit to open it; the ledger was not changed."
        )
    if backend.read_only:
        if found is None:
            raise LedgerError(
                f"{backend.name} holds no ledger. If it is a copy, its log {backend.name}-wal was left behind: copy a "
                "ledger with `plaudit ledger backup`, or all of its files."
            )
        raise LedgerError(
            f"{backend.name} has older tables (revision {found}); open it once to write "
            "(`plaudit ledger compact` does)."
        )
    backup = None
    if found is None and newest == REVISION and isinstance(backend, SqliteBackend):
        if backend.fill(build_new_file(scripts)):
            return None
    elif found is not None and isinstance(backend, SqliteBackend):
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        backup = backend.path.with_name(f"{backend.path.name}.{found}-{stamp}.backup")
        backend.copy_to(backup)
    with backend.migration() as connection:
        found = _read_revision(backend, connection)
        if found is None and newest == REVISION and not isinstance(backend, SqliteBackend):
            _make_tables(connection, scripts)
        elif found != newest:  # nobody was quicker
            _run_migrations(connection, scripts, newest)
    return backup


def _read_revision(backend: Backend, connection: Connection) -> str | None:
    """Return the revision of the tables, or None where there are none."""
    tables = inspect(connection).get_table_names()
    if "alembic_version" in tables and "blocks" in tables:
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all()
        if len(found) != 1 or not re.fullmatch(r"\d{4}", str(found[0])):
            raise LedgerBroken(
                f"{backend.name} does not say which revision its tables have: alembic_version holds "
                f"{shorten(found)}, not one number. It is damaged; take a backup of it."
            )
        return str(found[0])
    if tables and isinstance(backend, SqliteBackend):
        raise LedgerError(f"{backend.name} is a database, but no ledger: it has the tables {', '.join(tables[:5])}.")
    taken = sorted({"blocks", "specs", "writers"} & set(tables))
    if taken:
        raise LedgerError(f"{backend.name} has tables that a ledger needs the names of: {', '.join(taken)}.")
    return None


def read_script(dialect: str, scripts: Path = _SCRIPTS) -> str:
    """Return the SQL that makes everything that the migrations make, but for the rows of `powers`."""
    return (scripts / f"new_{dialect}.sql").read_text(encoding="utf-8")


@cache
def build_new_file(scripts: Path = _SCRIPTS) -> bytes:
    """Return the file of a new ledger: what the migrations make, without running them, which takes far longer."""
    with closing(sqlite3.connect(":memory:")) as made:
        made.execute(f"PRAGMA page_size = {PAGE}")
        made.executescript(read_script("sqlite", scripts))
        made.executemany("INSERT INTO powers VALUES (?, ?)", POWERS)
        made.commit()
        return made.serialize()


def _make_tables(connection: Connection, scripts: Path) -> None:
    """Make on a server what the migrations make, without running them."""
    connection.exec_driver_sql(read_script("postgresql", scripts), execution_options={"no_parameters": True})
    # As the texts of two arrays: psycopg would look at each of four thousand numbers several times.
    columns = tuple(f"{{{','.join(map(repr, column))}}}" for column in zip(*POWERS, strict=True))
    connection.exec_driver_sql("INSERT INTO powers SELECT * FROM unnest(%s::bigint[], %s::float8[])", columns)


def _run_migrations(connection: Connection, scripts: Path, newest: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, newest)
