"""Databases that run what the `sql` target writes: rows in, NumPy arrays of scores out."""

import math
import sqlite3
import weakref

import numpy as np
import pytest

from plaudit import Scores
from plaudit.targets.columns import name_columns
from plaudit.targets.inputs import list_slots
from plaudit.testing.batches import list_numbers
from plaudit.testing.rows import as_inputs
from plaudit.testing.tolerance import EXACT

TYPES = {
    "duckdb": {"number": "DOUBLE", "flag": "BOOLEAN", "category": "VARCHAR", "id": "BIGINT"},
    "sqlite": {"number": "REAL", "flag": "BOOLEAN", "category": "TEXT", "id": "INTEGER"},
    "postgres": {"number": "float8", "flag": "boolean", "category": "text", "id": "bigint"},
}


def kinds_of(reward, *, keys=()):
    """Return the columns that a reward reads, each with the kind of what it holds."""
    found = dict.fromkeys(keys, "id")
    for place in list_slots(reward.program):
        name = place.name.rpartition(".")[2] if keys else place.name
        found[name] = place.field.kind
    return found


def flat(row):
    """Return a row with vectors as columns of their own: `force[0]`, `force[1]`, and so on."""
    found = {}
    for name, value in row.items():
        if isinstance(value, tuple):
            found |= {f"{name}[{i}]": entry for i, entry in enumerate(value)}
        else:
            found[name] = value
    return found


class Engine:
    """One database with one table at a time."""

    name = ""
    mark = "?"

    def fill(self, columns, rows, table="steps"):
        """Create a table and put rows, dicts by column name, into it."""
        types = TYPES[self.name]
        quoted = [f'"{name.replace(chr(34), 2 * chr(34))}"' for name in columns]
        declared = ", ".join(
            f"{name} {types.get(kind, kind)}" for name, kind in zip(quoted, columns.values(), strict=True)
        )
        table = '"{}"'.format(table.replace('"', '""'))
        self.execute(f"DROP TABLE IF EXISTS {table}")
        self.execute(f"CREATE TABLE {table} ({declared})")
        marks = ", ".join([self.mark] * len(columns))
        if rows:
            self.insert(f"INSERT INTO {table} VALUES ({marks})", [[row.get(name) for name in columns] for row in rows])

    def insert(self, statement, rows):
        raise NotImplementedError

    def execute(self, statement):
        raise NotImplementedError

    def rows(self, statement):
        """Return the rows of a query as dicts."""
        cursor = self.execute(statement)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


class DuckDB(Engine):
    name = "duckdb"

    def __init__(self):
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")

    def execute(self, statement):
        return self.connection.execute(statement)

    def insert(self, statement, rows):
        import pyarrow

        names = [f"c{i}" for i in range(len(rows[0]))]  # row by row DuckDB is slow
        arrays = [pyarrow.array(list(column)) for column in zip(*rows, strict=True)]
        self.connection.register("incoming", pyarrow.table(arrays, names=names))
        self.connection.execute(f"{statement.rpartition(' VALUES ')[0]} SELECT * FROM incoming")
        self.connection.unregister("incoming")


class SQLite(Engine):
    name = "sqlite"

    def __init__(self):
        self.connection = sqlite3.connect(":memory:")
        weakref.finalize(self, self.connection.close)

    def execute(self, statement):
        return self.connection.execute(statement)

    def insert(self, statement, rows):
        self.connection.executemany(statement, rows)


class Postgres(Engine):
    name = "postgres"
    mark = "%s"

    def __init__(self, url):
        import psycopg

        # Nothing is prepared: the next table of the same name has other columns.
        self.connection = psycopg.connect(url, autocommit=True, prepare_threshold=None)

    def execute(self, statement):
        return self.connection.execute(statement.encode())

    def insert(self, statement, rows):
        start, _, marks = statement.rpartition(" VALUES ")
        statement = f"{start.replace('%', '%%')} VALUES {marks}"
        with self.connection.cursor() as cursor:
            cursor.executemany(statement.encode(), rows)


def scored(engine, reward, rows, **options):
    """Return the scores of rows, dicts from input to Python value, as the `select` of a reward gives them."""
    return select(engine, reward.compile("sql", dialect=engine.name, **options), reward, rows)


def select(engine, compiled, reward, rows):
    """Return the scores of rows as a compiled reward gives them."""
    columns = {"id": "id", **kinds_of(reward)}
    engine.fill(columns, [{"id": i, **flat(row)} for i, row in enumerate(rows)])
    return as_scores(reward, engine.rows(compiled.select("steps", keep=["id"]) + " ORDER BY 1"))


def as_scores(reward, found):
    """Return rows of a result as the `Scores` of a batch; NULL is NaN."""

    def column(name):
        return np.array([math.nan if row[name] is None else row[name] for row in found], np.float64)

    terms = reward.program.terms
    names = name_columns(terms, reward.program.inputs)
    return Scores(
        column("total"),
        {term: column(names[f"{term}.value"]) for term in terms},
        {term: column(names[f"{term}.score"]) for term in terms},
        np.array([bool(row["ok"]) for row in found]),
    )


def assert_as_python(reward, known, found):
    """Assert that scores are what the `python` target gives for each row, to the bit where IEEE 754 says so."""
    compiled = reward.compile("python", on_bad="mask")
    bits = all(isinstance(node, EXACT) for node in reward.program.nodes)
    numbers = list_numbers(found, found.values)
    for i, row in enumerate(known):
        wanted = compiled(as_inputs(row))
        assert found.ok[i] == wanted.ok, row
        for name, number in list_numbers(wanted, found.values).items():
            got = numbers[name][i]
            same = got == number or (math.isnan(got) and math.isnan(number))
            assert same or (not bits and got == pytest.approx(number, rel=1e-13, abs=1e-13)), (name, got, number, row)


def stored_in(engine):
    """Return what a database makes of a row: SQLite stores NaN as NULL."""

    def without_nan(value):
        if isinstance(value, tuple):
            return tuple(map(without_nan, value))
        return None if isinstance(value, float) and math.isnan(value) else value

    return (lambda row: {name: without_nan(value) for name, value in row.items()}) if engine.name == "sqlite" else dict
