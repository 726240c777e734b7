"""Whatever SQL does to a ledger: `verify` names it, or everybody is answered as before."""

import random
import shutil
import sqlite3
from collections import Counter
from contextlib import closing, contextmanager

import pytest

from support.edits import TABLES, answer, is_named, list_edits, record_everything


class File:
    """A ledger in a file, of which every edit gets a copy."""

    dialect = "sqlite"
    refused = sqlite3.Error

    def __init__(self, folder):
        self._original = folder / "ledger.db"
        record_everything(self._original, folder)

    @contextmanager
    def copy(self):
        path = self._original.with_name("copy.db")
        shutil.copy(self._original, path)
        yield path
        for end in ("", "-wal", "-shm", ".lock"):
            path.with_name(path.name + end).unlink(missing_ok=True)

    def execute(self, path, statements, fetch=""):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            for statement in statements:
                connection.execute(statement)
            return [dict(row) for row in connection.execute(fetch)] if fetch else []

    def list_objects(self, path):
        kinds = "SELECT type, name FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL"
        return [tuple(row.values()) for row in self.execute(path, (), kinds)]


class Database:
    """A ledger on a server, of which every edit gets a copy."""

    dialect = "postgresql"

    def __init__(self, server, folder):
        import psycopg

        self.refused = psycopg.Error
        self._server = server
        self._original = server.new_database()
        record_everything(self._original, folder)

    @contextmanager
    def copy(self):
        name = self._original.rpartition("/")[2]
        self.execute(self._server.url(), [f"CREATE DATABASE copied TEMPLATE {name}"])
        yield self._server.url("copied")
        self.execute(self._server.url(), ["DROP DATABASE copied WITH (FORCE)"])

    def execute(self, url, statements, fetch=""):
        import psycopg
        from psycopg.rows import dict_row

        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
            connection.execute("SET session_replication_role = replica")  # references are not looked at
            for statement in statements:
                connection.execute(statement)
            return connection.execute(fetch).fetchall() if fetch else []

    def list_objects(self, url):
        found = self.execute(url, (), "SELECT indexname AS name FROM pg_indexes WHERE schemaname = 'public'")
        return [("index", row["name"]) for row in found] + [("view", "appended"), ("function", "append_block")]

    def close(self):
        self._server.give_back(self._original)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return File(tmp_path_factory.mktemp("edits"))


@pytest.fixture(scope="module")
def database(postgres, tmp_path_factory):
    made = Database(postgres, tmp_path_factory.mktemp("edits"))
    yield made
    made.close()


def draw_edits(original, every=1):
    """Return the edits of one in `every` rows of each table, and all others, in a fixed order."""
    with original.copy() as where:
        rows = {table.name: original.execute(where, (), f"SELECT * FROM {table.name}") for table in TABLES}
        rows = {name: found[::every] for name, found in rows.items()}
        found = list(list_edits(original.dialect, rows, original.list_objects(where)))
    random.Random(1).shuffle(found)
    return found


def try_edit(original, edit, expected):
    """Return what becomes of an edit; None where the database refuses it, or it changes nothing."""
    with original.copy() as where:
        content = f"SELECT * FROM {edit.table}" if edit.changes_rows else ""
        before = original.execute(where, (), content)
        try:
            after = original.execute(where, edit.statements, content)
        except original.refused:
            return None
        if edit.changes_rows and sorted(map(repr, before)) == sorted(map(repr, after)):
            return None
        try:
            if is_named(where):
                return "named"
            return "harmless" if answer(where) == expected and is_left_alone(original, edit) else "overlooked"
        except Exception as error:
            raise AssertionError(f"an error that is not ours after {edit}") from error


LEFT_ALONE = {
    "sqlite": {"statistics", "user version"},
    "postgresql": {"statistics", "table added", "view added", "default changed", "not null dropped"},
}
"""What need not be named. On a server, a column that was made so has no default, or may be NULL, already."""


def is_left_alone(original, edit):
    """Return whether an edit may be harmless: no value is, but for a signature, which tells somebody with the key."""
    return edit.kind in LEFT_ALONE[original.dialect] or edit.column == "signature"


def try_edits(original, counted, edits, *, each):
    """Try edits: each of them, or only those of a kind, column or table that was not tried yet."""
    with original.copy() as where:
        assert not is_named(where)
        expected = answer(where)
        assert expected[-1] is True
    found, overlooked = Counter(named=0, harmless=0, overlooked=0), []
    covered: set[str] = set()
    for edit in edits:
        if each or not covered.issuperset(edit.covered):
            became = try_edit(original, edit, expected)
            if became is not None:
                covered.update(edit.covered)
                found[became] += 1
            if became == "overlooked":
                overlooked.append(str(edit))
    counted(f"edits of a ledger in {original.dialect}", **found)
    assert not overlooked, "verify is content with these edits:\n" + "\n".join(overlooked)
    missed = {example for edit in edits for example in edit.covered} - covered
    assert all(example.startswith("rows swapped") or example.endswith(" of segments") for example in missed), (
        f"not tried: {missed}"
    )  # some are equal


def test_an_edit_that_is_not_named_changes_no_answer(file, counted):
    try_edits(file, counted, draw_edits(file), each=False)


@pytest.mark.slow
def test_an_edit_on_a_server_that_is_not_named_changes_no_answer(database, counted):
    # Rows are read as they are from a file, and the server itself checks their types.
    try_edits(database, counted, [edit for edit in draw_edits(database) if not edit.changes_rows], each=False)


@pytest.mark.slow
def test_no_edit_that_is_not_named_changes_an_answer(file, counted):
    try_edits(file, counted, draw_edits(file), each=True)


@pytest.mark.slow
def test_no_edit_on_a_server_that_is_not_named_changes_an_answer(database, counted):
    try_edits(database, counted, draw_edits(database, every=3), each=True)
