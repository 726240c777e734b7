"""Whole ledgers in files: records exported, and backups."""

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, delete, func, insert, select
from sqlalchemy.pool import NullPool

from plaudit.atomic import AtomicFile, AtomicPath, build_write_error, parse_path, sync_folder
from plaudit.errors import FileError, LedgerError, PlauditError
from plaudit.ledger.backends.backend import Backend, report_damage
from plaudit.ledger.backends.sqlite import SqliteBackend, sync_new_file
from plaudit.ledger.history import History
from plaudit.ledger.jsonl import LONGEST_LINE
from plaudit.ledger.record import EXPORT_FORMAT, Record, read_records
from plaudit.ledger.storage.revisions import prepare_tables
from plaudit.ledger.storage.schema import imported, metadata, schema_revision, table_heads, writers
from plaudit.ledger.storage.sources import format_source
from plaudit.ledger.storage.store import Store
from plaudit.ledger.storage.texts import export_texts, name_texts
from plaudit.rows.csv_files import CsvSink
from plaudit.rows.streams import FORMATS, find_format

Progress = Callable[[int, int], None]
_ATTEMPTS = 5


def export(
    store: Store,
    history: History,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> int:
    """Write records to a file that appears when it is complete, or not at all; return how many there are."""
    if parse_path(path).is_file() and not overwrite:
        raise FileError(f"{os.fspath(path)} already exists; choose another name or pass overwrite=True.")
    store.backend.check_not_own(path)
    kind = format or find_format(os.fspath(path))
    if kind not in FORMATS:
        raise LedgerError(
            f"{path}: a ledger is exported as {' or '.join(FORMATS)}; give the file one of these endings, or "
            "pass format=."
        )
    report = _build_reporter(progress, history.count() if progress else 0)
    try:
        if kind == "jsonl":
            return _write_jsonl(store, history, path, report)
        return _write_columns(history, path, report, kind)
    except OSError as error:
        if isinstance(error, PlauditError):
            raise
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from None


def backup(store: Store, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Copy a ledger as it is now; the copy appears under its name when it is complete, or not at all."""
    target = parse_path(path).absolute()
    if target.is_dir() or not target.parent.is_dir():
        raise FileError(f"{path} cannot be written: it is a directory, or its folder does not exist.")
    backend = store.backend
    backend.check_not_own(path)
    if target.exists() and not overwrite:
        raise FileError(f"{path} already exists; choose another name or pass overwrite=True.")
    if target.with_name(f"{target.name}-wal").exists():
        raise FileError(f"{path} is a ledger in use: its log {target.name}-wal is there. Choose another name.")
    folder = target.with_name(f"{target.name}.segments")
    with AtomicPath(path) as draft:
        try:
            if isinstance(backend, SqliteBackend):
                files = _copy_ledger(backend, draft.path, folder)
            else:
                files = set()
                _copy_tables(backend, draft.path)
        except OSError as error:
            raise build_write_error(os.fspath(path), error) from None
        draft.commit()
    sync_new_file(target)
    for left in set(folder.glob("*/*.parquet")) - files:  # of a ledger that was replaced
        left.unlink(missing_ok=True)
    return target


def _copy_ledger(backend: SqliteBackend, draft: Path, folder: Path) -> set[Path]:
    """Copy a ledger in a file, with the segments beside it; return these."""
    for attempt in range(_ATTEMPTS):
        backend.copy_to(draft)
        with closing(sqlite3.connect(draft)) as copy:
            listed = copy.execute("SELECT path FROM segments WHERE path NOT LIKE '%://%'").fetchall()
        try:
            return {_copy_segment(backend, folder, path) for (path,) in listed}
        except FileNotFoundError:  # another process has moved its records since
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _copy_segment(backend: SqliteBackend, folder: Path, path: str) -> Path:
    """Give a copy a segment: the same file where it can be linked to, for no segment is ever changed."""
    source, target = backend.path.with_name(f"{backend.path.name}.segments") / path, folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        try:
            os.link(source, target)
        except FileNotFoundError:
            raise
        except OSError:  # another file system, or one without links
            with AtomicPath(target) as draft:
                shutil.copyfile(source, draft.path)
                draft.commit()
        sync_folder(target.parent)
    return target


def _build_reporter(progress: Progress | None, total: int) -> Callable[[int], None]:
    return (lambda done: None) if progress is None else (lambda done: progress(min(done, total), total))


def _write_jsonl(store: Store, history: History, path: str | os.PathLike[str], report: Callable[[int], None]) -> int:
    """Write a line for each record, before the first of a reward one with its definition, and one at the end.

    So it is with writers: what computed their records decides how the numbers can be compared elsewhere.
    """
    digest = hashlib.sha256()
    seen: set[tuple[str, ...] | int] = set()
    texts: set[str] = set()
    count = 0
    with AtomicFile(path) as draft:

        def line(kind: str, content: object) -> None:
            with report_damage(store.backend.name, "a record"):
                text = json.dumps({kind: content}, allow_nan=False) + "\n"
            if len(text) > LONGEST_LINE:
                raise LedgerError(f"{path}: record {count} would be a line of more than {LONGEST_LINE >> 20} MiB.")
            digest.update(text.encode())
            draft.file.write(text)

        line("plaudit_ledger", {"format": EXPORT_FORMAT, "chosen": history.query.to_dict()})
        for count, (source, made_with, record) in enumerate(_read_with_sources(store, history), start=1):
            reward = record.signal.frame.source
            assert reward is not None  # a stored record's frame comes from its stored reward
            identity = (reward.name, reward.version, reward.fingerprint, reward.domain_fingerprint)
            if identity not in seen:
                seen.add(identity)
                line("reward", reward.to_dict())
            if record.writer not in seen:
                seen.add(record.writer)
                line("writer", {"id": record.writer, "made_with": made_with})
            for text in _read_new_texts(store, record, texts):
                line("text", text)
            line("record", {"source": source, **record.to_dict()})
            if count % 1000 == 0:
                report(count)
        draft.file.write(json.dumps({"end": {"records": count, "sha256": digest.hexdigest()}}) + "\n")
        draft.commit()
    report(count)
    return count


def _read_new_texts(store: Store, record: Record, seen: set[str]) -> list[dict[str, Any]]:
    """Return the texts of a record that no record before had."""
    new = [digest for digest in name_texts(record.context).values() if digest not in seen]
    seen.update(new)
    if not new:
        return []
    with store.backend.snapshot() as connection, report_damage(store.backend.name, "a text"):
        return list(export_texts(store.backend, connection.connection.cursor(), new))


def _write_columns(history: History, path: str | os.PathLike[str], report: Callable[[int], None], kind: str) -> int:
    """Write CSV or Parquet, batch by batch; such a file has the columns of one reward."""
    from plaudit.ledger.arrow import LABEL
    from plaudit.rows.arrow import list_leaves
    from plaudit.rows.parquet_files import ArrowChunk, ParquetSink

    count = 0
    sink: CsvSink | ParquetSink | None = None
    about: dict[bytes, bytes] = {}
    with AtomicPath(path) as draft:
        with draft.path.open("wb") as file, ExitStack() as stack:
            for batch in history.arrow():
                if sink is None:
                    about = batch.schema.metadata
                    if kind == "csv":
                        sink = CsvSink(file, list_leaves(batch.schema), (), None)
                    else:
                        sink = ParquetSink(file, batch.schema, compression="zstd")
                    stack.callback(sink.abandon)
                elif batch.schema.metadata[LABEL] != about[LABEL]:
                    raise LedgerError(
                        f"{path}: the chosen records belong to several rewards, which have different columns. Choose "
                        "one "
                        "with reward= and version=, or export as JSONL."
                    )
                sink.write(ArrowChunk(batch.replace_schema_metadata(about), batch.num_rows), {}, None)
                count += batch.num_rows
                report(count)
            if sink is None:
                raise LedgerError(f"{path}: there are no records to export, and so no columns.")
            sink.close()
        draft.commit()
    return count


def _read_with_sources(store: Store, history: History) -> Iterator[tuple[str, str, Record]]:
    """Yield each record after where it was first recorded and what computed it."""
    with store.backend.snapshot() as connection:
        any_imported = connection.execute(select(func.count()).select_from(imported)).scalar_one() > 0
    about: dict[int, tuple[str, str]] = {}
    for page in history.pages():
        row = page.row
        known: dict[int, str] = {}
        if any_imported or row.writer not in about:
            with store.backend.snapshot() as connection:
                listed = connection.execute(select(writers.c.id, writers.c.token, writers.c.made_with))
                about = {each.id: (each.token, each.made_with) for each in listed}
                inside = imported.c.record.between(row.first, row.first + row.records - 1)
                known = {each.record: each.source for each in connection.execute(select(imported).where(inside))}
        with page.report_damage():
            token, made_with = about[row.writer]
        for record in read_records(page):
            own = format_source(token, row, record.id - row.first)
            yield known.get(record.id, own), made_with, record


def _copy_tables(backend: Backend, draft: Path) -> None:
    """Copy every row of a ledger on a server into a new file, in one view of it."""
    made = SqliteBackend(draft, read_only=False, timeout=60)
    try:
        prepare_tables(made)
    finally:
        made.close()
    engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(draft), poolclass=NullPool)
    with made.translate_errors():
        with backend.snapshot() as source, engine.begin() as copy:
            copy.execute(delete(table_heads))  # those of the source take their place
            for table in metadata.sorted_tables:
                if table is schema_revision:
                    continue
                order = list(table.primary_key.columns)
                rows = source.execution_options(stream_results=True).execute(select(table).order_by(*order))
                for part in rows.mappings().partitions(500):
                    copy.execute(insert(table), [dict(row) for row in part])
        with engine.connect() as copy:
            copy.exec_driver_sql("PRAGMA journal_mode = DELETE")
