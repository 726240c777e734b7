"""Whether tables, indexes, views and triggers are those that the migrations make."""

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Inspector, Table, UniqueConstraint, inspect, text
from sqlalchemy.exc import DBAPIError

from plaudit.ledger.storage.schema import metadata


class _Texts(NamedTuple):
    """What the migrations say: views and triggers of SQLite, views of PostgreSQL and the source of its function."""

    sqlite: dict[str, str]
    postgresql: dict[str, str]
    function: str


@cache
def _read_migrations() -> _Texts:
    # Alembic comes with them, and takes a quarter of the time that a ledger takes to import.
    from plaudit.ledger.storage.migrations.versions import first_0001, third_0003

    return _Texts(
        sqlite={
            "readable": first_0001._SQLITE,
            "appended": third_0003.VIEW,
            "append": third_0003.SQLITE_APPEND,
        },
        postgresql={"readable": first_0001._POSTGRESQL, "appended": third_0003.VIEW},
        function=third_0003.APPEND_SOURCE,
    )


def find_changed_objects(connection: Connection) -> list[str]:
    """Return what is not as the migrations make it. Tables and indexes that somebody added do no harm."""
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").all()
        return list(_check_sqlite(tuple(map(tuple, rows)), _Once(connection)))
    return [*_check_tables(inspect(connection)), *_check_postgresql(connection)]


class _Once:
    """A connection that is no part of what is remembered: the same objects give the same answer."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Once)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=8)
def _check_sqlite(found: tuple[Any, ...], once: _Once) -> tuple[str, ...]:
    problems, wanted = list(_check_tables(inspect(once.connection))), _read_migrations().sqlite
    texts = {name: (kind, sql) for kind, name, sql in found if kind in ("view", "trigger")}
    for name in sorted(texts.keys() | wanted.keys()):
        kind, sql = texts.get(name, ("view or trigger", None))
        if name not in wanted:
            problems.append(f"the {kind} {name!r} was added")
        elif sql is None:
            problems.append(f"the {kind} {name!r} was removed")
        elif sql.split() != wanted[name].split():
            problems.append(f"the {kind} {name!r} is not what it was")
    return tuple(problems)


def _check_tables(found: Inspector) -> Iterator[str]:
    columns, indexes = _read_columns(found), _read_indexes(found)
    for table in metadata.sorted_tables:
        if table.name not in columns:
            yield f"the table {table.name!r} was removed"
        elif _describe_columns(table) != columns[table.name]:
            yield f"the columns of {table.name!r} are not what they were"
        else:
            for wanted in sorted(_describe_indexes(table) - indexes.get(table.name, set())):
                yield f"the index of {table.name!r} on {', '.join(wanted[0])} was removed or is another"


def _describe_columns(table: Table) -> list[tuple[Any, ...]]:
    return [(c.name, c.type._type_affinity, bool(c.nullable), c.primary_key) for c in table.columns]


def _read_columns(found: Inspector) -> dict[str, list[tuple[Any, ...]]]:
    """Return the columns of every table that is there; a server is asked about all of them at once."""
    primary = {table: key["constrained_columns"] for table, key in _ask(found.get_multi_pk_constraint).items()}
    return {
        table: [
            (c["name"], c["type"]._type_affinity, c["nullable"] and c["name"] not in keys, c["name"] in keys)
            for c in columns
        ]
        for table, columns in _ask(found.get_multi_columns).items()
        if (keys := primary.get(table)) is not None  # of a table whose definition is damaged there is none
    }


def _ask(reflect: Callable[..., Any]) -> dict[str, Any]:
    """Return what the database says about each of our tables that is there."""
    return {name: said for (_, name), said in reflect(filter_names=list(metadata.tables)).items()}


def _describe_indexes(table: Table) -> set[tuple[tuple[str, ...], bool]]:
    indexes = {(tuple(column.name for column in index.columns), bool(index.unique)) for index in table.indexes}
    uniques = [each for each in table.constraints if isinstance(each, UniqueConstraint)]
    return indexes | {(tuple(column.name for column in each.columns), True) for each in uniques}


def _read_indexes(found: Inspector) -> dict[str, set[tuple[tuple[str, ...], bool]]]:
    uniques = _ask(found.get_multi_unique_constraints)
    return {
        table: {(tuple(map(str, index["column_names"])), bool(index["unique"])) for index in indexes}
        | {(tuple(each["column_names"]), True) for each in uniques.get(table, ())}
        for table, indexes in _ask(found.get_multi_indexes).items()
    }


def _check_postgresql(connection: Connection) -> Iterator[str]:
    migrations = _read_migrations()
    source = connection.execute(text("SELECT prosrc FROM pg_proc WHERE proname = 'append_block'")).scalars().all()
    if source != [migrations.function]:
        yield "the function 'append_block' was removed or is not what it was"
    names = [*(table.name for table in metadata.sorted_tables), *migrations.postgresql]
    triggers = text(
        "SELECT t.tgname, c.relname, p.proname, t.tgenabled FROM pg_trigger AS t "
        "JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_proc AS p ON p.oid = t.tgfoid "
        "WHERE NOT t.tgisinternal AND pg_table_is_visible(c.oid)"
    )
    found = [tuple(row) for row in connection.execute(triggers) if row.relname in names]
    if found != [("append", "appended", "append_block", "O")]:
        yield "a trigger was added or removed, or is not what it was"
    for name, wanted in migrations.postgresql.items():
        if not _is_same_view(connection, name, wanted):
            yield f"the view {name!r} was removed or is not what it was"


def _is_same_view(connection: Connection, name: str, wanted: str) -> bool:
    """Return whether a view is defined as `wanted`, which the server reads once more to spell it in the same way."""
    definition = text("SELECT pg_get_viewdef(to_regclass(:name))")
    there = connection.execute(definition, {"name": name}).scalar()
    if there is None:
        return False
    attempt = connection.begin_nested()
    try:
        again = wanted.replace(f"CREATE VIEW {name}", f"CREATE TEMPORARY VIEW {name}_again").replace("%", "%%")
        connection.exec_driver_sql(again)
        expected = connection.execute(definition, {"name": f"{name}_again"}).scalar()
    except DBAPIError:  # a standby, or somebody who may only read: nothing to compare with
        return True
    finally:
        attempt.rollback()
    return bool(there == expected)
