"""What was edited, removed or added behind a ledger's back: verification finds it, and never fails itself."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from plaudit import Entry, Ledger
from support.edits import record_everything
from support.ledgers import REWARD, columns, signal, verified


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A small ledger with something of everything."""
    folder = tmp_path_factory.mktemp("original")
    record_everything(folder / "ledger.db", folder)
    return folder / "ledger.db"


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


@pytest.fixture
def keyed(tmp_path):
    """A ledger of forty records with keys, and another connection to the same file."""
    with Ledger(tmp_path / "keyed.db") as ledger:
        ledger.record_many(Entry(signal=signal(n), key=f"key {n}", step=n) for n in range(20))
        ledger.record_batch(REWARD, columns(20, 40), key=[f"key {n}" for n in range(20, 40)], step=range(20, 40))
        with closing(sqlite3.connect(tmp_path / "keyed.db", isolation_level=None)) as other:
            yield ledger, other


def find(ledger):
    return [(problem.kind, problem.id, problem.text) for problem in ledger.verify().problems]


def test_keys_of_another_type_are_named_and_so_is_a_key_that_was_recorded_twice(keyed):
    ledger, other = keyed
    other.execute("UPDATE keys SET key = CAST(key AS BLOB)")
    found = find(ledger)
    assert found[0] == ("edited", None, "the column 'key' of 'keys' holds blob instead of text, in 40 rows")
    missing = "its key 'key {}' is missing from the table of keys: it could be recorded again"
    assert found[1:] == [("key", n + 1, missing.format(n)) for n in range(40)]
    assert ledger.record(signal(3), key="key 3", step=3) == 41
    other.execute("DELETE FROM keys WHERE typeof(key) = 'blob' AND CAST(key AS TEXT) = 'key 3'")
    other.execute("UPDATE keys SET key = CAST(key AS TEXT)")
    assert find(ledger) == [("key", 4, "its key 'key 3' is also the key of record 41: it was recorded twice")]


def test_a_key_that_is_missing_added_or_led_elsewhere_is_named(keyed):
    ledger, other = keyed
    other.execute("DELETE FROM keys WHERE record = 5")
    other.execute("INSERT INTO keys VALUES ('forged', 7)")
    other.execute("UPDATE keys SET record = 99 WHERE key = 'key 30'")
    assert find(ledger) == [
        ("key", 5, "its key 'key 4' is missing from the table of keys: it could be recorded again"),
        ("key", 7, "the key 'forged' points to it, but it does not carry that key"),
        ("key", 31, "its key 'key 30' points to 99"),
        ("key", 99, "the key 'key 30' points to it, but it does not carry that key"),
    ]


def test_two_keys_that_change_places_are_named_whichever_they_are(keyed):
    ledger, other = keyed
    swap = "UPDATE keys SET record = CASE record WHEN {0} THEN {1} ELSE {0} END WHERE record IN ({0}, {1})"
    for record in range(1, 40):
        other.execute(swap.format(record, record + 1))
        assert {problem.id for problem in ledger.verify().problems} == {record, record + 1}
        other.execute(swap.format(record, record + 1))
    verified(ledger)


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
