"""Whether tables, indexes, views, triggers and constraints are those of a new ledger, and what columns hold."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Double, LargeBinary, Table, Text, func, select
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError

from plaudit.ledger.backends.backend import RANGE
from plaudit.ledger.storage.revisions import REVISION
from plaudit.ledger.storage.schema import blocks, list_statements, metadata, schema_revision
from plaudit.terminal import format_count

Objects = dict[tuple[str, str, str], Any]
"""By kind, table and name of an object, its definition."""

_STATISTICS = {("table", name, name) for name in ("sqlite_stat1", "sqlite_stat4")}
"""What SQLite keeps of tables for its planner; `compact` lets it."""
_LIST_SQLITE = "SELECT type, tbl_name, name, sql FROM sqlite_master"
_KINDS = ("null", "integer", "real", "text", "blob")
_STORED = {BigInteger: "integer", Text: "text", LargeBinary: "blob", Double: "real"}
"""What SQLite calls the type of a value, by the type of its column."""


class NothingToCompare(Exception):
    """The server does not let us make the tables of a new ledger, with which to compare those that are there."""


def find_changed_objects(connection: Connection) -> Iterator[str]:
    """Yield what differs from a new ledger; NothingToCompare where the server lets us make none.

    A SQLite file holds a ledger and nothing else. On a server, other tables, views and functions of the same schema
    are left alone, unless they are part of one of the ledger's tables or refer to one.
    """
    if connection.dialect.name == "sqlite":
        wanted = _list_new_sqlite(connection.dialect)
        found = _index(connection.exec_driver_sql(_LIST_SQLITE))
        found = {key: made for key, made in found.items() if key not in _STATISTICS}
    else:
        wanted = _list_new_postgresql(connection)
        found = _list_postgresql(connection, wanted)
        yield from _find_late_sequences(connection, found)
    for key in sorted(wanted.keys() | found.keys(), key=repr):
        kind, table, name = key
        what = f"the {kind} {name!r}" if name == table else f"the {kind} {name!r} of {table!r}"
        if key not in wanted:
            yield f"{what} was added: it is not part of a ledger"
        elif key not in found:
            yield f"{what} was removed"
        elif found[key] != wanted[key]:
            yield f"{what} was changed"


def _index(rows: Any) -> Objects:
    """Return objects by kind, table and name, whatever the blanks in their definitions."""
    return {(kind, table, name): sql.split() if isinstance(sql, str) else sql for kind, table, name, sql in rows}


@cache
def _list_new_sqlite(dialect: Dialect) -> Objects:
    with closing(sqlite3.connect(":memory:")) as made:
        for statement in list_statements(dialect):
            made.execute(statement)
        return _index(made.execute(_LIST_SQLITE))


# -- a server ----------------------------------------------------------------------------------------------------------

_LIST_POSTGRESQL = """
WITH own AS (
    SELECT c.*, quote_ident(n.nspname) || '.' AS prefix
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE {chosen}
)
SELECT CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' ELSE 'relation' END,
    c.relname, c.relname, concat_ws(' ', c.relkind, CASE WHEN c.relpersistence = 'u' THEN 'unlogged' END,
        c.relrowsecurity, c.relforcerowsecurity,
        CASE WHEN c.prefix <> (SELECT prefix FROM own WHERE relname = 'blocks') THEN c.prefix END,
        CASE WHEN c.relkind = 'v' THEN pg_get_viewdef(c.oid) END,
        (SELECT (s.seqtypid, s.seqstart, s.seqincrement, s.seqmax, s.seqmin, s.seqcache, s.seqcycle)::text
         FROM pg_sequence AS s WHERE s.seqrelid = c.oid))
FROM own AS c
UNION ALL SELECT 'column', c.relname, a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull,
        a.attidentity, a.attgenerated, a.attcollation, pg_get_expr(d.adbin, d.adrelid))
FROM own AS c JOIN pg_attribute AS a ON a.attrelid = c.oid LEFT JOIN pg_attrdef AS d
    ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
WHERE c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL SELECT 'constraint', coalesce(c.relname, other.relname), o.conname,
    concat_ws(' ', c.relname, pg_get_constraintdef(o.oid))
FROM pg_constraint AS o LEFT JOIN own AS c ON c.oid = o.conrelid LEFT JOIN own AS other ON other.oid = o.confrelid
WHERE coalesce(c.oid, other.oid) IS NOT NULL AND o.contype NOT IN ('n', 't')
UNION ALL SELECT 'index', c.relname, i.indexrelid::regclass::text,
    concat_ws(' ', replace(replace(pg_get_indexdef(i.indexrelid), c.prefix, ''), 'pg_temp.', ''), i.indisready)
FROM own AS c JOIN pg_index AS i ON i.indrelid = c.oid
UNION ALL SELECT 'trigger', c.relname, t.tgname,
    concat_ws(' ', replace(replace(pg_get_triggerdef(t.oid), c.prefix, ''), 'pg_temp.', ''), t.tgenabled)
FROM own AS c JOIN pg_trigger AS t ON t.tgrelid = c.oid WHERE NOT t.tgisinternal
UNION ALL SELECT 'rule', c.relname, r.rulename, pg_get_ruledef(r.oid)
FROM own AS c JOIN pg_rewrite AS r ON r.ev_class = c.oid WHERE r.rulename <> '_RETURN'
UNION ALL SELECT 'policy', c.relname, p.polname, NULL FROM own AS c JOIN pg_policy AS p ON p.polrelid = c.oid
UNION ALL SELECT 'child table', c.relname, h.inhrelid::regclass::text, NULL
FROM own AS c JOIN pg_inherits AS h ON h.inhparent = c.oid
UNION ALL SELECT 'function', p.proname, p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
    replace(replace(pg_get_functiondef(p.oid), c.prefix, ''), 'pg_temp.', '')
FROM own AS c JOIN pg_proc AS p ON p.pronamespace = c.relnamespace
WHERE c.relname = 'appended' AND p.proname = 'append_block'
"""
_NEW = _LIST_POSTGRESQL.format(chosen="c.relnamespace = pg_my_temp_schema() AND c.relkind IN ('r', 'v', 'S')")
_THERE = _LIST_POSTGRESQL.format(chosen="c.oid IN (SELECT to_regclass(name) FROM unnest(%s::text[]) AS name)")
_LAST_NUMBERS = """
SELECT sequencename, coalesce(last_value, 0) FROM pg_sequences -- which is NULL too where one may not know it
WHERE has_sequence_privilege(quote_ident(schemaname) || '.' || quote_ident(sequencename), 'SELECT, USAGE')
    AND schemaname = (SELECT n.nspname FROM pg_namespace AS n JOIN pg_class AS c ON c.relnamespace = n.oid
                      WHERE c.oid = to_regclass('blocks'))
"""
_NUMBERED = ("specs", "scopes", "writers", "jobs", "quarantine")
"""Tables whose rows a sequence numbers."""
_MADE: dict[Any, Objects] = {}
"""The objects of a new ledger by version of the server, which decides how definitions are spelled."""


def _list_new_postgresql(connection: Connection) -> Objects:
    """Make the tables of a new ledger as temporary ones, list them, and take them back."""
    version = connection.dialect.server_version_info
    if version not in _MADE:
        # PostgreSQL finds no function in the schema of temporary tables by its name alone.
        script = ";".join(list_statements(connection.dialect))
        script = script.replace("EXECUTE FUNCTION ", "EXECUTE FUNCTION pg_temp.")
        with connection.engine.connect() as other:  # one that may write, also where this one may not
            try:
                other.exec_driver_sql("SET TRANSACTION READ WRITE")
                other.exec_driver_sql("SET LOCAL search_path = pg_temp")
                other.exec_driver_sql(script, execution_options={"no_parameters": True})
                _MADE[version] = _index(other.exec_driver_sql(_NEW))
            except DBAPIError as error:
                raise NothingToCompare(str(error.orig).strip()) from error
            finally:
                other.rollback()
    return _MADE[version]


def _list_postgresql(connection: Connection, wanted: Objects) -> Objects:
    names = [name for kind, _, name in wanted if kind in ("table", "view", "sequence")]
    return _index(connection.exec_driver_sql(_THERE, (names,)))


def _find_late_sequences(connection: Connection, found: Objects) -> Iterator[str]:
    """Yield the sequences whose next number is taken: a writer would believe that another one was quicker."""
    given: dict[str, int | None] = dict(connection.exec_driver_sql(_LAST_NUMBERS).all())
    for name in _NUMBERED:
        sequence, numbers = f"{name}_id_seq", metadata.tables[name].c.id
        last = given.get(sequence)
        if ("column", name, "id") in found and last is not None:
            highest = connection.execute(select(func.max(numbers))).scalar()
            if highest is not None and last < highest:
                yield f"the sequence {sequence!r} is behind: it would give a row of {name!r} a number that is taken"
    last = given.get("record_numbers")
    if ("sequence", "record_numbers", "record_numbers") in found and last is not None:
        highest = connection.execute(select(func.max(blocks.c.first))).scalar()
        if highest is not None and last + RANGE <= highest:
            yield "the sequence 'record_numbers' is behind: it would give a record a number that is taken"


# -- what columns hold -------------------------------------------------------------------------------------------------


def find_wrong_types(connection: Connection) -> Iterator[str]:
    """Yield the columns that hold another type, or NULL where there has to be a value.

    SQLite lets any column hold anything; a server does not.
    """
    if connection.dialect.name == "sqlite":
        for table in metadata.sorted_tables:
            if connection.exec_driver_sql(_build_count(table)).scalar_one():
                for column in table.columns:
                    yield from _describe_types(connection, table, column)
    found = connection.execute(select(schema_revision.c.number)).scalars().all()
    if found != [REVISION]:
        yield f"{schema_revision.name} holds {found!r:.100}, not {REVISION} alone: the ledger cannot be opened again"


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
