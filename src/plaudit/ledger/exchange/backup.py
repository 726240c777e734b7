"""Backups: a whole ledger in one SQLite file, taken while others write."""

import os
import sqlite3
from pathlib import Path
from secrets import token_hex

from sqlalchemy import create_engine, insert, select
from sqlalchemy.pool import NullPool

from plaudit.errors import FileError
from plaudit.ledger.places.place import Place
from plaudit.ledger.places.schema import metadata, powers
from plaudit.ledger.places.sqlite import SqliteFile, sync_folder
from plaudit.ledger.places.upgrade import upgrade


def backup(place: Place, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Copy a ledger as it is now; the copy appears under its name when it is complete, or not at all."""
    target = Path(path).absolute()
    if target.is_dir() or not target.parent.is_dir():
        raise FileError(f"{path} cannot be written: it is a directory, or its folder does not exist.")
    place.check_other(path)
    if target.exists() and not overwrite:
        raise FileError(f"{path} exists already; choose another name or say overwrite=True.")
    if target.with_name(f"{target.name}-wal").exists():
        raise FileError(f"{path} is a ledger in use: its log {target.name}-wal is there. Choose another name.")
    draft = target.with_name(f".{target.name}.{token_hex(4)}.part")
    try:
        if isinstance(place, SqliteFile):
            place.copy_to(draft)
        else:
            _copy_tables(place, draft)
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        for ending in ("", "-wal", "-shm", "-journal", ".lock"):
            draft.with_name(f"{draft.name}{ending}").unlink(missing_ok=True)
    sync_folder(target.parent)
    return target


def _copy_tables(place: Place, draft: Path) -> None:
    """Copy every row of a ledger on a server into a new file, in one view of it."""
    made = SqliteFile(draft, read_only=False, timeout=60)
    try:
        upgrade(made)
    finally:
        made.close()
    engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(draft), poolclass=NullPool)
    with made.telling():
        with place.reading() as source, engine.begin() as copy:
            moving = copy.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = 'head'").scalar_one()
            copy.exec_driver_sql("DROP TRIGGER head")  # heads are copied as they are
            for table in metadata.sorted_tables:
                if table is powers:
                    continue
                order = list(table.primary_key.columns)
                rows = source.execution_options(stream_results=True).execute(select(table).order_by(*order))
                for part in rows.mappings().partitions(500):
                    copy.execute(insert(table), [dict(row) for row in part])
            copy.exec_driver_sql(moving)
        with engine.connect() as copy:
            copy.exec_driver_sql("PRAGMA journal_mode = DELETE")
