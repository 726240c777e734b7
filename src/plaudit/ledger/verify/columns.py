"""Whether every column holds the type that it is declared with: SQLite lets any column hold anything."""

from collections.abc import Iterator
from functools import cache

from sqlalchemy import BigInteger, Column, Connection, Double, LargeBinary, Table, Text

from plaudit.ledger.storage.schema import REVISION, metadata
from plaudit.terminal import format_count

_KINDS = ("null", "integer", "real", "text", "blob")
_STORED = {BigInteger: "integer", Text: "text", LargeBinary: "blob", Double: "real"}
"""What SQLite calls the type of a value, by the type of its column."""


def find_wrong_types(connection: Connection) -> Iterator[str]:
    """Yield the columns that hold another type, or NULL where there has to be a value; a server lets none in."""
    if connection.dialect.name == "sqlite":
        for table in metadata.sorted_tables:
            if connection.exec_driver_sql(_build_count(table)).scalar_one():
                for column in table.columns:
                    yield from _describe_types(connection, table, column)
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all()
    if found != [REVISION]:
        yield f"alembic_version holds {found!r:.100}, not {REVISION!r} alone: the ledger cannot be opened again"


@cache
def _build_count(table: Table) -> str:
    """Return what counts the rows with a value of another type, in one pass over the table that loads no value."""
    wrong = " OR ".join(
        f"({' AND '.join(f'{_format_type(column)} <> {kind!r}' for kind in _list_allowed(column))})"
        for column in table.columns
    )
    return f'SELECT count(*) FROM "{table.name}" WHERE {wrong}'


def _describe_types(connection: Connection, table: Table, column: Column[object]) -> Iterator[str]:
    allowed = _list_allowed(column)
    for kind in _KINDS:  # one by one: to group by them, SQLite would load the values
        if kind not in allowed:
            held = f'SELECT count(*) FROM "{table.name}" WHERE {_format_type(column)} = {kind!r}'
            count = connection.exec_driver_sql(held).scalar_one()
            if count:
                rows = format_count(count, "row")
                yield f"the column {column.name!r} of {table.name!r} holds {kind} instead of {allowed[0]}, in {rows}"


def _list_allowed(column: Column[object]) -> tuple[str, ...]:
    stored = _STORED[type(column.type)]
    return (stored, "null") if column.nullable else (stored,)


def _format_type(column: Column[object]) -> str:
    return f'typeof("{column.name}")'
