"""Whole ledgers in files: records exported and taken in again, and backups."""

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import bindparam, create_engine, func, insert, select
from sqlalchemy.pool import NullPool

from plaudit.atomic import AtomicFile, AtomicPath, build_write_error, parse_path
from plaudit.errors import FileError, LedgerError, PlauditError, SpecError
from plaudit.ledger.backends.backend import Backend, report_damage
from plaudit.ledger.backends.sqlite import SqliteBackend, sync_new_file
from plaudit.ledger.context import CONTEXT_FIELDS, Context, validate_string
from plaudit.ledger.history import History
from plaudit.ledger.jsonl.encoding import decode, describe_problem
from plaudit.ledger.record import Record, read_records
from plaudit.ledger.storage.codec import PackedRecord
from plaudit.ledger.storage.schema import imported, metadata, powers, upgrade_tables, writers
from plaudit.ledger.storage.store import Store
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal

FORMAT = 1
FORMATS = ("jsonl", "parquet")
_BATCH = 4096
"""Records to import together."""
_SOURCES = 500
"""Sources to look for in one statement."""
_ADD_SOURCE = insert(imported).values(source=bindparam("source"), record=bindparam("record"))
Progress = Callable[[int, int], None]


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
        raise FileError(f"{os.fspath(path)} exists already; choose another name or say overwrite=True.")
    store.backend.check_not_own(path)
    kind = format or Path(path).suffix.lstrip(".")
    if kind not in FORMATS:
        raise LedgerError(f"{path}: a ledger is exported as {' or '.join(FORMATS)}; name the file so, or say format=.")
    report = _build_reporter(progress, history.count() if progress else 0)
    try:
        return _write_jsonl(store, history, path, report) if kind == "jsonl" else _write_parquet(history, path, report)
    except OSError as error:
        if isinstance(error, PlauditError):
            raise
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from None


def import_file(store: Store, path: str | os.PathLike[str], progress: Progress | None = None) -> int:
    """Add the records of an exported file that a ledger does not have, in one transaction; return how many they are."""
    total = _check_file(parse_path(path))

    def work(cursor: Any) -> int:
        writer = store.writer
        before, done = writer.recorded, 0
        for together in _batch_records(_read_records(store, Path(path))):
            there = _find_known_sources(store, [source for source, _ in together])
            new = [(source, row) for source, row in together if source not in there]
            numbers = writer.insert(cursor, [row for _, row in new])
            for (source, _), number in zip(new, numbers, strict=True):
                cursor.execute(store.backend.render(_ADD_SOURCE), (source, number))
            done += len(together)
            if progress is not None:
                progress(done, total)
        return writer.recorded - before

    return store.writer.transact(work)


def backup(store: Store, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Copy a ledger as it is now; the copy appears under its name when it is complete, or not at all."""
    target = parse_path(path).absolute()
    if target.is_dir() or not target.parent.is_dir():
        raise FileError(f"{path} cannot be written: it is a directory, or its folder does not exist.")
    backend = store.backend
    backend.check_not_own(path)
    if target.exists() and not overwrite:
        raise FileError(f"{path} exists already; choose another name or say overwrite=True.")
    if target.with_name(f"{target.name}-wal").exists():
        raise FileError(f"{path} is a ledger in use: its log {target.name}-wal is there. Choose another name.")
    with AtomicPath(path) as draft:
        try:
            if isinstance(backend, SqliteBackend):
                backend.copy_to(draft.path)
            else:
                _copy_tables(backend, draft.path)
        except OSError as error:
            raise build_write_error(os.fspath(path), error.strerror or str(error)) from None
        draft.commit()
    sync_new_file(target)
    return target


def _build_reporter(progress: Progress | None, total: int) -> Callable[[int], None]:
    return (lambda done: None) if progress is None else (lambda done: progress(min(done, total), total))


def _write_jsonl(store: Store, history: History, path: str | os.PathLike[str], report: Callable[[int], None]) -> int:
    """Write a line for each record, before the first of a reward one with its definition, and one at the end."""
    digest = hashlib.sha256()
    seen: set[tuple[str, str]] = set()
    count = 0
    with AtomicFile(path) as draft:

        def line(kind: str, content: object) -> None:
            with report_damage(store.backend.name, "a record"):
                text = json.dumps({kind: content}, allow_nan=False) + "\n"
            digest.update(text.encode())
            draft.file.write(text)

        line("plaudit_ledger", {"format": FORMAT, "chosen": history.query.to_dict()})
        for count, (source, record) in enumerate(_read_with_sources(store, history), start=1):
            reward = record.signal.frame.source
            assert reward is not None  # a stored record's frame comes from its stored reward
            identity = (reward.fingerprint, reward.domain_fingerprint)
            if identity not in seen:
                seen.add(identity)
                line("reward", reward.to_dict())
            line("record", {"source": source, **record.to_dict()})
            if count % 1000 == 0:
                report(count)
        draft.file.write(json.dumps({"end": {"records": count, "sha256": digest.hexdigest()}}) + "\n")
        draft.commit()
    report(count)
    return count


def _write_parquet(history: History, path: str | os.PathLike[str], report: Callable[[int], None]) -> int:
    """Write a row group for each batch; a Parquet file has the columns of one reward."""
    from plaudit.ledger.arrow import LABEL, open_parquet

    count = 0
    writer = None
    with AtomicPath(path) as draft:
        try:
            for batch in history.arrow():
                if writer is not None and (batch.schema.metadata or {}).get(LABEL) != writer.schema.metadata[LABEL]:
                    raise LedgerError(
                        f"{path}: the records chosen are of several rewards, which have different columns. Choose one "
                        "with reward= and version=, or export as JSONL."
                    )
                writer = writer or open_parquet(draft.path, batch.schema)
                writer.write_batch(batch.replace_schema_metadata(writer.schema.metadata))
                count += batch.num_rows
                report(count)
        finally:
            if writer is not None:
                writer.close()
        if writer is None:
            raise LedgerError(f"{path}: there are no records to export, and so no columns.")
        draft.commit()
    return count


def _batch_records(rows: Iterator[tuple[str, PackedRecord]]) -> Iterator[list[tuple[str, PackedRecord]]]:
    while together := list(islice(rows, _BATCH)):
        yield together


def _check_file(path: Path) -> int:
    """Return how many records a file says it has; LedgerError where its end is missing or it is not as written."""
    digest = hashlib.sha256()
    held = b""
    try:
        with path.open("rb") as file:
            for line in file:
                digest.update(held)
                held = line
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    try:
        end = decode(held)["end"]
        said, count = end["sha256"], int(end["records"])
    except (ValueError, KeyError, TypeError):
        raise LedgerError(
            f"{path} is no export of a ledger, or its end is missing. What `export` wrote as JSONL can be imported."
        ) from None
    if said != digest.hexdigest():
        raise LedgerError(f"{path} is not as it was written: its checksum is another. Nothing was imported.")
    return count


def _read_records(store: Store, path: Path) -> Iterator[tuple[str, PackedRecord]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                content = decode(line)
                if "record" in content:
                    yield (
                        validate_string("source", content["record"]["source"]) or "",
                        _build_record(store, content["record"]),
                    )
                elif "reward" in content:
                    store.specs.get_layout(Reward.from_dict(content["reward"]))
                elif "plaudit_ledger" in content and content["plaudit_ledger"]["format"] != FORMAT:
                    raise LedgerError(f"it has format {content['plaudit_ledger']['format']}, not {FORMAT}")
            except (PlauditError, ValueError, KeyError, TypeError) as error:
                what = describe_problem(error) if type(error) is ValueError else str(error)
                raise LedgerError(f"{path}, line {number}: {what}. Nothing was imported.") from None


def _build_record(store: Store, record: Mapping[str, Any]) -> PackedRecord:
    if record.get("origin") is not None:
        raise SpecError("it is a re-scored record; import what was recorded, and re-score it there")
    signal = Signal.from_dict(record["signal"])
    given: dict[str, Any] = {name: record.get(name) for name in CONTEXT_FIELDS}
    context = Context(**{**given, "at": datetime.fromisoformat(record["at"])})
    if record.get("target") not in ("python", "numpy"):
        raise SpecError(f"the target {record.get('target')!r} is not known")
    packed = store.specs.find_layout(signal).pack(signal, context, store.writer.now)
    return packed._replace(target=record["target"])


def _read_with_sources(store: Store, history: History) -> Iterator[tuple[str, Record]]:
    """Yield records, each with its source: the writer, block and position under which it was first recorded."""
    with store.backend.snapshot() as connection:
        any_imported = connection.execute(select(func.count()).select_from(imported)).scalar_one() > 0
    tokens: dict[int, str] = {}
    for page in history.pages():
        row = page.row
        known: dict[int, str] = {}
        if any_imported or row.writer not in tokens:
            with store.backend.snapshot() as connection:
                tokens = {each.id: each.token for each in connection.execute(select(writers.c.id, writers.c.token))}
                inside = imported.c.record.between(row.first, row.first + row.records - 1)
                known = {each.record: each.source for each in connection.execute(select(imported).where(inside))}
        with page.report_damage():
            writer = tokens[row.writer]
        for record in read_records(page):
            own = f"{writer}/{row.seq}/{record.id - row.first}"
            yield known.get(record.id, own), record


def _find_known_sources(store: Store, sources: Iterable[str]) -> set[str]:
    """Return which of these records a ledger has: those it was the first to record, and those it took in."""
    wanted = list(sources)
    with store.backend.snapshot() as connection:
        own = {token for (token,) in connection.execute(select(writers.c.token))}
        found = {source for source in wanted if source.partition("/")[0] in own}
        for start in range(0, len(wanted), _SOURCES):
            part = select(imported.c.source).where(imported.c.source.in_(wanted[start : start + _SOURCES]))
            found |= {source for (source,) in connection.execute(part)}
    return found


def _copy_tables(backend: Backend, draft: Path) -> None:
    """Copy every row of a ledger on a server into a new file, in one view of it."""
    made = SqliteBackend(draft, read_only=False, timeout=60)
    try:
        upgrade_tables(made)
    finally:
        made.close()
    engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(draft), poolclass=NullPool)
    with made.translate_errors():
        with backend.snapshot() as source, engine.begin() as copy:
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
