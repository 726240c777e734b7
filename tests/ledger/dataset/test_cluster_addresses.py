"""Engines of many processes and addresses: workers open objects themselves, and what they write is on a shared disk."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plaudit import FileError
from plaudit.ledger.dataset import score_file
from support.tables import read, table
from support.task_engines import InOrder, score_in_order


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "rows"
    made.mkdir()
    for at in range(3):
        pq.write_table(table(60, seed=at), made / f"part-{at}.parquet", row_group_size=30)
    return made


@pytest.fixture
def steps(storage, folder):
    return storage.upload(folder, "rows")


def assert_same(one, other):
    assert sorted(path.name for path in one.glob("*.parquet")) == sorted(path.name for path in other.glob("*.parquet"))
    for path in one.glob("*.parquet"):
        assert repr(read(path).to_pylist()) == repr(read(other / path.name).to_pylist())


def test_tasks_read_objects_piece_by_piece(mixed, heavier, steps, folder, tmp_path):
    engine = InOrder(4)
    there = score_in_order(mixed, steps, tmp_path / "there", engine, against=heavier)
    here = score_file(mixed, folder, tmp_path / "here", against=heavier)
    assert_same(tmp_path / "there", tmp_path / "here")
    assert (there.rows, there.source, there.changes.records) == (here.rows, steps, 180)
    assert sum(kind == "Piece" for _, kind in engine.done) > 3


def test_a_part_whose_object_changed_is_scored_again(mixed, storage, steps, tmp_path):
    score_in_order(mixed, steps, tmp_path / "out")
    pq.write_table(table(70, seed=9), tmp_path / "new.parquet")
    storage.upload(tmp_path / "new.parquet", "rows/part-1.parquet")
    engine = InOrder(1)
    done = score_in_order(mixed, steps, tmp_path / "out", engine)
    assert (done.rows, done.resumed, {name for name, _ in engine.done}) == (190, 2, {"part-1.parquet"})


def test_one_object_becomes_a_file(mixed, steps, folder, tmp_path):
    score_in_order(mixed, f"{steps}/part-0.parquet", tmp_path / "out.parquet", bad_rows=f"file://{tmp_path}/bad.jsonl")
    score_file(mixed, folder / "part-0.parquet", tmp_path / "here.parquet")
    assert repr(read(tmp_path / "out.parquet").to_pylist()) == repr(read(tmp_path / "here.parquet").to_pylist())
    assert (tmp_path / "bad.jsonl").exists()


def test_a_file_address_is_a_path(mixed, folder, tmp_path):
    score_in_order(mixed, f"file://{folder}", f"file://{tmp_path}/there")
    score_file(mixed, folder, tmp_path / "here")
    assert_same(tmp_path / "there", tmp_path / "here")


def test_an_engine_writes_to_no_address(mixed, storage, folder, tmp_path):
    with pytest.raises(FileError, match=r"/out: the engine in order writes to a disk .* local engine"):
        score_in_order(mixed, folder, f"{storage.address}/out")
    with pytest.raises(FileError, match="bad.jsonl: the engine in order writes to a disk"):
        score_in_order(
            mixed, folder / "part-0.parquet", tmp_path / "out.parquet", bad_rows=f"{storage.address}/bad.jsonl"
        )
    assert storage.list() == []


def test_a_link_to_a_file_keeps_its_own_name(mixed, folder, tmp_path):
    (folder / "part-2.parquet").rename(tmp_path / "elsewhere.parquet")
    (folder / "part-2.parquet").symlink_to(tmp_path / "elsewhere.parquet")
    score_in_order(mixed, folder, tmp_path / "there")
    score_file(mixed, folder, tmp_path / "here")
    assert_same(tmp_path / "there", tmp_path / "here")
    assert (tmp_path / "there/part-2.parquet").exists()


def test_an_engine_reads_and_writes_no_delta_table(mixed, folder, tmp_path):
    deltalake = pytest.importorskip("deltalake", reason="needs plaudit[lake]")
    deltalake.write_deltalake(tmp_path / "lake", pa.table({"distance": [1.0]}))
    with pytest.raises(FileError, match="is a Delta table, which the engines ray and spark do not read"):
        score_in_order(mixed, tmp_path / "lake", tmp_path / "out")
    with pytest.raises(FileError, match="is a Delta table, and the rows are not"):
        score_in_order(mixed, folder, tmp_path / "lake")
