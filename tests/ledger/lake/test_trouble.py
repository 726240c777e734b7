"""Tests of archiving where something is wrong: nothing is lost, nothing is there twice, and errors say what to do."""

import json
import shutil
import threading
from pathlib import Path

import pytest

from plaudit import Ledger
from plaudit.errors import FileError, LedgerBroken
from plaudit.ledger.lake import archive as archiving
from plaudit.rows.addresses import storage_options
from support.lakes import COUNT, check, columns, count_runs, fill, list_tables, read_all
from support.object_storage import SECRET
from support.samples import following

deltalake = pytest.importorskip("deltalake", reason="needs plaudit[lake]")

RUNS = {"night": COUNT, None: COUNT, "single": 3}
NOWHERE = "http://127.0.0.1:9"


def find_files(lake):
    return sorted(Path(lake).glob("*/day=*/*.parquet"))


def test_a_bucket_that_is_not_there_is_named(tmp_path, storage):
    with fill(tmp_path / "rewards.db") as ledger:
        before = read_all(ledger)
        with pytest.raises(FileError, match="nowhere"):
            ledger.archive("s3://nowhere/runs")
        check(ledger, before)


@pytest.mark.parametrize("after", [1, 12, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 3, 5, 8, 17))])
def test_credentials_that_expire_midway_lose_nothing(tmp_path, storage, after):
    with fill(tmp_path / "rewards.db") as ledger:
        before = read_all(ledger)
        storage.fail("ExpiredToken", after=after)
        with pytest.raises(FileError, match="expired") as told:
            ledger.archive(storage.address)
        assert SECRET not in str(told.value)
        storage.heal()
        ledger._store.backend.segments._away = None  # a while later
        assert read_all(ledger) == before
        ledger.archive(storage.address)
        check(ledger, before)
    address = f"{storage.address}/{storage.list()[0].split('/')[0]}"
    assert count_runs(deltalake.DeltaTable(address, storage_options=storage_options(address))) == RUNS


def test_a_table_of_a_newer_protocol_is_left_alone(tmp_path):
    with fill(tmp_path / "rewards.db", runs=["night"]) as ledger:
        ledger.archive(tmp_path / "lake")
        ledger.record_batch(following, columns(), run="later")
        before = read_all(ledger)
        (log,) = tmp_path.glob("lake/*/_delta_log")
        protocol = {"protocol": {"minReaderVersion": 9, "minWriterVersion": 9}}
        (log / f"{len(list(log.glob('*.json'))):020}.json").write_text(json.dumps(protocol))
        with pytest.raises(FileError, match="Archive to another address"):
            ledger.archive(tmp_path / "lake")
        check(ledger, before)
        assert ledger.archive(tmp_path / "other").records == COUNT
        check(ledger, before)


def test_a_table_with_other_columns_is_left_alone(tmp_path):
    with fill(tmp_path / "rewards.db", runs=["night"]) as ledger:
        ledger.archive(tmp_path / "lake")
        ledger.record_batch(following, columns(), run="later")
        before = read_all(ledger)
        (log,) = tmp_path.glob("lake/*/_delta_log")
        first = log / f"{0:020}.json"
        first.write_text(first.read_text().replace("deceleration", "slowing"))
        with pytest.raises(FileError, match=r"other columns \(deceleration, slowing\)"):
            ledger.archive(tmp_path / "lake")
        check(ledger, before)


def test_two_archivers_at_once_list_each_file_once(tmp_path):
    runs = [f"run {n}" for n in range(6)]
    with fill(tmp_path / "rewards.db", runs=runs, count=50) as ledger:
        before = read_all(ledger)
    failed = []

    def work():
        try:
            with Ledger(tmp_path / "rewards.db") as own:
                own.archive(tmp_path / "lake")
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with Ledger(tmp_path / "rewards.db") as ledger:
        check(ledger, before)
    (table,) = list_tables(tmp_path / "lake").values()
    assert count_runs(table) == dict.fromkeys(runs, 50) | {"single": 3}


def test_records_that_are_compacted_meanwhile_are_not_listed_twice(tmp_path, monkeypatch):
    with fill(tmp_path / "rewards.db") as ledger:
        before = read_all(ledger)
        real = archiving._Batch._prepare

        def prepare(self, row):
            found = real(self, row)
            with Ledger(tmp_path / "rewards.db") as other:
                other.compact()
            return found

        monkeypatch.setattr(archiving._Batch, "_prepare", prepare)
        ledger.archive(tmp_path / "lake")
        monkeypatch.undo()
        ledger.archive(tmp_path / "lake")
        check(ledger, before)
    (table,) = list_tables(tmp_path / "lake").values()
    assert count_runs(table) == RUNS


def test_a_damaged_segment_is_not_archived_and_the_others_are(tmp_path):
    with fill(tmp_path / "rewards.db", count=5000) as ledger:
        one, *_ = sorted(tmp_path.glob("*.segments/*/*.parquet"))
        data = bytearray(one.read_bytes())
        data[len(data) // 2] ^= 1
        one.write_bytes(data)
        with pytest.raises(LedgerBroken, match=one.name):
            ledger.archive(tmp_path / "lake")
        assert one.exists()
        (table,) = list_tables(tmp_path / "lake").values()
        assert sum(count_runs(table).values()) == 5003


@pytest.mark.parametrize(
    "damage",
    [pytest.param("deleted", marks=pytest.mark.slow), pytest.param("truncated", marks=pytest.mark.slow), "a bit"],
)
def test_verify_names_a_damaged_file_of_the_lake_and_its_records(tmp_path, damage):
    with fill(tmp_path / "rewards.db") as ledger:
        ledger.archive(tmp_path / "lake")
    one = find_files(tmp_path / "lake")[0]
    data = bytearray(one.read_bytes())
    if damage == "deleted":
        one.unlink()
    elif damage == "truncated":
        one.write_bytes(data[:-100])
    else:
        data[len(data) // 2] ^= 1
        one.write_bytes(data)
    with Ledger(tmp_path / "rewards.db") as ledger:
        found = [str(each) for each in ledger.verify().problems]
        assert any(one.name in each and "it holds" in each for each in found), found
        assert ledger.history(run="single").count() == 3


def test_a_file_that_nothing_names_disturbs_nobody(tmp_path):
    with fill(tmp_path / "rewards.db") as ledger:
        before = read_all(ledger)
        ledger.archive(tmp_path / "lake")
        one = find_files(tmp_path / "lake")[0]
        shutil.copyfile(one, one.with_name("left-over.parquet"))
        ledger.archive(tmp_path / "lake")
        check(ledger, before)
    (table,) = list_tables(tmp_path / "lake").values()
    assert count_runs(table) == RUNS


def test_a_ledger_whose_lake_does_not_answer_records_and_reads_what_is_here(tmp_path, storage, monkeypatch):
    with fill(tmp_path / "rewards.db", runs=["night"]) as ledger:
        ledger.archive(storage.address)
    monkeypatch.setenv("AWS_ENDPOINT_URL", NOWHERE)
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(following, columns(), run="later")
        assert len(list(ledger.history(run="later"))) == COUNT
        assert ledger.history(run="night").count() == COUNT
        with pytest.raises(LedgerBroken, match="127.0.0.1:9 does not answer"):
            ledger.why(5)
        assert "does not answer" in str(ledger.verify())


def test_a_lake_that_does_not_answer_is_told_when_the_ledger_closes(tmp_path, storage, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", NOWHERE)
    ledger = Ledger(tmp_path / "rewards.db", lake=storage.address)
    ledger.record_batch(following, columns(70_000), run="night")
    with pytest.raises(FileError, match=r"does not answer.*All records are durable"):
        ledger.close()
    with Ledger(tmp_path / "rewards.db") as ledger:
        assert ledger.history().count() == 70_000
        assert ledger.verify().ok


def test_an_address_with_credentials_is_refused(tmp_path):
    with fill(tmp_path / "rewards.db", runs=["night"]) as ledger:
        with pytest.raises(FileError, match="credentials") as told:
            ledger.archive(f"s3://key:{SECRET}@bucket/runs")
        assert SECRET not in str(told.value)
        with pytest.raises(FileError, match="not supported"):
            ledger.archive("ftp://host/runs")
