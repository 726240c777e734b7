"""Segments in a lake: what their addresses are, and how a file gets to one, whole and checked."""

import hashlib
import os
import re
import shutil
import tempfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from typing import Any

import pyarrow as pa

from plaudit.atomic import parse_path, sync_folder
from plaudit.errors import UnusableFile
from plaudit.ledger.storage.record_table import RecordTable
from plaudit.rows.addresses import (
    explain_storage_errors,
    find_local_path,
    is_address,
    join_address,
    open_address,
    upload_file,
)

_PLAIN = re.compile(r"[^0-9A-Za-z._-]+")
_READ = 4 << 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_lake(lake: str | os.PathLike[str]) -> str:
    """Return the address of a lake; a path becomes one.

    Raises:
        FileError: Its scheme is not supported, or it carries credentials.

    >>> parse_lake("s3://bucket/runs/"), parse_lake("/data/my lake")
    ('s3://bucket/runs', 'file:///data/my%20lake')
    """
    text = os.fspath(lake)
    if "://" in text:
        find_local_path(text)
        return text.rstrip("/")
    return Path(os.path.abspath(parse_path(lake))).as_uri()


def name_folder(records: RecordTable) -> str:
    """Return the folder for the files of a reward."""
    layout = records.layout
    reward = layout.reward
    part = "" if layout.part == "whole" else f"-{layout.part}"
    return f"{_PLAIN.sub('_', f'{reward.name}@{reward.version}')[:80]}{part}-{reward.fingerprint[:12]}"


def name_table(records: RecordTable) -> str:
    """Return the folder of a Delta table: one for each reward and each set of columns and types."""
    types = records.list_types()
    if not records.kept_scores and pa.float32() not in types.values():
        return name_folder(records)
    text = ",".join(f"{name}:{kind}" for name, kind in types.items())
    return f"{name_folder(records)}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"


def name_day(records: RecordTable) -> str:
    """Return what the day of a file is called: `day`, unless an input or a term has that name."""
    return "record.day" if "day" in records.list_types() else "day"


def build_address(lake: str, records: RecordTable, first: pa.Table, name: str) -> str:
    """Return where a file goes: to the day, in UTC, of its first record."""
    moment = first.column(records.names["time"])[0].cast(pa.int64()).as_py()
    day = (_EPOCH + timedelta(microseconds=moment)).date()
    return join_address(lake, name_table(records), f"{name_day(records)}={day.isoformat()}", name)


def split_address(address: str) -> tuple[str, str, str]:
    """Return the address of the table of a file, the path of the file in it, and its day.

    >>> split_address("s3://bucket/runs/walk@1/day=2026-11-01/a.parquet")
    ('s3://bucket/runs/walk@1', 'day=2026-11-01/a.parquet', '2026-11-01')
    """
    table, folder, name = address.rsplit("/", 2)
    return table, f"{folder}/{name}", folder.rpartition("=")[2]


def put_file(path: Path, address: str, size: int, sha256: bytes) -> None:
    """Copy a file to an address, and read it back; one that is there already, with the same bytes, stays.

    Raises:
        FileError: The storage does not take it, or does not give the same bytes back.
    """
    if _holds(address, size, sha256):
        return
    local = find_local_path(address)
    if local is None:
        upload_file(os.fspath(path), address)
    else:
        with explain_storage_errors(address):
            copy_file(path, Path(local))
    if not _holds(address, size, sha256):
        raise UnusableFile(f"{address} does not give back the {size:,} bytes that were written. Run this again.")


def put_bytes(data: bytes, address: str) -> None:
    """Write bytes to an address, and read them back."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "segment")
        path.write_bytes(data)
        put_file(path, address, len(data), hashlib.sha256(data).digest())


def remove_file(address: str) -> None:
    """Remove a file that nothing names; where that fails, it is left over."""
    with suppress(OSError):
        filesystem, where = open_address(address)
        filesystem.delete_file(where)


def hash_file(file: Any) -> tuple[int, bytes]:
    """Return the size and the SHA-256 of what can be read, and close it."""
    digest, size = hashlib.sha256(), 0
    with file:
        while part := file.read(_READ):
            digest.update(part)
            size += len(part)
    return size, digest.digest()


def copy_file(path: Path, target: Path) -> None:
    """Copy a file, which appears when it is complete and durable."""
    target.parent.mkdir(parents=True, exist_ok=True)
    hidden = target.with_name(f".{target.name}.{token_hex(4)}")
    try:
        shutil.copyfile(path, hidden)
        with hidden.open("rb+") as file:
            os.fsync(file.fileno())
        hidden.replace(target)
    finally:
        hidden.unlink(missing_ok=True)
    for folder in (target.parent, target.parent.parent):
        sync_folder(folder)


def _holds(address: str, size: int, sha256: bytes) -> bool:
    assert is_address(address)
    filesystem, where = open_address(address)
    with explain_storage_errors(address):
        if filesystem.get_file_info(where).size != size:
            return False
        return hash_file(filesystem.open_input_stream(where)) == (size, sha256)
