"""Delta tables: the rows that a version lists, in and out, and features that cannot be read."""

import json
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plaudit import Field, FileError, Reward, State, term
from plaudit.analysis import diff
from plaudit.errors import UnusableFile
from plaudit.ledger.dataset import score_file

deltalake = pytest.importorskip("deltalake", reason="needs plaudit[lake]")
LOG = "_delta_log/00000000000000000000.json"


@term
def near(distance):
    """Be near."""
    return 1.0 / (1.0 + distance)


NEAR = Reward("moving", version="1", terms=[near], fields=[Field("distance", low=0)])
NEARER = NEAR.with_weights(near=2.0).with_version("2")


def rows(first, count=20, day="mon"):
    return pa.table({"id": np.arange(first, first + count), "distance": np.linspace(0, 9, count), "day": [day] * count})


@pytest.fixture
def steps(tmp_path):
    path = tmp_path / "steps"
    deltalake.write_deltalake(path, rows(0), partition_by=["day"])
    deltalake.write_deltalake(path, rows(20, day="tue é/x"), mode="append")
    return path


def content(path, **options):
    """Return the rows of a table in the order of their ids, as deltalake reads them."""
    found = pa.table(deltalake.DeltaTable(path, **options).scan())
    views = {pa.string_view(): pa.string()}
    plain = pa.schema([(each.name, views.get(each.type, each.type)) for each in found.schema])
    return found.cast(plain).sort_by("id")


def expected(reward, table, tmp_path):
    pq.write_table(table, tmp_path / "whole.parquet")
    score_file(reward, tmp_path / "whole.parquet", tmp_path / "expected.parquet", overwrite=True)
    return pq.read_table(tmp_path / "expected.parquet").sort_by("id")


def assert_same(found, wanted):
    assert found.schema.names == wanted.schema.names
    assert found.to_pydict() == wanted.to_pydict()


def test_a_table_becomes_a_table_in_one_version(steps, tmp_path):
    done = score_file(NEAR, steps, tmp_path / "out")
    assert (done.rows, done.bad) == (40, 0)
    assert deltalake.DeltaTable(tmp_path / "out").version() == 0
    assert_same(content(tmp_path / "out"), expected(NEAR, content(steps), tmp_path))
    assert score_file(NEAR, steps, tmp_path / "out").resumed == 2
    assert deltalake.DeltaTable(tmp_path / "out").version() == 0


def test_new_rows_of_a_table_are_added_and_removed_ones_need_force(steps, tmp_path):
    out = tmp_path / "out"
    score_file(NEAR, steps, out)
    deltalake.write_deltalake(steps, rows(40), mode="append")
    done = score_file(NEAR, steps, out)
    assert (done.rows, done.resumed, deltalake.DeltaTable(out).version()) == (60, 2, 1)
    assert_same(content(out), expected(NEAR, content(steps), tmp_path))
    deltalake.DeltaTable(steps).delete("id < 5")
    with pytest.raises(FileError, match="is a Delta table with other rows"):
        score_file(NEAR, steps, out)
    score_file(NEAR, steps, out, overwrite=True)
    assert_same(content(out), expected(NEAR, content(steps), tmp_path))
    assert len(content(out, version=1)) == 60


def test_another_reward_makes_another_version_and_the_old_one_stays(steps, tmp_path):
    out = tmp_path / "out"
    score_file(NEAR, steps, out)
    with pytest.raises(FileError, match="is a Delta table with other rows"):
        score_file(NEARER, steps, out)
    score_file(NEARER, steps, out, overwrite=True, scores=True)
    assert "near.score" in content(out).schema.names
    assert_same(content(out, version=0), expected(NEAR, content(steps), tmp_path))


def test_an_older_version_is_read_where_it_is_named(steps, tmp_path):
    assert score_file(NEAR, f"{steps}@v0", tmp_path / "old").rows == 20
    assert diff(NEAR, NEARER, data=f"{steps}@v0").effect.changes.records == 20
    assert diff(NEAR, NEARER, data=str(steps)).effect.changes.records == 40
    with pytest.raises(FileError, match="steps: this Delta table cannot be used"):
        score_file(NEAR, f"{steps}@v7", tmp_path / "none")


def test_columns_that_were_added_later_are_null_in_older_files(steps, tmp_path):
    more = rows(40).append_column("weight", pa.array([1.0] * 20))
    deltalake.write_deltalake(steps, more, mode="append", schema_mode="merge")
    done = score_file(NEAR, steps, tmp_path / "out", keep=["weight", "day", "id"])
    assert done.rows == 60
    found = content(tmp_path / "out")
    assert found["weight"].null_count == 40
    assert set(found["day"].to_pylist()) == {"mon", "tue é/x"}


def test_files_that_the_table_does_not_list_are_not_read(steps, tmp_path):
    pq.write_table(rows(100).drop_columns(["day"]), steps / "day=mon" / "stale.parquet")
    assert score_file(NEAR, steps, tmp_path / "out").rows == 40


def test_a_table_and_a_folder_of_parts_are_not_mixed(steps, tmp_path):
    score_file(NEAR, steps, tmp_path / "out")
    (tmp_path / "parts").mkdir()
    pq.write_table(rows(0), tmp_path / "parts" / "a.parquet")
    with pytest.raises(FileError, match="out is a Delta table, and .*parts is not"):
        score_file(NEAR, tmp_path / "parts", tmp_path / "out", overwrite=True)
    with pytest.raises(FileError, match="Delta table with partitions"):
        score_file(NEAR, tmp_path / "out", steps, keep=["id", "distance"], overwrite=True)
    with pytest.raises(FileError, match="folder that the rows are read from"):
        score_file(NEAR, steps, steps, overwrite=True)
    with pytest.raises(FileError, match="cannot have a column 'my total'"):
        score_file(NEAR, steps, tmp_path / "spaces", prefix="my ")


def change_log(path, **protocol):
    log = path / LOG
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if "protocol" in line:
            line["protocol"] = protocol
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        (
            {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": ["columnMapping"],
                "writerFeatures": ["columnMapping"],
            },
            "uses columnMapping, which is not supported",
        ),
        (
            {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": ["hoverboards"],
                "writerFeatures": ["hoverboards"],
            },
            "hoverboards",
        ),
        ({"minReaderVersion": 9, "minWriterVersion": 9}, "steps: this Delta table cannot be used"),
    ],
)
def test_a_table_of_a_newer_protocol_is_refused_by_name(steps, tmp_path, protocol, message):
    change_log(steps, **protocol)
    with pytest.raises(UnusableFile, match=message):
        score_file(NEAR, steps, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def deletion_vector(row):
    """Return the inline vector of a table's protocol that says that one row is deleted, in the base 85 of ZeroMQ."""
    bitmap = struct.pack("<IIHHIH", 12346, 1, 0, 0, 16, row)
    content = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    content += bytes(-len(content) % 4)
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    words = [int.from_bytes(content[at : at + 4], "big") for at in range(0, len(content), 4)]
    text = "".join(digits[word // 85**power % 85] for word in words for power in (4, 3, 2, 1, 0))
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(content), "cardinality": 1}


def test_rows_that_a_deletion_vector_names_are_gone(steps, tmp_path):
    features = ["deletionVectors"]
    change_log(steps, minReaderVersion=3, minWriterVersion=7, readerFeatures=features, writerFeatures=features)
    log = steps / LOG
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["deletionVector"] = deletion_vector(3)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = score_file(NEAR, steps, tmp_path / "out", batch_rows=2)
    assert done.rows == 39
    assert content(tmp_path / "out")["id"].to_pylist() == [at for at in range(40) if at != 3]


def test_a_table_in_object_storage(storage, steps, tmp_path):
    source, target = storage.upload(steps, "steps"), f"{storage.address}/out"
    stopped = False

    def expire(done, total):
        if done > 20 and not stopped:
            storage.fail("ExpiredToken", method="POST")

    with pytest.raises(FileError, match="credentials have expired"):
        score_file(NEAR, source, target, progress=expire)
    storage.heal()
    stopped = True
    assert [name for name in storage.list("out") if "_delta_log" in name] == []
    done = score_file(NEAR, source, target, progress=expire)
    assert (done.rows, done.resumed) == (40, 1)
    found = content(target, storage_options={"AWS_ALLOW_HTTP": "true"})
    assert_same(found, expected(NEAR, content(steps), tmp_path))


def test_engines_read_the_table_that_is_written(steps, tmp_path):
    pandas, polars, duckdb = (pytest.importorskip(name) for name in ("pandas", "polars", "duckdb"))
    score_file(NEAR, steps, tmp_path / "out")
    wanted = content(tmp_path / "out")
    assert polars.read_delta(str(tmp_path / "out")).sort("id").to_dict(as_series=False) == wanted.to_pydict()
    files = deltalake.DeltaTable(tmp_path / "out").file_uris()
    paths = [Path(each).as_posix() for each in files]
    assert (
        duckdb.sql(f"SELECT * FROM read_parquet({paths}) ORDER BY id").to_arrow_table().to_pydict()
        == wanted.to_pydict()
    )
    frame = pandas.concat(map(pandas.read_parquet, paths)).sort_values("id")
    assert frame["total"].tolist() == wanted["total"].to_pylist()


def test_files_behind_one_that_changed_are_scored_again_where_a_reward_carries_state(tmp_path):
    def count_gap(distance, prev):
        return prev.gap + distance

    @term
    def far(gap):
        return -gap

    gap = State("gap", reset=0.0, low=0, update=count_gap)
    reward = Reward("going", version="1", terms=[far], fields=[Field("distance", low=0), gap])

    def write(day, first, distance, **options):
        steps = {
            "day": [day] * 10,
            "distance": [distance] * 10,
            "episode": ["e"] * 10,
            "step": range(first, first + 10),
        }
        deltalake.write_deltalake(tmp_path / "steps", pa.table(steps), partition_by=["day"], **options)

    write("mon", 0, 1.0)
    write("tue", 10, 1.0, mode="append")
    score_file(reward, tmp_path / "steps", tmp_path / "out")
    assert pa.table(deltalake.DeltaTable(tmp_path / "out").scan()).select(["step", "far"]).sort_by("step")[
        "far"
    ].to_pylist() == [-1.0 * at for at in range(1, 21)]
    assert score_file(reward, tmp_path / "steps", tmp_path / "out").resumed == 2
    write("mon", 0, 2.0, mode="overwrite", predicate="day = 'mon'")
    assert score_file(reward, tmp_path / "steps", tmp_path / "out", overwrite=True).resumed == 0
    found = pa.table(deltalake.DeltaTable(tmp_path / "out").scan()).select(["step", "far"]).sort_by("step")
    assert found["far"].to_pylist() == [-2.0 * (at + 1) for at in range(10)] + [-21.0 - at for at in range(10)]


def test_spark_reads_the_files_of_the_table(spark, steps, tmp_path):
    score_file(NEAR, steps, tmp_path / "out")  # as plain Parquet: reading tables needs delta-spark, which is a jar
    files = deltalake.DeltaTable(tmp_path / "out").file_uris()
    found = spark.read.parquet(*files).orderBy("id").collect()
    assert [row.total for row in found] == content(tmp_path / "out")["total"].to_pylist()
