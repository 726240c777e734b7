"""What SQL can do to a ledger behind its back, listed from the metadata of its tables, and what the ledger answers."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import Column, Double, LargeBinary, Table, Text, UniqueConstraint
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from plaudit import Field, Ledger, Reward, term
from plaudit.errors import PlauditError
from plaudit.ledger.exchange.quarantine import Refused, add_quarantined
from plaudit.ledger.storage.schema import metadata
from plaudit.llm import Scoring, feature
from support.ledgers import REWARD, columns, end, signal, verified
from support.samples import EPISODES, handover, maze

TABLES = metadata.sorted_tables


@feature
def words(text):
    return len(text.split())


@term
def short(words):
    return 1 - words / 10


BRIEF = Reward("brief", version="1", terms=[short], fields=[Field("words", low=0, high=100)])
OTHER = REWARD.with_params(comfort={"harsh": 5.0}).with_version("2")
NEXT = REWARD.with_params(comfort={"harsh": 6.0}).with_version("3")


def record_everything(where, folder):
    """Make a small ledger with something of everything."""
    with Ledger(where) as ledger:
        ledger.record(signal(0))  # no context at all
        ledger.record(signal(1), run="first", step=1, key="one", context={"a": [1, None]})
        ledger.record_batch(
            REWARD, columns(2, 6), run="first", phase="drive", step=range(2, 6), episode=["a", "a", "b", "c"]
        )
        for row in EPISODES["handover"][:2]:
            ledger.record(handover.score(**row), run="second", actor="agent")
        ledger.record(end(), run="second", actor="agent")
    with Ledger(where) as ledger:
        for at, row in enumerate(EPISODES["maze"][:2]):
            ledger.record(maze.score(**row), decision_class="move", key="move" if at else None)
        ledger.record(signal(7), run="first", step=7, key="seven")
        ledger.rescore(OTHER, run="first")
        with Ledger(folder / "other.db") as other:
            other.record_many(signal(n) for n in range(20, 23))
            other.export(folder / "other.jsonl")
        ledger.import_file(folder / "other.jsonl")
        apart = [Refused("elsewhere/1", line, "its total is another", {"total": line}) for line in (3, 4)]
        store = ledger._store
        store.writer.transact(lambda cursor: add_quarantined(store, cursor, "forged.jsonl", apart))
        for step in (1, 2):
            scoring = Scoring(BRIEF, [words], ledger=ledger, run="texts", actor=f"scorer{step}")
            scoring.score([{"prompt": "why?", "completion": text} for text in ("so", "it is so")], step=step)
        ledger.forget(run="texts", step=1)
        verified(ledger)


# -- what the ledger answers -----------------------------------------------------------------------------------------

QUERIES = [{}, {"run": "first"}, {"decision_class": "move"}, {"actor": "agent"}, {"episode": "a"}, {"step": 3},
           {"key": "one"}, {"reward": "handover"}, {"version": "2", "job": 1}, {"job": 1}, {"since": "2020-01-01"}]  # fmt: skip


def is_named(where) -> bool:
    """Return whether `verify` finds something, or the ledger cannot even be opened."""
    try:
        with Ledger(where, read_only=True) as ledger:
            return not ledger.verify().ok
    except PlauditError:
        return True


def answer(where) -> list[Any]:
    """Return what a ledger says to whoever reads it, records keys again and new ones, and re-scores it."""
    with Ledger(where, clock=lambda: datetime(2030, 1, 1, tzinfo=UTC)) as ledger:
        return [_answer(ledger, ask) for ask in _ASKED]


def _answer(ledger: Ledger, ask: Callable[[Ledger], Any]) -> Any:
    try:
        return ask(ledger)
    except PlauditError as error:
        return type(error).__name__


def _read_all(ledger: Ledger) -> list[Any]:
    found: list[Any] = [[record.to_dict() for record in ledger.history(**query)] for query in QUERIES]
    found.append([ledger.read_texts(record) for record in ledger.history(run="texts")])
    return [*found, *([each.to_dict() for each in ledger.episodes(**query)] for query in ({}, {"job": 1}))]


_ASKED: list[Callable[[Ledger], Any]] = [
    _read_all,
    lambda ledger: ledger.record(signal(1), run="first", step=1, key="one", context={"a": [1, None]}),
    lambda ledger: ledger.record(signal(2), run="first", step=1, key="one", context={"a": [1, None]}),
    lambda ledger: ledger.record(signal(7), run="first", step=7, key="seven"),
    lambda ledger: ledger.record(signal(30), run="new", step=1, key="new", episode="d"),
    lambda ledger: ledger.record(signal(31), run="new", step=2, episode="d"),
    lambda ledger: ledger.record_batch(REWARD, columns(32, 36), run="first", step=range(4), episode=["a"] * 4),
    lambda ledger: ledger.rescore(OTHER, run="first").to_dict(),
    lambda ledger: ledger.rescore(NEXT).to_dict(),
    lambda ledger: [job.to_dict() for job in ledger.jobs()],
    _read_all,
    lambda ledger: ledger.verify().ok,
]


# -- what SQL can do -------------------------------------------------------------------------------------------------


class Edit(NamedTuple):
    """Statements that change one thing."""

    kind: str
    table: str
    statements: tuple[str, ...]
    column: str | None = None
    """Where it changes a value."""

    @property
    def covered(self) -> tuple[str, ...]:
        """What it is an example of: its kind and its column, or what is done to rows of its table."""
        if self.column is not None:
            return self.kind, f"{self.table}.{self.column}"
        return (f"{self.kind} of {self.table}",) if self.changes_rows else (self.kind,)

    @property
    def changes_rows(self) -> bool:
        """Whether it changes rows of its table, and nothing else."""
        return self.statements[0].startswith(("UPDATE", "INSERT", "DELETE"))

    def __str__(self) -> str:
        return f"{self.kind}: {'; '.join(self.statements)}"


Rows = dict[str, list[dict[str, Any]]]
"""The rows of each table."""

_CASTS = {"sqlite": ("BLOB", "TEXT", "INTEGER", "REAL"), "postgresql": ()}
_VALUES: dict[str, tuple[str, ...]] = {
    "integer": ("{c} + 1", "{c} - 1", "-{c}", "0", "1", "999", "1099511627776", "9223372036854775807"),
    "real": ("{c} * 2", "-{c}", "0.0"),
    "text": (
        *("{c} || 'x'", "substr({c}, 2)", "upper({c})", "replace({c}, '1', '2')", "''", "'x'", "'None'", "'null'"),
        *("'[]'", "'[null]'", "'[['", "'[1, 2]'", "'[\"x\"]'", "'0001'", "'0003'"),
    ),
    "bytes": ("substr({c}, 2)", "substr({c}, 9)", "{longer}", "{empty}", "{zeros}"),
}
_BYTES = {
    "sqlite": {"longer": "CAST({c} || zeroblob(8) AS BLOB)", "empty": "x''", "zeros": "zeroblob(length({c}))"},
    "postgresql": {
        "longer": "{c} || decode(repeat('00', 8), 'hex')",
        "empty": "decode('', 'hex')",
        "zeros": "decode(repeat('00', length({c})), 'hex')",
    },
}
_WRONG = {"sqlite": ("0", "1.5", "'text'", "zeroblob(3)"), "postgresql": ()}
"""Values of any type, which SQLite takes wherever they are put."""


def _name_kind(column: Column[Any]) -> str:
    kinds = {Text: "text", LargeBinary: "bytes", Double: "real"}
    return next((name for kind, name in kinds.items() if isinstance(column.type, kind)), "integer")


def _quote(value: Any) -> str:
    return f"""'{value.replace("'", "''")}'""" if isinstance(value, str) else str(value)


def _locate(table: Table, row: dict[str, Any]) -> str:
    return " AND ".join(f"{column.name} = {_quote(row[column.name])}" for column in table.primary_key.columns)


def list_edits(dialect: str, rows: Rows, objects: Sequence[tuple[str, str]]) -> Iterator[Edit]:
    """Yield everything that is tried; `objects` are kind and name of what the schema has besides tables."""
    for table in TABLES:
        for row in rows[table.name]:
            for column in table.columns:
                yield from _edit_value(dialect, table, row, column)
            yield Edit("row deleted", table.name, (f"DELETE FROM {table.name} WHERE {_locate(table, row)}",))
            yield _duplicate_row(table, row)
        for row, other in zip(rows[table.name], rows[table.name][1:], strict=False):
            yield _swap_rows(table, row, other)
            for column in table.columns:
                if column.name not in table.primary_key.columns:
                    yield _swap_values(table, column, row, other)
        yield Edit("table emptied", table.name, (f"DELETE FROM {table.name}",))
        yield from _change_table(dialect, table)
    yield from _change_objects(dialect, objects)


def _edit_value(dialect: str, table: Table, row: dict[str, Any], column: Column[Any]) -> Iterator[Edit]:
    found = {f"cast to {kind}": f"CAST({column.name} AS {kind})" for kind in _CASTS[dialect]}
    found |= {"set to NULL": "NULL"}
    found |= {f"wrong type {value}": value for value in _WRONG[dialect]}
    values = {name: text.format(c=column.name) for name, text in _BYTES[dialect].items()}
    kind = _name_kind(column)
    found |= {f"other {kind} {value}": value.format(c=column.name, **values) for value in _VALUES[kind]}
    for name, value in found.items():
        changed = f"UPDATE {table.name} SET {column.name} = {value} WHERE {_locate(table, row)}"
        yield Edit(name, table.name, (changed,), column.name)


def _duplicate_row(table: Table, row: dict[str, Any]) -> Edit:
    """Return what adds a row once more, but for what has to be unique."""
    constraints = [each for each in table.constraints if isinstance(each, UniqueConstraint)]
    unique = {name for each in (table.primary_key, *constraints) for name in each.columns.keys()}  # noqa: SIM118  # no dict
    values = [
        column.name
        if column.name not in unique
        else f"{column.name} || 'x'"
        if isinstance(column.type, Text)
        else f"{column.name} + 1000"
        for column in table.columns
    ]
    names = ", ".join(column.name for column in table.columns)
    copied = f"SELECT {', '.join(values)} FROM {table.name} WHERE {_locate(table, row)}"
    return Edit("row duplicated", table.name, (f"INSERT INTO {table.name} ({names}) {copied}",))


def _swap_rows(table: Table, row: dict[str, Any], other: dict[str, Any]) -> Edit:
    """Return what gives each of two rows the primary key of the other, by way of one that no row has."""

    def move(start: dict[str, Any], end: dict[str, Any]) -> str:
        values = ", ".join(f"{column.name} = {_quote(end[column.name])}" for column in table.primary_key.columns)
        return f"UPDATE {table.name} SET {values} WHERE {_locate(table, start)}"

    away = {column.name: "away" if isinstance(column.type, Text) else -7 for column in table.primary_key.columns}
    return Edit("rows swapped", table.name, (move(row, away), move(other, row), move(away, other)))


def _swap_values(table: Table, column: Column[Any], row: dict[str, Any], other: dict[str, Any]) -> Edit:
    def read(where: dict[str, Any]) -> str:
        return f"(SELECT {column.name} FROM {table.name} WHERE {_locate(table, where)})"

    both = f"({_locate(table, row)}) OR ({_locate(table, other)})"
    value = f"CASE WHEN {_locate(table, row)} THEN {read(other)} ELSE {read(row)} END"
    swapped = f"UPDATE {table.name} SET {column.name} = {value} WHERE {both}"
    return Edit("values swapped", table.name, (swapped,), column.name)


def _change_table(dialect: str, table: Table) -> Iterator[Edit]:
    """Yield what is added to a table, and how its columns are declared otherwise."""
    name, first = table.name, next(iter(table.columns)).name

    def make(kind: str, *statements: str) -> Edit:
        return Edit(kind, name, statements)

    yield make("index added", f"CREATE INDEX e ON {name} ({first})")
    yield make(
        "unique index on an expression", f"CREATE UNIQUE INDEX e ON {name} ((CASE WHEN {first} IS NULL THEN 0 END))"
    )
    yield make("unique index of one row", f"CREATE UNIQUE INDEX e ON {name} ((CAST({first} AS TEXT) || 'x'))")
    yield make("partial index added", f"CREATE INDEX e ON {name} ({first}) WHERE {first} IS NULL")
    yield make("view added", f"CREATE VIEW e AS SELECT * FROM {name}")
    yield make("column added", f"ALTER TABLE {name} ADD COLUMN e TEXT")
    yield make("column renamed", f"ALTER TABLE {name} RENAME COLUMN {first} TO e")
    yield make("table renamed", f"ALTER TABLE {name} RENAME TO e")
    yield make("table dropped", f"DROP TABLE {name}" + (" CASCADE" if dialect == "postgresql" else ""))
    if dialect == "sqlite":
        for column in table.columns:
            yield make("unique index added", f"CREATE UNIQUE INDEX e ON {name} ({column.name})")
            yield make("column dropped", f"ALTER TABLE {name} DROP COLUMN {column.name}")
        for event in ("INSERT", "UPDATE", "DELETE"):
            for body in ("SELECT RAISE(IGNORE)", "SELECT RAISE(ABORT, 'no')", "SELECT 1"):
                made = f"CREATE TRIGGER e BEFORE {event} ON {name} BEGIN {body}; END"
                yield make(f"trigger added, {body}", made)
        declared = str(CreateTable(table).compile(dialect=sqlite.dialect()))
        for old, new in ((" NOT NULL", ""), ("TEXT", "BLOB"), ("INTEGER", "TEXT"), ("PRIMARY KEY", "UNIQUE")):
            if old not in declared:
                continue
            edited = f"UPDATE sqlite_master SET sql = replace(sql, '{old}', '{new}') WHERE name = '{name}'"
            yield make(f"declared without {old.strip()}", "PRAGMA writable_schema = ON", edited)
        return
    for column in table.columns:
        yield make("unique index added", f"CREATE UNIQUE INDEX e ON {name} ({column.name})")
        yield make("default changed", f"ALTER TABLE {name} ALTER {column.name} SET DEFAULT NULL")
        yield make("not null dropped", f"ALTER TABLE {name} ALTER {column.name} DROP NOT NULL")
        if _name_kind(column) == "integer":
            yield make("type changed", f"ALTER TABLE {name} ALTER {column.name} TYPE numeric")
        if _name_kind(column) == "text":
            yield make("collation changed", f'ALTER TABLE {name} ALTER {column.name} TYPE text COLLATE "C"')
    yield make("check added", f"ALTER TABLE {name} ADD CONSTRAINT e CHECK ({first} IS NULL) NOT VALID")
    yield make("unique constraint added", f"ALTER TABLE {name} ADD CONSTRAINT e UNIQUE ({first})")
    yield make("rule added", f"CREATE RULE e AS ON INSERT TO {name} DO INSTEAD NOTHING")
    yield make("child table added", f"CREATE TABLE e () INHERITS ({name})")
    yield make("child table with rows", f"CREATE TABLE e () INHERITS ({name})", f"INSERT INTO e SELECT * FROM {name}")
    yield make("row security", f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY")
    yield make("row security", f"CREATE POLICY e ON {name} USING (false)")
    yield make("unlogged", f"ALTER TABLE {name} SET UNLOGGED")
    spy = "CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}; END $$"
    for body in ("RETURN NULL", "RETURN NEW", "RAISE EXCEPTION 'no'"):
        made = f"CREATE TRIGGER e BEFORE INSERT ON {name} FOR EACH ROW EXECUTE FUNCTION spy()"
        yield make(f"trigger added, {body}", spy.format(body=body), made)
    keys = ", ".join(table.primary_key.columns.keys())
    referring = f"CREATE TABLE e AS SELECT {keys} FROM {name}"
    yield make("referred to", referring, f"ALTER TABLE e ADD FOREIGN KEY ({keys}) REFERENCES {name} ({keys})")


def _change_objects(dialect: str, objects: Sequence[tuple[str, str]]) -> Iterator[Edit]:
    """Yield what happens to what is no table, and what is added beside all tables."""
    for kind, name in objects:
        yield Edit(f"{kind} dropped", "", (f"DROP {kind.upper()} {name}{' CASCADE' * (dialect == 'postgresql')}",))
    for name in ("readable", "appended"):
        made = f"CREATE VIEW {name} AS SELECT first AS id, 100.0 AS total FROM blocks"
        cascade = " CASCADE" * (dialect == "postgresql")
        yield Edit("view replaced", "", (f"DROP VIEW {name}{cascade}", made))
    yield Edit("table added", "", ("CREATE TABLE e (n INTEGER)",))
    yield Edit("statistics", "", ("ANALYZE",))
    if dialect == "sqlite":
        yield Edit("user version", "", ("PRAGMA user_version = 7",))
        yield Edit("virtual table added", "", ("CREATE VIRTUAL TABLE e USING fts5(text)",))
        weaker = "UPDATE sqlite_master SET sql = replace(sql, 'changes() = 0', '0') WHERE name = 'append'"
        yield Edit("trigger replaced", "", ("PRAGMA writable_schema = ON", weaker))
        return
    yield Edit("view renamed", "", ("ALTER VIEW appended RENAME TO other",))
    yield Edit("trigger dropped", "", ("DROP TRIGGER append ON appended",))
    yield Edit("function replaced", "", (
        "CREATE OR REPLACE FUNCTION append_block() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
    ))  # fmt: skip
    yield Edit(
        "function overloaded", "", ("CREATE FUNCTION append_block(n int) RETURNS int LANGUAGE sql AS 'SELECT 1'",)
    )
    yield Edit("function altered", "", ("ALTER FUNCTION append_block() SET search_path = pg_temp",))
    for name in ("specs", "scopes", "writers", "quarantine"):  # of which there are several rows
        yield Edit("sequence set back", "", (f"SELECT setval('{name}_id_seq', 1)",))
        yield Edit("sequence restarted", "", (f"ALTER SEQUENCE {name}_id_seq RESTART",))
        yield Edit("sequence altered", "", (f"ALTER SEQUENCE {name}_id_seq INCREMENT -1",))
    shadow = ("CREATE SCHEMA postgres", "CREATE TABLE postgres.keys (key text PRIMARY KEY, record bigint NOT NULL)")
    yield Edit("shadowed", "", shadow)
    yield Edit("shadowed", "", (*shadow, "INSERT INTO postgres.keys SELECT * FROM public.keys"))
