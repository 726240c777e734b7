"""Tables that fit this version of plaudit: made when absent, upgraded when older, refused when newer."""

from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from plaudit.errors import LedgerError, LedgerTooNew
from plaudit.ledger.places.place import Place
from plaudit.ledger.places.schema import REVISION
from plaudit.ledger.places.sqlite import SqliteFile

_SCRIPTS = Path(__file__).parent / "migrations"


def upgrade(place: Place, *, newest: str = REVISION, scripts: Path = _SCRIPTS) -> Path | None:
    """Bring the tables to the newest revision; return the backup that was made of an older file, if any."""
    with place.reading() as connection:
        found = _revision(place, connection)
    if found == newest:
        return None
    if found is not None and found > newest:
        raise LedgerTooNew(
            f"{place.name} was written by a newer plaudit (tables of revision {found}; this one knows {newest}). "
            "Upgrade plaudit to open it; the ledger was not changed."
        )
    if place.read_only:
        if found is None:
            raise LedgerError(
                f"{place.name} holds no ledger. If it is a copy, its log {place.name}-wal was left behind: copy a "
                "ledger with `plaudit ledger backup`, or all of its files."
            )
        raise LedgerError(
            f"{place.name} has older tables (revision {found}); open it once to write (`plaudit ledger compact` does)."
        )
    backup = None
    if found is not None and isinstance(place, SqliteFile):
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        backup = place.path.with_name(f"{place.path.name}.{found}-{stamp}.backup")
        place.copy_to(backup)
    with place.migrating() as connection:
        if _revision(place, connection) != newest:  # nobody was quicker
            _run(connection, scripts, newest)
    return backup


def _revision(place: Place, connection: Connection) -> str | None:
    """Return the revision of the tables, or None where there are none."""
    tables = inspect(connection).get_table_names()
    if "alembic_version" in tables and "blocks" in tables:
        return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one())
    if tables and isinstance(place, SqliteFile):
        raise LedgerError(f"{place.name} is a database, but no ledger: it has the tables {', '.join(tables[:5])}.")
    taken = sorted({"blocks", "specs", "writers"} & set(tables))
    if taken:
        raise LedgerError(f"{place.name} has tables that a ledger needs the names of: {', '.join(taken)}.")
    return None


def _run(connection: Connection, scripts: Path, newest: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, newest)
