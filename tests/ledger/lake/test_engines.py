"""Tests of other engines: each reads what a lake holds, without plaudit, as the ledger does.

Those of Spark and Ray are in tests/adapters, where one is started anyway.
"""

import pytest

from plaudit.rows.addresses import storage_options
from support.lakes import COUNT, fill, list_tables

deltalake = pytest.importorskip("deltalake", reason="needs plaudit[lake]")

ROWS = 2 * COUNT + 3


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A lake of two runs and single records; the table, and what the ledger says the totals of each run are."""
    folder = tmp_path_factory.mktemp("lake")
    with fill(folder / "rewards.db") as ledger:
        sums = {run: sum(record.total for record in ledger.history(run=run)) for run in ("night", "single")}
        ledger.archive(folder / "lake")
    (table,) = list_tables(folder / "lake").values()
    return table, sums


def test_duckdb_reads_the_files_of_a_table(lake):
    duckdb = pytest.importorskip("duckdb", reason="needs plaudit[data]")
    table, sums = lake
    query = "SELECT run, sum(total), count(*), min(day) FROM read_parquet(?) GROUP BY run"
    found = {
        run: (total, count, str(day))
        for run, total, count, day in duckdb.execute(query, [table.file_uris()]).fetchall()
    }
    assert {run: found[run][0] for run in sums} == sums
    assert (found["night"][1:], found[None][1:]) == ((COUNT, "2026-11-01"), (COUNT, "2026-11-02"))


def test_polars_scans_a_table(lake):
    pl = pytest.importorskip("polars", reason="needs plaudit[polars]")
    table, sums = lake
    frame = pl.scan_delta(table.table_uri)
    assert frame.select(pl.len()).collect().item() == ROWS
    night = frame.filter(pl.col("run") == "night").collect()
    assert (night["total"].sum(), night["step"].to_list()) == (sums["night"], list(range(COUNT)))
    assert frame.filter(pl.col("step") == 17, pl.col("day") == pl.date(2026, 11, 2)).collect().height == 1


def test_polars_scans_a_table_in_object_storage(tmp_path, storage):
    pl = pytest.importorskip("polars", reason="needs plaudit[polars]")
    with fill(tmp_path / "rewards.db") as ledger:
        ledger.archive(storage.address)
    address = f"{storage.address}/{storage.list()[0].split('/')[0]}"
    options = {name: value for name, value in storage_options(address).items() if name.startswith("AWS_")}
    frame = pl.scan_delta(address, storage_options=options)
    assert frame.select(pl.len()).collect().item() == ROWS


def test_pandas_reads_a_table(lake):
    pytest.importorskip("pandas", reason="needs pandas")
    table, sums = lake
    frame = table.to_pandas()
    assert len(frame) == ROWS
    assert frame[frame.run == "night"].total.sum() == sums["night"]
