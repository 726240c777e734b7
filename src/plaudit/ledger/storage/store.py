"""What a ledger is made of once it is open: a database, the rewards in it, and one writer."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from plaudit.errors import FileError, InputError, LedgerError, WrongType, shorten
from plaudit.ledger.backends.backend import Backend
from plaudit.ledger.backends.sqlite import SqliteBackend
from plaudit.ledger.storage.revisions import prepare_tables
from plaudit.ledger.storage.segment_rows import SegmentReader
from plaudit.ledger.storage.signing import Signer
from plaudit.ledger.storage.specs import SpecCache
from plaudit.ledger.storage.writer import BlockWriter
from plaudit.rows.addresses import resolve_address


@dataclass(frozen=True, slots=True)
class Store:
    """An open ledger, as the modules that read and write it use it."""

    backend: Backend
    specs: SpecCache
    writer: BlockWriter
    segments: SegmentReader
    """Reads the columns of blocks that lie in Parquet files."""


def open_store(
    where: str | os.PathLike[str],
    *,
    read_only: bool,
    timeout: float,
    clock: Callable[[], datetime] | None,
    signer: Signer | None = None,
    lake: str | None = None,
) -> Store:
    """Open the database at a path or an address, with tables that fit; it is made if it is not there.

    A ledger on a server writes many records at once to the `lake`, where it has one.
    """
    try:
        kept = 0 <= timeout < math.inf
    except TypeError:
        kept = False
    if not kept:
        raise InputError(f"timeout={shorten(timeout)} must be a number of seconds, 0 or more.")
    backend = _open_backend(where, read_only=read_only, timeout=timeout)
    try:
        prepare_tables(backend)
        backend.segments = _open_segments(backend, lake)
    except BaseException:
        backend.close()
        raise
    specs = SpecCache(backend)
    reader = SegmentReader(backend, specs)
    return Store(backend, specs, BlockWriter(backend, reader, clock, signer), reader)


def _open_segments(backend: Backend, lake: str | None) -> Any:
    """Return the segments beside a ledger in a file, or in a lake; None where pyarrow is not installed."""
    try:
        from plaudit.ledger.storage.lake_files import parse_lake
        from plaudit.ledger.storage.segments import Segments
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyarrow":
            raise
        return None
    if isinstance(backend, SqliteBackend):
        return Segments(backend.path.with_name(f"{backend.path.name}.segments"))
    return Segments(None, None if lake is None else parse_lake(lake))


def _open_backend(where: str | os.PathLike[str], *, read_only: bool, timeout: float) -> Backend:
    try:
        address = os.fspath(Path(where)) if not isinstance(where, str) else where
    except TypeError:
        raise WrongType(
            f"{shorten(where)} is not a place for a ledger; pass a path or a postgresql:// address."
        ) from None
    if address in ("", ":memory:"):
        raise FileError(
            f"a ledger is kept in a file, and {address!r} is not one; use a temporary file for a short-lived ledger."
        )
    if address.startswith("file://"):
        where = address = resolve_address(address)
    if "://" not in address:
        return SqliteBackend(where, read_only=read_only, timeout=timeout)
    if not address.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
        scheme = address.partition("://")[0]
        path = address.removeprefix("sqlite:///")
        hint = f" Write the path alone: Ledger({path!r})." if scheme == "sqlite" else ""
        raise LedgerError(f"a ledger is a file or postgresql://…; {scheme}:// is neither.{hint}")
    from plaudit.ledger.backends.postgres import PostgresBackend

    return PostgresBackend(address.replace("postgres://", "postgresql://", 1), read_only=read_only, timeout=timeout)
