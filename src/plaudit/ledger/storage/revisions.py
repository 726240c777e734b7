"""Making the tables of a new ledger, and bringing those of an older one to the newest revision."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, insert, inspect, select, update

from plaudit.errors import LedgerBroken, LedgerError, LedgerTooNew, shorten
from plaudit.ledger.backends.backend import Backend
from plaudit.ledger.backends.sqlite import SqliteBackend
from plaudit.ledger.storage.chain import CHAINED, EMPTY
from plaudit.ledger.storage.schema import list_statements, metadata, schema_revision, table_heads

UPGRADES: Sequence[Callable[[Connection], None]] = ()
"""What turns tables of revision 1 into those of revision 2, those of 2 into those of 3, …: see CONTRIBUTING.md."""

REVISION = 1 + len(UPGRADES)
"""The newest revision: the tables that this version of plaudit reads and writes."""


def prepare_tables(backend: Backend) -> None:
    """Make the tables of a new ledger, or bring older ones to the newest revision, after a backup of their file."""
    with backend.snapshot() as connection:
        found = _read_revision(backend, connection)
    if found == REVISION:
        backend.take_over()
        return
    if backend.read_only:
        if found is None:
            hint = (
                f" If it is a copy, its log {backend.name}-wal was left behind: copy a ledger with `plaudit ledger "
                "backup`, or all of its files."
            )
            raise LedgerError(f"{backend.name} contains no ledger.{hint if isinstance(backend, SqliteBackend) else ''}")
        raise LedgerError(
            f"{backend.name} has tables of an older revision ({found}); open it once for writing to "
            "upgrade them (`plaudit ledger compact` does)."
        )
    if found is not None and isinstance(backend, SqliteBackend):
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        backend.copy_to(backend.path.with_name(f"{backend.path.name}.{found}-{stamp}.backup"))
    with backend.migration() as connection:
        found = _read_revision(backend, connection)  # another process may have been quicker
        if found is None:
            _create_tables(connection)
        elif found < REVISION:
            for upgrade in UPGRADES[found - 1 :]:
                upgrade(connection)
            connection.execute(update(schema_revision).values(number=REVISION))


def _read_revision(backend: Backend, connection: Connection) -> int | None:
    """Return the revision of the tables, or None where there are none; an error where they cannot be used."""
    tables = inspect(connection).get_table_names()
    if {schema_revision.name, "blocks"} <= set(tables):
        found = connection.execute(select(schema_revision.c.number)).scalars().all()
        if len(found) != 1 or found[0] < 1:
            raise LedgerBroken(
                f"{backend.name} the revision of its tables cannot be read: {schema_revision.name} holds "
                f"{shorten(found)}, not one number. It is damaged; restore a backup."
            )
        if found[0] > REVISION:
            raise LedgerTooNew(
                f"{backend.name} was written by a newer plaudit (tables of revision {found[0]}; this one knows "
                f"{REVISION}). Upgrade plaudit to open it; the ledger was not changed."
            )
        return int(found[0])
    if {"alembic_version", "blocks"} <= set(tables):
        raise LedgerError(
            f"{backend.name} was created by an earlier plaudit, whose tables this version cannot read. Export its "
            "records with that version (`plaudit ledger export`) and import them into a new ledger with this one "
            "(`plaudit ledger import`). The ledger was not changed."
        )
    if tables and isinstance(backend, SqliteBackend):
        raise LedgerError(f"{backend.name} is a database but not a ledger: it has the tables {', '.join(tables[:5])}.")
    taken = sorted(metadata.tables.keys() & set(tables))
    if taken:
        raise LedgerError(f"{backend.name} already has tables with names that a ledger needs: {', '.join(taken)}.")
    return None


def _create_tables(connection: Connection) -> None:
    statements = list_statements(connection.dialect)
    if connection.dialect.name != "sqlite":  # which takes one at a time, and is no journey away
        statements = [";".join(statements)]
    for statement in statements:
        connection.exec_driver_sql(statement, execution_options={"no_parameters": True})
    connection.execute(insert(schema_revision).values(number=REVISION))
    connection.execute(insert(table_heads), [{"name": name, "rows": 0, "head": EMPTY} for name in CHAINED])
