"""A write that a foreign constraint refuses: the error names it at once, and blames no other writer."""

import sqlite3

import pytest

from plaudit import Ledger
from plaudit.errors import LedgerBroken
from support.ledgers import signal, verified

RAISE = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$"
REFUSING = {
    "an expression": (
        "index 'e'|\"e\"",
        {"both": ["CREATE UNIQUE INDEX e ON blocks ((writer * 0))"]},
        ["DROP INDEX e"],
    ),
    "a column": (r"blocks\.target|\"e\"", {"both": ["CREATE UNIQUE INDEX e ON blocks (target)"]}, ["DROP INDEX e"]),
    "a check": (
        'CHECK constraint failed: e|check constraint "e"',
        {
            "sqlite": [
                "ALTER TABLE keys RENAME TO kept",
                "CREATE TABLE keys (key TEXT NOT NULL PRIMARY KEY, record INTEGER, CONSTRAINT e CHECK (record < 2))",
                "INSERT INTO keys SELECT * FROM kept",
            ],
            "postgresql": ["ALTER TABLE keys ADD CONSTRAINT e CHECK (record < 2)"],
        },
        {
            "sqlite": [
                "DROP TABLE keys",
                'CREATE TABLE keys ( "key" TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY ("key") )',
                "INSERT INTO keys SELECT * FROM kept",
                "DROP TABLE kept",
            ],
            "postgresql": ["ALTER TABLE keys DROP CONSTRAINT e"],
        },
    ),
    "a trigger": (
        "not today",
        {
            "sqlite": ["CREATE TRIGGER e BEFORE INSERT ON keys BEGIN SELECT RAISE(ABORT, 'not today'); END"],
            "postgresql": [
                RAISE,
                "CREATE TRIGGER e BEFORE INSERT ON keys FOR EACH ROW EXECUTE FUNCTION refuse()",
            ],
        },
        {"sqlite": ["DROP TRIGGER e"], "postgresql": ["DROP FUNCTION refuse CASCADE"]},
    ),
}


def execute(where, statements):
    """Execute the statements for the engine of a ledger."""
    on_server = str(where).startswith("postgresql")
    if isinstance(statements, dict):
        statements = statements.get("both") or statements["postgresql" if on_server else "sqlite"]
    if on_server:
        import psycopg

        with psycopg.connect(where, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)
        return
    connection = sqlite3.connect(where, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("what", REFUSING)
def test_a_constraint_that_no_ledger_has_is_named_at_once(where, what, monkeypatch):
    name, add, drop = REFUSING[what]
    with Ledger(where) as ledger:
        ledger.record(signal(0), key="one")
        execute(where, add)
        attempts = []
        transaction = ledger._store.backend.transaction
        monkeypatch.setattr(
            ledger._store.backend, "transaction", lambda **options: attempts.append(1) or transaction(**options)
        )
        with pytest.raises(LedgerBroken, match=rf"({name}).*It is not part of a ledger.*Drop it") as caught:
            ledger.record(signal(1), key="two")
        assert "quicker" not in str(caught.value)
        assert len(attempts) == 1
        assert not ledger.verify().ok
        execute(where, drop)
        assert ledger.record(signal(1), key="two") == 2
        verified(ledger)


def test_a_conflict_that_every_ledger_can_have_is_tried_again(where):
    """Another program adds the same scope between looking for it and adding it: the next attempt finds it."""
    with Ledger(where) as ledger:
        ledger.record(signal(0), run="old")
        writer, done = ledger._store.writer, []
        find_scope = writer._find_scope

        def find_late(cursor, scope):
            if not done:
                done.append(scope)
                cursor.execute("INSERT INTO scopes (digest) SELECT digest FROM scopes")  # as if somebody were quicker
            return find_scope(cursor, scope)

        writer._find_scope = find_late
        assert ledger.record(signal(1), run="new") == 2
        assert len(done) == 1
        verified(ledger)
