"""Tests of archiving: records lie in a lake, whole, once, and the ledger reads them as before."""

import json
from datetime import timedelta

import pytest

from plaudit import Ledger
from plaudit.rows.addresses import storage_options
from support.lakes import COUNT, DAY, check, columns, count_runs, fill, list_tables, read_all
from support.samples import following

deltalake = pytest.importorskip("deltalake", reason="needs plaudit[lake]")

RUNS = {"night": COUNT, None: COUNT, "single": 3}


def test_a_ledger_reads_archived_records_as_it_did_before(tmp_path):
    with fill(tmp_path / "rewards.db") as ledger:
        before, head, why = read_all(ledger), ledger.head(), str(ledger.why(471))
        episodes = [str(each) for each in ledger.episodes()]
        done = ledger.archive(tmp_path / "lake")
        assert (done.records, done.files) == (2 * COUNT + 3, 3)
        check(ledger, before, head)
        assert str(ledger.why(471)) == why
        assert [str(each) for each in ledger.episodes()] == episodes
        assert [record.id for record in ledger.history(run="night", step=17)] == [18]
        ledger.compact()
        check(ledger, before, head)
    with Ledger(tmp_path / "rewards.db", read_only=True) as ledger:
        check(ledger, before, head)
    assert not list(tmp_path.glob("*.segments/*/*"))


def test_a_delta_table_lists_every_record_once_by_run_and_day(tmp_path):
    with fill(tmp_path / "rewards.db") as ledger:
        ledger.archive(tmp_path / "lake")
        assert ledger.archive(tmp_path / "lake").files == 0
    (table,) = list_tables(tmp_path / "lake").values()
    assert count_runs(table) == RUNS
    assert table.metadata().partition_columns == ["run", "day"]
    rows = table.to_pyarrow_table(filters=[("run", "=", "night")]).to_pylist()
    assert {str(row["day"]) for row in rows} == {"2026-11-01"}
    assert [row["step"] for row in rows] == list(range(COUNT))
    assert [row["total"] for row in rows] == following.compile("numpy")(columns()).total.tolist()


def test_records_are_rescored_where_they_lie(tmp_path):
    gentler = following.with_params(gap={"weight": 2.0}).with_version("2")
    with fill(tmp_path / "rewards.db") as ledger:
        ledger.archive(tmp_path / "lake")
        ledger.rescore(gentler, run="night")
        before = read_all(ledger)
        assert ledger.archive(tmp_path / "lake").records == COUNT
        check(ledger, before)
    assert len(list_tables(tmp_path / "lake")) == 2


def test_only_older_records_are_archived(tmp_path):
    with fill(tmp_path / "rewards.db", clock=lambda: DAY + timedelta(days=2)) as ledger:
        before = read_all(ledger)
        assert ledger.archive(tmp_path / "lake", older=timedelta(days=1.5)).records == COUNT + 3
        assert ledger.archive(tmp_path / "lake", older=timedelta(days=1.5)).files == 0
        assert ledger.archive(tmp_path / "lake").records == COUNT
        check(ledger, before)


def test_records_of_another_precision_have_a_table_of_their_own(tmp_path):
    torch_columns = {
        name: column.astype("float32") if name != "action" else column for name, column in columns().items()
    }
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(following, columns(), run="wide")
        ledger.record_batch(following, torch_columns, run="narrow")
        before = read_all(ledger)
        ledger.archive(tmp_path / "lake")
        check(ledger, before)
    tables = list_tables(tmp_path / "lake")
    kinds = [
        field.type.type for table in tables.values() for field in table.schema().fields if field.name == "distance"
    ]
    assert sorted(kinds) == ["double", "float"]


def test_inputs_may_be_called_as_columns_of_the_context_are(tmp_path):
    from plaudit import Field, Reward, term

    @term
    def worth(day, run, time):
        return day + run + time

    fields = [Field(name, low=0, high=9) for name in ("day", "run", "time")]
    reward = Reward("taken", version="1", terms=[worth], fields=fields)
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record_batch(reward, {name: [1.0] * COUNT for name in ("day", "run", "time")}, run="night", at=DAY)
        before = read_all(ledger)
        ledger.archive(tmp_path / "lake")
        check(ledger, before)
    (table,) = list_tables(tmp_path / "lake").values()
    assert table.metadata().partition_columns == ["record.run", "record.day"]
    row = table.to_pyarrow_table().slice(0, 1).to_pylist()[0]
    assert (row["record.run"], str(row["record.day"]), row["day"], row["run"]) == ("night", "2026-11-01", 1.0, 1.0)


def test_records_are_archived_to_object_storage_and_read_from_it(tmp_path, storage):
    with fill(tmp_path / "rewards.db") as ledger:
        before, head = read_all(ledger), ledger.head()
        done = ledger.archive(f"{storage.address}/runs")
        assert done.records == 2 * COUNT + 3
        check(ledger, before, head)
    (table,) = {name.split("/")[0] for name in storage.list("runs")}
    address = f"{storage.address}/runs/{table}"
    assert count_runs(deltalake.DeltaTable(address, storage_options=storage_options(address))) == RUNS


def test_reading_one_record_does_not_download_the_file(tmp_path, storage):
    with fill(tmp_path / "rewards.db", runs=["night"], count=50_000) as ledger:
        ledger.archive(storage.address)
        read, files = [], ledger._store.backend.segments
        real = files._read_group
        files._read_group = lambda *about: read.append(about[2]) or real(*about)
        assert ledger.why(40_000).record.step == 39_999
        assert set(read) == {2}, "one row group of four"


def test_a_ledger_with_a_lake_archives_as_it_closes(tmp_path):
    lake = (tmp_path / "lake").as_uri()
    with Ledger(tmp_path / "rewards.db", lake=lake) as ledger:
        ledger.record_batch(following, columns(70_000), run="night")
    assert not list(tmp_path.glob("*.segments/*/*"))
    with Ledger(tmp_path / "rewards.db", lake=lake) as ledger:
        assert (ledger.history().count(), ledger[70_000].run) == (70_000, "night")
        ledger.record_batch(following, columns(5000), run="few")
    assert len(list(tmp_path.glob("*.segments/*/*"))) == 1, "few records wait for others"


def test_a_ledger_with_a_lake_can_be_pickled(tmp_path):
    import pickle

    with Ledger(tmp_path / "rewards.db", lake="file:///lake") as ledger, pickle.loads(pickle.dumps(ledger)) as other:
        assert other._archiver is not None
        assert other._lake == "file:///lake"


def test_a_backup_has_the_files_of_a_ledger(tmp_path):
    with fill(tmp_path / "rewards.db") as ledger:
        before = read_all(ledger)
        ledger.archive(tmp_path / "lake", older=DAY + timedelta(hours=3))
        ledger.backup(tmp_path / "copy.db")
        ledger.archive(tmp_path / "lake")
    with Ledger(tmp_path / "copy.db") as copy:
        check(copy, before)
        copy.compact()
        check(copy, before)


def test_the_command_says_what_it_moved(tmp_path, plaudit):
    fill(tmp_path / "rewards.db").close()
    lake = (tmp_path / "lake").as_uri()
    shown = plaudit(
        "ledger", "archive", tmp_path / "rewards.db", "--to", lake, "--older", "2026-11-01T12:00Z", "--json"
    )
    assert json.loads(shown.stdout)["records"] == COUNT + 3
    shown = plaudit("ledger", "archive", tmp_path / "rewards.db", "--to", lake)
    assert (shown.exit_code, "300 records in 1 file" in shown.stderr) == (0, True)
