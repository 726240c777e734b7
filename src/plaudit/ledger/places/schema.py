"""The tables of a ledger, the same in SQLite and PostgreSQL.

Records lie in blocks: one or more records, written in one go, of one reward and one scope. What their numbers are
called is said by the reward's row in `specs`, so a block is little more than two runs of float64, row after row. The
view `readable` spells them out for people who have only an SQL shell.
"""

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

REVISION = "0001"
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
    Column("phase", Text),
    Column("decision_class", Text, index=True),
    Column("actor", Text),
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
    Column("blocks", NUMBER, nullable=False),
    Column("records", NUMBER, nullable=False),
    Column("head", LargeBinary, nullable=False),  # the checksum of the writer's last block
)

blocks = Table(
    "blocks",
    metadata,
    Column("first", NUMBER, primary_key=True),  # records have the numbers first … first + records - 1
    Column("records", NUMBER, nullable=False),
    Column("writer", NUMBER, ForeignKey("writers.id"), nullable=False),
    Column("seq", NUMBER, nullable=False),
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
    Column("checksum", LargeBinary, nullable=False),
)
Index("blocks_by_scope", blocks.c.scope, blocks.c.first)
Index(
    "blocks_by_job",
    blocks.c.job,
    blocks.c.origin,
    unique=True,
    sqlite_where=blocks.c.job.is_not(None),
    postgresql_where=blocks.c.job.is_not(None),
)

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
)
"""Re-scorings: one for each reward and choice of records, picked up where it stopped."""

imported = Table(
    "imported",
    metadata,
    Column("source", Text, primary_key=True),  # writer, block and place in the block, in the ledger it came from
    Column("record", NUMBER, nullable=False, index=True),
)
"""Records that were taken in from another ledger, so that none is taken in twice."""

powers = Table(
    "powers",
    metadata,
    Column("exponent", NUMBER, primary_key=True, autoincrement=False),
    Column("value", Double, nullable=False),
)
"""Powers of two, with which `readable` turns the bytes of a number into the number."""
