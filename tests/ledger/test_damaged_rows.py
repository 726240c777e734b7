"""Rows that no ledger has written: whatever is asked of the ledger then, it answers, or it is an error of ours."""

import shutil
import sqlite3

import pytest

from plaudit import Ledger
from plaudit.errors import LedgerBroken, PlauditError
from support.ledgers import REWARD, columns, signal

BAD = [
    None,
    -1,
    10**18,
    1.5,
    "",
    "text",
    "[",
    "[]",
    '[1, "a", null]',
    '["\\u001b[31m"]',
    "{}",
    "[" * 100_000,
    b"",
    b"\xff" * 24,
    "\x1b[31m",
]
NEW = REWARD.with_params(comfort={"harsh": 5.0}).with_version("2")
QUERIES = [{}, {"run": "run"}, {"step": 1}, {"episode": 1}, {"key": "key 1"}, {"job": 1}, {"since": "2020-01-01"}]


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("original") / "ledger.db"
    with Ledger(path) as ledger:
        for n in range(3):
            ledger.record(signal(n), run="run", step=n, episode=n, key=f"key {n}", context={"n": n})
        ledger.record_batch(REWARD, columns(3, 9), run="run", step=range(3, 9), decision_class="brake")
        ledger.rescore(REWARD.with_version("3"))
        ledger.export(path.with_name("all.jsonl"))
    return path


def list_columns(path):
    """Return every column of every table that is ours."""
    connection = sqlite3.connect(path)
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = [(table, row[1]) for table in tables for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.close()
    return found


def spoil(path, statement, *values):
    """Change the tables behind the ledger's back; return whether SQLite allows it."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(statement, values)
        connection.commit()
    except sqlite3.IntegrityError:
        return False
    finally:
        connection.close()
    return True


def use(folder):
    """Yield what can be done with a ledger, one thing after the other."""
    for query in QUERIES:
        yield lambda ledger, query=query: [str(record) for record in ledger.history(**query)]
        yield lambda ledger, query=query: ledger.history(**query).count()
        yield lambda ledger, query=query: [record.to_dict() for record in ledger.history(**query).last(2)]
        yield lambda ledger, query=query: list(ledger.history(**query).arrow())
    yield lambda ledger: [str(ledger.why(number)) for number in range(1, 10)]
    yield lambda ledger: str(ledger.why("key 1"))
    yield lambda ledger: str(ledger.stats())
    yield lambda ledger: ledger.head().to_dict()
    yield lambda ledger: str(ledger.verify())
    yield lambda ledger: ledger.rewards()
    yield lambda ledger: ledger.jobs()
    yield lambda ledger: ledger.export(folder / "out.jsonl", overwrite=True)
    yield lambda ledger: ledger.export(folder / "out.parquet", overwrite=True)
    yield lambda ledger: ledger.backup(folder / "copy.db", overwrite=True)
    yield lambda ledger: str(ledger.rescore(NEW))
    yield lambda ledger: ledger.record(signal(1), run="run", step=1, episode=1, key="key 1", context={"n": 1})
    yield lambda ledger: ledger.record(signal(1), run="run", step=1)
    yield lambda ledger: ledger.record_batch(REWARD, columns(0, 3))
    yield lambda ledger: ledger.register(REWARD)
    yield lambda ledger: ledger.import_file(folder / "all.jsonl")
    yield lambda ledger: ledger.compact()


def check_use(path, tmp_path, original):
    """Do everything with a ledger that may be damaged; every error has to be ours."""
    shutil.copy(original.with_name("all.jsonl"), tmp_path / "all.jsonl")
    raised = []
    try:
        with Ledger(path, timeout=0.5) as ledger:
            for at, do in enumerate(use(tmp_path)):
                try:
                    do(ledger)
                except PlauditError as error:
                    raised.append(error)
                except Exception as error:
                    raise AssertionError(f"use {at}: {type(error).__name__}: {error}") from error
    except PlauditError as error:
        raised.append(error)
    assert not any("\x1b" in str(error) for error in raised)
    return raised


def test_nothing_is_wrong_with_what_is_not_damaged(tmp_path, original):
    path = shutil.copy(original, tmp_path / "ledger.db")
    assert check_use(path, tmp_path, original) == []


READ = {
    "history": lambda ledger: list(ledger.history()),
    "last": lambda ledger: ledger.history().last(2),
    "one step": lambda ledger: list(ledger.history(step=1)),
    "one episode": lambda ledger: list(ledger.history(episode=1)),
    "arrow": lambda ledger: list(ledger.history().arrow()),
    "why": lambda ledger: ledger.why(1),
    "stats": lambda ledger: ledger.stats(),
    "head": lambda ledger: ledger.head(),
    "jobs": lambda ledger: ledger.jobs(),
    "record": lambda ledger: ledger.record(signal(0), key="key 0"),
    "rescore": lambda ledger: ledger.rescore(NEW),
    "compact": lambda ledger: ledger.compact(),
}


@pytest.mark.parametrize(
    ("column", "bad", "read"),
    [
        ("blocks.steps", "[1", "history"),
        ("blocks.steps", '["a", 2]', "arrow"),
        ("blocks.times", '["a"]', "history"),
        ("blocks.contexts", "[" * 100_000, "history"),
        ("blocks.earliest", 10**18, "history"),
        ("blocks.inputs", 7, "history"),
        ("blocks.spec", 77, "rescore"),
        ("blocks.records", 10**18, "record"),
        ("scopes.run", b"\xff", "rescore"),
        ("scopes.decision_class", b"\xff", "stats"),
        ("blocks.writer", 99, "why"),
        ("blocks.records", "text", "compact"),
        ("blocks.records", 10**18, "one step"),
        ("blocks.records", -1, "last"),
        ("blocks.episodes", b"", "one episode"),
        ("blocks.scope", -1, "one episode"),
        ("blocks.earliest", "text", "rescore"),
        ("table_heads.head", 10**18, "head"),
        ("table_heads.head", 10**18, "rescore"),
        ("writers.opened", "text", "stats"),
        ("writers.opened", "text", "head"),
        ("writers.host", b"\xff", "stats"),
        ("writers.made_with", b"\xff", "why"),
        ("jobs.filters", "[", "jobs"),
    ],
)
def test_a_damaged_row_is_an_error_that_names_the_ledger(tmp_path, original, column, bad, read):
    path = shutil.copy(original, tmp_path / "ledger.db")
    table, _, name = column.partition(".")
    assert spoil(path, f"UPDATE {table} SET {name} = ?", bad)
    with Ledger(path) as ledger, pytest.raises(LedgerBroken, match=r"ledger\.db.* damaged"):
        READ[read](ledger)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM schema_revision",
        "UPDATE schema_revision SET number = -1",
        "INSERT INTO schema_revision VALUES (2)",
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_tables_without_a_revision_are_an_error(tmp_path, original, change, read_only):
    path = shutil.copy(original, tmp_path / "ledger.db")
    assert spoil(path, change)
    with pytest.raises(LedgerBroken, match="revision of its tables cannot be read"):
        Ledger(path, read_only=read_only)


@pytest.mark.slow
def test_every_column_of_every_table(tmp_path, original, counted):
    tried = 0
    for table, column in list_columns(original):
        for bad in BAD:
            folder = tmp_path / f"{table}-{column}-{tried}"
            folder.mkdir()
            path = shutil.copy(original, folder / "ledger.db")
            if spoil(path, f"UPDATE {table} SET {column} = ?", bad):
                check_use(path, folder, original)
                tried += 1
            shutil.rmtree(folder)
    counted("columns overwritten", columns=tried, raw_errors=0)
