"""Files between ledgers: taken in whole and once, or refused with the line that is wrong."""

import json

import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.errors import FileError, LedgerError
from support.ledgers import REWARD, columns, end, seal_export, signal, verified


@pytest.fixture
def exported(tmp_path):
    """A file of a small ledger, and what was in it."""
    with Ledger(tmp_path / "source.db") as ledger:
        ledger.record(signal(0), run="'; DROP", key="k", context={"é": ["\0", 1, 1.0, True]}, episode=3, step=-1)
        ledger.record(REWARD.score(distance=float("inf"), deceleration=-0.0, action=0), run="inf")
        ledger.record(end(), actor="a")
        ledger.record_batch(REWARD, columns(0, 5), run="batch", step=range(5))
        ledger.export(tmp_path / "records.jsonl")
        return tmp_path / "records.jsonl", told(ledger)


def told(ledger):
    """Return the records without what a ledger gives them itself."""
    own = ("id", "writer", "seq")
    return [json.dumps({k: v for k, v in r.to_dict().items() if k not in own}) for r in ledger.history()]


def test_what_is_exported_comes_in_as_it_was_and_once(exported, where):
    path, wanted = exported
    with Ledger(where) as ledger:
        assert ledger.import_file(path) == len(wanted)
        assert told(ledger) == wanted
        assert ledger.import_file(path) == 0
        verified(ledger)
        again = path.with_name("again.jsonl")
        ledger.export(again)
        with Ledger(path.with_name("third.db")) as third:
            third.import_file(again)
            assert told(third) == wanted
            verified(third)


def test_a_file_that_was_changed_or_cut_is_refused(exported, tmp_path):
    path, _ = exported
    content = path.read_bytes()
    changed = tmp_path / "changed.jsonl"
    with Ledger(tmp_path / "ledger.db") as ledger:
        cuts = [content[:size] for size in range(0, len(content) - 1, len(content) // 60)]
        flips = []
        for at in range(0, len(content) - 2, len(content) // 150):
            bad = bytearray(content)
            bad[at] ^= 1
            flips.append(bytes(bad))
        for bad in (*cuts, *flips, content + b"\n", content + content, content.replace(b"\n", b"\r\n")):
            changed.write_bytes(bad)
            with pytest.raises(LedgerError):
                ledger.import_file(changed)
            assert ledger.history().count() == 0
        assert ledger.rewards() == []
        verified(ledger)


WRONG = {
    "a key twice": lambda record: record.replace('"run": ', '"run": "first", "run": ', 1),
    "a key twice deep inside": lambda record: record.replace('"total": ', '"total": 9.0, "total": ', 1),
    "not a number": lambda record: record.replace('"total": ', '"total": NaN, "was": ', 1),
    "beyond a double": lambda record: record.replace('"total": ', '"total": 1e999, "was": ', 1),
    "no JSON": lambda record: record[:-1],
    "no object": lambda record: "[1]",
    "no signal": lambda record: record.replace('"signal": ', '"other": ', 1),
    "no time": lambda record: record.replace('"at": "', '"at": "yesterday ', 1),
    "no target": lambda record: record.replace('"target": "python"', '"target": "magic"', 1),
    "an unknown reward": lambda record: record.replace('"fingerprint": "', '"fingerprint": "0', 1),
    "a step that is a text": lambda record: record.replace('"step": -1', '"step": "1"', 1),
    "a NUL in a text": lambda record: record.replace('"episode": "3"', '"episode": "\\u0000"', 1),
    "half a character": lambda record: record.replace('"episode": "3"', '"episode": "\\ud800"', 1),
    "nested without end": lambda record: record.replace(
        '"context": ', '"context": ' + "[" * 5000 + "]" * 5000 + ', "was": ', 1
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_line_that_is_wrong_is_named_and_nothing_comes_in(exported, tmp_path, wrong):
    path, _ = exported
    lines = path.read_text().splitlines()[:-1]
    at = next(at for at, line in enumerate(lines) if line.startswith('{"record"'))
    changed = WRONG[wrong](lines[at])
    assert changed != lines[at]
    bad = tmp_path / "bad.jsonl"
    bad.write_text(seal_export([*lines[:at], changed, *lines[at + 1 :]]))
    with Ledger(tmp_path / "ledger.db") as ledger:
        with pytest.raises(LedgerError, match=f"line {at + 1}"):
            ledger.import_file(bad)
        assert ledger.history().count() == 0
        verified(ledger)


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        for path in (tmp_path / "none.jsonl", tmp_path):
            with pytest.raises(FileError):
                ledger.import_file(path)


def test_a_backup_over_a_ledger_in_use_is_refused(tmp_path):
    with Ledger(tmp_path / "one.db") as one, Ledger(tmp_path / "two.db") as two:
        one.record(signal(1), run="one", step=1)
        two.record(signal(2), run="two", step=2)
        with pytest.raises(FileError, match="in use"):
            one.backup(tmp_path / "two.db", overwrite=True)
        with pytest.raises(LedgerError, match="itself"):
            one.backup(tmp_path / "one.db", overwrite=True)
        with pytest.raises(FileError):
            one.backup(tmp_path / "missing" / "copy.db")
        assert [record.run for record in two.history()] == ["two"]
    with Ledger(tmp_path / "one.db") as one:
        with pytest.raises(FileError, match="exists"):
            one.backup(tmp_path / "two.db")
        one.backup(tmp_path / "two.db", overwrite=True)
    with Ledger(tmp_path / "two.db") as two:
        assert [record.run for record in two.history()] == ["one"]
        verified(two)


def test_a_closed_ledger_is_one_file(tmp_path):
    for records in (0, 1):
        path = tmp_path / f"{records}.db"
        with Ledger(path) as ledger:
            ledger.compact()
            for _ in range(records):
                ledger.record(signal())
        left = {found.name for found in tmp_path.iterdir() if found.name.startswith(path.name)}
        assert left == {path.name, f"{path.name}.lock"}
        copy = tmp_path / f"copy of {path.name}"
        copy.write_bytes(path.read_bytes())
        with Ledger(copy) as ledger:
            assert ledger.history().count() == records
            verified(ledger)


def test_files_that_overlap_add_no_record_twice(where, tmp_path):
    with Ledger(tmp_path / "source.db") as source, Ledger(where) as ledger:
        for step in range(5):
            source.record(signal(step), run="n", step=step)
        source.export(tmp_path / "1.jsonl")
        source.record_batch(REWARD, columns(5, 8), run="n", step=range(5, 8))
        source.export(tmp_path / "2.jsonl", run="n")
        source.export(tmp_path / "3.jsonl", step=6)
        assert [ledger.import_file(tmp_path / f"{n}.jsonl") for n in (1, 2, 3)] == [5, 3, 0]
        ledger.record(signal(9), run="here")
        ledger.export(tmp_path / "back.jsonl")
        assert source.import_file(tmp_path / "back.jsonl") == 1
        assert source.import_file(tmp_path / "2.jsonl") == 0
        assert sorted(told(source)) == sorted(told(ledger))
        verified(ledger)
        verified(source)


def test_categories_come_in_as_they_were(tmp_path):
    @term
    def tool(kind):
        return 1.0 if kind == "search" else 0.0

    reward = Reward("tools", version="1", terms=[tool], fields=[Field("kind", values=("search", "shell"))])
    with Ledger(tmp_path / "source.db") as source, Ledger(tmp_path / "other.db") as other:
        source.record_many([reward.score(kind=kind) for kind in ("search", "shell")])
        source.export(tmp_path / "records.jsonl")
        assert other.import_file(tmp_path / "records.jsonl") == 2
        assert [record.signal.inputs for record in other.history()] == [{"kind": "search"}, {"kind": "shell"}]
        verified(other)


def test_records_of_a_re_scoring_are_not_taken_for_recorded_ones(tmp_path):
    with Ledger(tmp_path / "source.db") as source, Ledger(tmp_path / "other.db") as other:
        source.record(signal())
        job = source.rescore(REWARD.with_weights(comfort=2.0).with_version("2")).job
        source.export(tmp_path / "records.jsonl", job=job)
        with pytest.raises(LedgerError, match="line 4: it is a re-scored record"):
            other.import_file(tmp_path / "records.jsonl")
        assert other.history().count() == 0


def test_a_file_that_is_there_is_kept_unless_it_may_be_replaced(tmp_path):
    (tmp_path / "records.jsonl").write_text("mine")
    with Ledger(tmp_path / "source.db") as source:
        source.record(signal())
        with pytest.raises(FileError, match="already exists"):
            source.export(tmp_path / "records.jsonl")
        assert (tmp_path / "records.jsonl").read_text() == "mine"
        assert source.export(tmp_path / "records.jsonl", overwrite=True) == 1
        for own in ("source.db", "source.db-wal", "source.db.lock"):
            with pytest.raises(LedgerError, match="part of the ledger"):
                source.export(tmp_path / own, format="jsonl", overwrite=True)


def test_a_wider_range_under_the_same_label_goes_into_one_parquet_file(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="needs plaudit[data]")

    @term
    def near(distance):
        return -distance

    made = [Reward("near", version="1", terms=[near], fields=[Field("distance", low=0, high=h)]) for h in (10, 20)]
    with Ledger(tmp_path / "source.db") as source:
        for at, reward in enumerate(made):
            source.record(reward.score(distance=3.0 + 10 * at))
        source.record(signal())
        with pytest.raises(LedgerError, match="several rewards"):
            source.export(tmp_path / "all.parquet")
        assert source.export(tmp_path / "near.parquet", reward=made[0]) == 2
    assert pq.read_table(tmp_path / "near.parquet")["distance"].to_pylist() == [3.0, 13.0]


def test_versions_with_the_same_formula_are_all_exported(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger, Ledger(tmp_path / "other.db") as other:
        for version in ("1", "2"):
            ledger.record_batch(REWARD.with_version(version), columns(0, 2))
        ledger.export(tmp_path / "records.jsonl")
        assert other.import_file(tmp_path / "records.jsonl") == 4
        assert [reward.version for reward in other.rewards()] == ["1", "2"]
