"""Spark in local mode, and on a cluster whose processes die, gives bit for bit what one process gives."""

import json
import os
import shutil
import signal

import pytest

from plaudit import FileError, InputError
from plaudit.adapters.spark import score_with_spark
from plaudit.errors import MissingField
from plaudit.ledger.dataset import score_file
from support.clusters import assert_same, grow, wait_for_part
from support.lakes import COUNT, fill, list_tables
from support.spark_cluster import SparkCluster
from support.tables import made, pq, table

pytestmark = pytest.mark.filterwarnings("default")  # Spark leaves sockets to the garbage collector


def test_spark_gives_what_one_process_gives(spark, folder, tmp_path):
    chosen = {"scores": True, "against": made("0", near=2.0)}
    there = score_with_spark(made(), folder, tmp_path / "there", **chosen)
    here = score_file(made(), folder, tmp_path / "here", **chosen)
    assert (there.rows, there.bad, there.engine, there.reasons) == (600, 21, "spark", here.reasons)
    assert there.changes.to_dict()["flipped"] == here.changes.to_dict()["flipped"]
    assert_same(tmp_path / "there", tmp_path / "here")
    with pytest.raises(FileError, match="already exists"):
        score_with_spark(made(), folder, tmp_path / "there")
    again = score_with_spark(
        made(), folder / "*.parquet", tmp_path / "there", overwrite=True, keep=["id"], prefix="v2."
    )
    assert (again.rows, again.resumed) == (600, 0)
    assert pq.read_schema(tmp_path / "there/part-0.parquet").names[:2] == ["id", "v2.total"]
    assert score_with_spark(made(), folder, tmp_path / "there", keep=["id"], prefix="v2.").resumed == 3


def test_what_goes_wrong_is_told(spark, folder, tmp_path):
    with pytest.raises(InputError, match=r"part-\d\.parquet, row 18: reward 'mixed' needs 'distance'"):
        score_with_spark(made(), folder, tmp_path / "out", on_bad="raise")
    pq.write_table(table(5).drop_columns(["phase"]), folder / "part-9.parquet")
    with pytest.raises(MissingField, match=r"part-9\.parquet lacks 'phase'"):
        score_with_spark(made(), folder, tmp_path / "out2")
    assert not list(tmp_path.glob("out*/*.parquet"))


DRIVER = """
import json, sys
from plaudit.adapters.spark import score_with_spark
from support.tables import made

done = score_with_spark(made(), sys.argv[1], sys.argv[2], against=made("0", near=2.0), batch_rows=50)
print(json.dumps(done.to_dict(), default=str))
"""


@pytest.fixture
def cluster(tmp_path):
    pytest.importorskip("pyspark", reason="needs plaudit[spark]")
    if shutil.which("java") is None:
        pytest.skip("no Java here (Debian: apt-get install openjdk-17-jre-headless)")
    (tmp_path / "cluster").mkdir()
    started = SparkCluster(tmp_path / "cluster")
    yield started
    started.stop()


def read_result(driver):
    printed, told = driver.communicate(timeout=400)
    assert driver.returncode == 0, told[-4_000:]
    return json.loads(printed.splitlines()[-1])


@pytest.mark.slow
def test_executors_and_workers_that_die_are_done_without(cluster, tmp_path):
    folder = grow(tmp_path / "rows", parts=8, rows=20_000)
    driver = cluster.drive(DRIVER, folder, tmp_path / "there")
    wait_for_part(tmp_path / "there")
    assert cluster.kill_executor(cluster.workers[0]) == 1
    cluster.kill(cluster.workers[1])
    there = read_result(driver)
    here = score_file(made(), folder, tmp_path / "here", against=made("0", near=2.0))
    assert (there["rows"], there["resumed"]) == (160_000, 0)
    assert there["changes"]["unchanged"] == here.changes.unchanged
    assert_same(tmp_path / "there", tmp_path / "here")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_a_driver_that_is_killed_is_resumed(cluster, tmp_path):
    folder = grow(tmp_path / "rows", parts=8, rows=20_000)
    driver = cluster.drive(DRIVER, folder, tmp_path / "there")
    wait_for_part(tmp_path / "there")
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    finished = {path: path.stat() for path in (tmp_path / "there").glob("*.parquet")}
    assert 0 < len(finished) < 8
    assert not (tmp_path / "there/_plaudit.json").exists()
    there = read_result(cluster.drive(DRIVER, folder, tmp_path / "there"))
    assert (there["rows"], there["resumed"]) == (160_000, len(finished))
    assert all(path.stat() == status for path, status in finished.items())
    score_file(made(), folder, tmp_path / "here")
    assert_same(tmp_path / "there", tmp_path / "here")


@pytest.mark.slow
def test_spark_reads_the_files_of_a_lake(spark, tmp_path):
    pytest.importorskip("deltalake", reason="needs plaudit[lake]")
    with fill(tmp_path / "rewards.db") as ledger:
        total = sum(record.total for record in ledger.history(run="night"))
        ledger.archive(tmp_path / "lake")
    (table,) = list_tables(tmp_path / "lake").values()
    frame = spark.read.parquet(*table.file_uris())  # the package of Delta Lake would have to be downloaded
    sums = {row["run"]: row["sum(total)"] for row in frame.groupBy("run").sum("total").collect()}
    assert (frame.count(), sums["night"]) == (2 * COUNT + 3, total)
