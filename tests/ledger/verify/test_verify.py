"""What was edited, removed or added behind a ledger's back: verification finds it, and never fails itself."""

import itertools
import shutil
import sqlite3

import pytest

from plaudit import Ledger
from plaudit.ledger.quarantine import Refused, add_quarantined
from support.ledgers import REWARD, columns, end, signal, verified
from support.samples import EPISODES, handover, maze

NOT_COVERED = {
    "alembic_version",  # says which tables there are; a wrong one is refused at the door
    "writers.signature",  # means something to those who have the public key
    "table_heads.signature",
}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A small ledger with something of everything."""
    path = tmp_path_factory.mktemp("original") / "ledger.db"
    with Ledger(path) as ledger:
        ledger.record(signal(0))  # no context at all
        ledger.record(signal(1), run="first", step=1, key="one", context={"a": [1, None]})
        ledger.record_batch(
            REWARD, columns(2, 6), run="first", phase="drive", step=range(2, 6), episode=["a", "a", "b", "c"]
        )
        for row in EPISODES["handover"][:2]:
            ledger.record(handover.score(**row), run="second", actor="agent")
        ledger.record(end(), run="second", actor="agent")
    with Ledger(path) as ledger:
        for at, row in enumerate(EPISODES["maze"][:2]):
            ledger.record(maze.score(**row), decision_class="move", key="move" if at else None)
        ledger.record(signal(7), run="first", step=7, key="seven")
        ledger.rescore(REWARD.with_params(comfort={"harsh": 5.0}).with_version("2"), run="first")
        with Ledger(path.with_name("other.db")) as other:
            other.record_many(signal(n) for n in range(20, 23))
            other.export(path.with_name("other.jsonl"))
        ledger.import_file(path.with_name("other.jsonl"))
        apart = [Refused("elsewhere/1", line, "its total is another", {"total": line}) for line in (3, 4)]
        store = ledger._store
        store.writer.transact(lambda cursor: add_quarantined(store, cursor, "forged.jsonl", apart))
        verified(ledger)
    return path


@pytest.fixture
def path(original, tmp_path):
    shutil.copy(original, tmp_path / "ledger.db")
    return tmp_path / "ledger.db"


@pytest.fixture
def opened(path):
    """A ledger to verify, and another connection to the same file to edit it with."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("PRAGMA synchronous = OFF")
    with Ledger(path, read_only=True) as ledger:
        yield ledger, other
    other.close()


def tables(other):
    found = [row[0] for row in other.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [table for table in found if table not in NOT_COVERED]


def others(value):
    """Return values that are not `value`."""
    if isinstance(value, int):
        return [value + 1, value - 1, 0, -value, 2**40, "abc", "1.5", None, b"\1"]
    if isinstance(value, float):
        return [value * 2, 0.0, "abc", None]
    if isinstance(value, str):
        return [f"{value}x", value[1:], "", "None", "null", "[]", "[[", "[1,2]", None, b"\xff\xfe", 7, value[::-1]]
    if isinstance(value, bytes):
        return [value[:-1], value[8:], value + bytes(8), b"", "text", None, 7, bytes(len(value))]
    return [0, 1, 999, "", "x", "None", "null", "[]", "[null]", '["x"]', "[1]", b"x"]


def edits(other, table, every, share):
    """Yield edits of single values of a table: column, row, old and new value.

    Of `every` so many rows one is edited, and each column gets one in `share` of the values that it could get.
    """
    names = [row[1] for row in other.execute(f"PRAGMA table_info({table})")]
    rows = other.execute(f"SELECT rowid, * FROM {table}").fetchall()
    for number, *row in rows[:: 300 if table == "powers" else every]:
        for at, (name, value) in enumerate(zip(names, row, strict=True)):
            if f"{table}.{name}" in NOT_COVERED:
                continue
            for new in others(value)[at % share :: share]:
                yield name, number, value, new


def dump(other, table):
    """Return the rows of a table with their types."""
    return [[(value, type(value)) for value in row] for row in other.execute(f"SELECT rowid, * FROM {table}")]


def restore(other, table, rows):
    """Make a table what it was."""
    names = ["rowid", *(row[1] for row in other.execute(f"PRAGMA table_info({table})"))]
    other.execute("BEGIN")
    other.execute(f"DELETE FROM {table}")
    statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    other.executemany(statement, [[value for value, _ in row] for row in rows])
    other.execute("COMMIT")


TABLES = [
    "labels",
    "specs",
    "scopes",
    "writers",
    "blocks",
    "summaries",
    "episode_parts",
    "keys",
    "jobs",
    "imported",
    "quarantine",
    "table_heads",
    "powers",
]


EVERY = {
    "blocks": 43,
    "summaries": 43,
    "episode_parts": 7,
    "specs": 7,
    "scopes": 7,
    "writers": 2,
    "labels": 3,
    "quarantine": 3,
    "table_heads": 3,
}
"""Of so many rows of a table one is edited, in every column; `make soak` edits all."""
SHARE = 6
"""A column gets one in so many of the values that it could get; `make soak` tries all."""


@pytest.mark.parametrize("table", TABLES)
def test_an_edit_of_any_value_is_found(opened, table, counted):
    edit_all(*opened, table, EVERY.get(table, 1), SHARE, counted)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_every_edit_of_any_value_is_found(opened, table, counted):
    edit_all(*opened, table, 1, 1, counted)


def edit_all(ledger, other, table, every, share, counted):
    assert set(tables(other)) == set(TABLES)
    rows = dump(other, table)
    done, missed = 0, []
    for name, number, old, new in list(edits(other, table, every, share)):
        try:
            other.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (new, number))
        except sqlite3.IntegrityError:
            continue
        if dump(other, table) != rows:
            done += 1
            if ledger.verify().ok:
                missed.append(f"{table}.{name}: {old!r:.60} → {new!r:.60}")
            restore(other, table, rows)
    verified(ledger)
    counted("edits behind the ledger's back", edits=done, overlooked=len(missed))
    assert not missed, "\n".join(missed)
    assert done > 5


def test_a_change_of_any_byte_of_the_numbers_is_found(opened, counted):
    change_bytes(*opened, 29, counted)


@pytest.mark.slow
def test_a_change_of_every_byte_of_the_numbers_is_found(opened, counted):
    change_bytes(*opened, 1, counted)


def change_bytes(ledger, other, every, counted):
    done = 0
    for first, *sides in other.execute("SELECT first, inputs, outputs, head FROM blocks").fetchall():
        for name, side in zip(("inputs", "outputs", "head"), sides, strict=True):
            for at in range(first % every, len(side), every):
                bad = bytearray(side)
                bad[at] ^= 1 << at % 8
                other.execute(f"UPDATE blocks SET {name} = ? WHERE first = ?", (bytes(bad), first))
                assert not ledger.verify().ok, f"byte {at} of the {name} of block {first}"
                done += 1
            other.execute(f"UPDATE blocks SET {name} = ? WHERE first = ?", (side, first))
    verified(ledger)
    counted("single bits changed", bits=done, overlooked=0)


@pytest.mark.parametrize("table", TABLES)
def test_a_row_that_is_removed_is_missed(opened, table):
    ledger, other = opened
    rows = dump(other, table)
    for row in rows if table != "powers" else rows[::300]:
        other.execute(f"DELETE FROM {table} WHERE rowid = ?", row[0][:1])
        assert not ledger.verify().ok, row[:4]
        restore(other, table, rows)
    verified(ledger)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_end_of_a_writer_that_is_cut_off_is_missed(opened, count):
    ledger, other = opened
    for (writer,) in other.execute("SELECT id FROM writers").fetchall():
        other.execute("BEGIN")
        last = other.execute("SELECT max(seq) FROM blocks WHERE writer = ?", (writer,)).fetchone()[0]
        other.execute("DELETE FROM blocks WHERE writer = ? AND seq > ?", (writer, last - count))
        other.execute("COMMIT")
        found = ledger.verify()
        assert not found.ok
        assert "missing" in str(found)


def test_blocks_that_change_places_are_found(opened):
    ledger, other = opened
    names = [row[1] for row in other.execute("PRAGMA table_info(blocks)")]
    rows = other.execute("SELECT * FROM blocks ORDER BY first").fetchall()
    sets = ", ".join(f"{name} = ?" for name in names[1:])

    def put(first, row):
        other.execute(f"UPDATE blocks SET {sets} WHERE first = ?", (*row[1:], first))

    for one, two in itertools.pairwise(rows):
        other.execute("PRAGMA ignore_check_constraints = 1")
        other.execute("DROP INDEX IF EXISTS blocks_by_job")
        put(one[0], two)
        put(two[0], one)
        assert not ledger.verify().ok
        put(one[0], one)
        put(two[0], two)


def test_a_block_that_was_added_is_found(opened):
    ledger, other = opened
    names = [row[1] for row in other.execute("PRAGMA table_info(blocks)")]
    for row in other.execute("SELECT * FROM blocks WHERE job IS NULL").fetchall():
        forged = dict(zip(names, row, strict=True)) | {"first": 1000}
        other.execute(
            f"INSERT INTO blocks ({', '.join(forged)}) VALUES ({', '.join('?' * len(forged))})", [*forged.values()]
        )
        assert not ledger.verify().ok
        other.execute("DELETE FROM blocks WHERE first = 1000")
    verified(ledger)


def test_a_key_that_was_added_is_found(opened):
    ledger, other = opened
    other.execute("INSERT INTO keys VALUES ('forged', 1)")
    assert not ledger.verify().ok


def test_what_is_found_is_told_with_its_record(path):
    other = sqlite3.connect(path)
    other.execute("UPDATE blocks SET steps = '[9]' WHERE first = 2")
    other.commit()
    other.close()
    with Ledger(path) as ledger:
        found = ledger.verify()
        assert [(problem.kind, problem.id) for problem in found.problems] == [("edited", 2)]
        assert "record 2" in str(found)
        assert found.to_dict()["ok"] is False
