"""Delta Lake tables: the files that a version lists, and commits of files that are complete."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable, Schema
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from plaudit.errors import FileError, UnusableFile
from plaudit.rows.addresses import explain_storage_errors, join_address, storage_options
from plaudit.rows.parquet_files import TableRows

LOG = "_delta_log"
_READABLE = {"deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint", "vacuumProtocolCheck"}
"""Features of tables under which their rows are what is read here."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """A Parquet file of a table."""

    path: str
    """Its path or address."""
    name: str
    """Its path in the table."""
    rows: TableRows


def list_files(address: str, version: int | None = None) -> list[TableFile]:
    """Return the files of a table, in the order of their names; those of its latest version, if none is given.

    Raises:
        UnusableFile: The table needs a feature that cannot be read here; the message names it.
        FileError: The table cannot be read, or has no such version.
    """
    with _explain_table_errors(address):
        table = DeltaTable(address, version=version, storage_options=storage_options(address))
        _check_features(address, table)
        schema = _plain(pa.schema(table.schema().to_arrow()))
        added: Any = pa.table(table.get_add_actions(flatten=False))
        gone = pa.table(table.deletion_vectors())
    selections = dict(zip(gone.column("filepath").to_pylist(), gone.column("selection_vector"), strict=True))
    files = []
    for at, path in enumerate(map(unquote, added.column("path").to_pylist())):
        if "://" in path or path.startswith("/"):
            raise UnusableFile(f"{address} cannot be read: it is a shallow clone, with files of another table.")
        constants = {}
        if "partition" in added.column_names:
            values = added.column("partition")[at].as_py()
            constants = {name: pa.scalar(value, schema.field(name).type) for name, value in values.items()}
        selected = next((kept for name, kept in selections.items() if _names(name, path)), None)
        kept = None if selected is None else np.asarray(selected.as_py(), bool)
        files.append(TableFile(join_address(address, path), path, TableRows(schema, constants, kept)))
    return sorted(files, key=lambda each: each.name)


def _names(uri: str, path: str) -> bool:
    return uri.endswith((f"/{path}", f"/{quote(path)}")) or uri in (path, quote(path))


def _check_features(address: str, table: DeltaTable) -> None:
    needed = set(table.protocol().reader_features or ())
    if table.protocol().min_reader_version == 2:
        mode = table.metadata().configuration.get("delta.columnMapping.mode", "none")
        needed |= {"columnMapping"} if mode != "none" else set()
    if unknown := sorted(needed - _READABLE):
        names = ", ".join(unknown)
        raise UnusableFile(f"{address} cannot be read: this Delta table uses {names}, which is not supported here.")


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema without what a table notes about its columns."""
    return pa.schema([pa.field(field.name, field.type, field.nullable) for field in schema])


def list_names(address: str) -> list[str] | None:
    """Return the names of the files in the latest version of a table to write to; None where there is no table."""
    options = storage_options(address)
    with _explain_table_errors(address):
        if not DeltaTable.is_deltatable(address, options):
            return None
        table = DeltaTable(address, storage_options=options)
        added: Any = pa.table(table.get_add_actions())
    if table.metadata().partition_columns:
        raise FileError(f"{address} is a Delta table with partitions; name another folder.")
    return [unquote(path) for path in added.column("path").to_pylist()]


def check_schema(schema: pa.Schema) -> None:
    """Raise a FileError where a table cannot have such columns."""
    for name in schema.names:
        if set(name) & set(" ,;{}()\n\t="):
            raise FileError(f"a Delta table cannot have a column {name!r}; choose another prefix= (--prefix).")


def commit_files(
    address: str, schema: pa.Schema, added: Mapping[str, tuple[int, int]], gone: Sequence[str], *, held: int | None
) -> None:
    """Add files to a table in one commit, which creates a table that does not exist.

    Args:
        address: The folder of the table; the files are in it.
        schema: The columns of the files.
        added: Bytes and rows of each file to add, by name.
        gone: The files that are no part of the new version.
        held: How many files the table has; None where it does not exist.
    """
    made, now = Schema.from_arrow(schema), int(time.time() * 1000)
    actions = [
        AddAction(name, size, {}, now, True, json.dumps({"numRecords": rows})) for name, (size, rows) in added.items()
    ]
    options = storage_options(address)
    with _explain_table_errors(address):
        if held is None:
            create_table_with_add_actions(address, made, actions, storage_options=options)
            return
        table = DeltaTable(address, storage_options=options)
        whole = held == len(gone)  # nothing of it stays: its columns may be others now
        changes: list[AddAction | RemoveAction] = [*actions]
        changes += [] if whole else [RemoveAction(name, True, now) for name in gone]
        table.create_write_transaction(changes, "overwrite" if whole else "append", made)


@contextmanager
def _explain_table_errors(address: str) -> Iterator[None]:
    with explain_storage_errors(address):
        try:
            yield
        except DeltaError as error:
            text = str(error)
            if any(word in text for word in ("Generic S3 error", "Generic GCS error", "HTTP", "<Error>")):
                raise OSError(text) from None
            raise UnusableFile(f"{address}: this Delta table cannot be used: {' '.join(text.split())[:300]}") from None
