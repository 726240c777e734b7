"""Data sets in object storage: the same rows as on a disk, whole or not at all, and errors that say what to do."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plaudit import FileError
from plaudit.analysis import diff
from plaudit.ledger.dataset import score_file
from support.mounts import need_root, small
from support.object_storage import SECRET
from support.tables import read, table


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "rows"
    made.mkdir()
    for at in range(3):
        pq.write_table(table(50, seed=at), made / f"part-{at}.parquet")
    return made


@pytest.fixture
def steps(storage, folder):
    return storage.upload(folder, "rows")


def held(storage, name):
    return pq.read_table(pa.BufferReader(storage.get(name)))


class Stopped(Exception):
    pass


def stop_after(rows):
    def progress(done, total):
        if done > rows:
            raise Stopped

    return progress


@pytest.mark.parametrize(
    "name",
    [
        "rows.parquet",
        pytest.param("rows.csv", marks=pytest.mark.slow),
        pytest.param("rows.jsonl", marks=pytest.mark.slow),
    ],
)
def test_an_object_gets_the_bytes_that_a_file_gets(mixed, storage, tmp_path, name):
    flat = table(200).drop_columns(["torque", "prev", "curr"]).append_column("prev.done", pa.array([0.0] * 200))
    flat = flat.append_column("curr.done", pa.array([0.5] * 200))
    for at in range(3):
        flat = flat.append_column(f"torque[{at}]", pa.array([0.25] * 200))
    pq.write_table(flat, tmp_path / "all.parquet")
    rows = tmp_path / f"only-{name}"
    score_file(mixed, tmp_path / "all.parquet", rows, prefix="old.")
    source = storage.upload(rows, name)
    here = score_file(mixed, rows, tmp_path / f"here-{name}")
    there = score_file(mixed, source, f"{storage.address}/out/{name}", bad_rows=f"{storage.address}/bad.jsonl")
    assert storage.get(f"out/{name}") == (tmp_path / f"here-{name}").read_bytes()
    assert (there.rows, there.output) == (here.rows, f"{storage.address}/out/{name}")
    assert storage.list() == sorted(["bad.jsonl", f"out/{name}", name])
    with pytest.raises(FileError, match="already exists"):
        score_file(mixed, source, f"{storage.address}/out/{name}")
    with pytest.raises(FileError, match="is the input file"):
        score_file(mixed, source, source, overwrite=True)


def test_a_folder_of_parts_is_resumed(mixed, heavier, storage, steps, folder, tmp_path):
    target = f"{storage.address}/out"
    with pytest.raises(Stopped):
        score_file(mixed, steps, target, progress=stop_after(60))
    assert storage.list("out") == ["part-0.parquet"]
    done = score_file(mixed, steps, target, against=heavier)
    assert (done.rows, done.resumed, done.changes.records) == (150, 1, 150)
    score_file(mixed, folder, tmp_path / "out")
    for at in range(3):
        assert held(storage, f"out/part-{at}.parquet").equals(read(tmp_path / f"out/part-{at}.parquet"))
    assert json.loads(storage.get("out/_plaudit.json"))["rows"] == 150
    with pytest.raises(FileError, match="is not a part of this job"):
        score_file(heavier, steps, target)
    assert score_file(heavier, steps, target, overwrite=True).resumed == 0
    with pytest.raises(FileError, match="is the folder that the rows are read from"):
        score_file(mixed, steps, steps)


def test_patterns_name_parts_and_what_is_not_there_is_an_error(mixed, storage, steps, tmp_path):
    assert score_file(mixed, f"{steps}/part-[12].parquet", tmp_path / "out").rows == 100
    assert score_file(mixed, f"{storage.address}/r*/*.parquet", f"{storage.address}/all").rows == 150
    for source, message in {
        f"{steps}/no-*.parquet": "no file matches",
        f"{steps}/none.parquet": "none.parquet does not exist",
        f"{storage.address}/none": "none does not exist",
        "s3://no-such-bucket-here/rows": "there is no bucket 'no-such-bucket-here'",
        "https://host/rows.csv": "https:// is not supported; use s3://, gs:// or file://",
        f"s3://key:{SECRET}@b/rows.csv": "Leave them out of the address",
        f"s3://b/rows.csv?secret={SECRET}": "Leave them out of the address",
        "s3:///rows.csv": "names no bucket",
    }.items():
        with pytest.raises(FileError, match=message.replace("?", r"\?")) as raised:
            score_file(mixed, source, tmp_path / "none.csv")
        assert SECRET not in str(raised.value)
    with pytest.raises(FileError, match="there is no bucket"):
        score_file(mixed, f"{steps}/part-0.parquet", "s3://no-such-bucket-here/out.parquet")


def test_a_file_address_is_a_local_path(mixed, folder, tmp_path):
    score_file(mixed, f"file://{folder}", f"file://{tmp_path}/out")
    assert sorted(os.listdir(tmp_path / "out")) == ["_plaudit.json", *(f"part-{at}.parquet" for at in range(3))]
    score_file(mixed, f"file://{folder}/part-0.parquet", f"file://{tmp_path}/one%20file.parquet")
    assert read(tmp_path / "one file.parquet").equals(read(tmp_path / "out/part-0.parquet"))


def test_a_diff_reads_addresses(mixed, heavier, steps):
    assert diff(mixed, heavier, data=steps).effect.changes.records == 150


@pytest.mark.parametrize(
    ("method", "finished"),
    [("PUT", 1), pytest.param("POST", 1, marks=pytest.mark.slow), pytest.param("GET", 2, marks=pytest.mark.slow)],
)
def test_credentials_that_expire_leave_finished_parts_and_nothing_half_written(mixed, storage, steps, method, finished):
    target = f"{storage.address}/out"

    def expire(done, total):
        if done >= 60:
            storage.fail("ExpiredToken", method=method)

    with pytest.raises(FileError, match="credentials have expired") as raised:
        score_file(mixed, steps, target, progress=expire)
    assert SECRET not in str(raised.value)
    storage.heal()
    assert storage.list("out") == [f"part-{at}.parquet" for at in range(finished)]
    assert score_file(mixed, steps, target).resumed == finished


@pytest.mark.parametrize(
    ("code", "message"), {"AccessDenied": "access denied", "NoSuchBucket": "there is no bucket"}.items()
)
def test_a_storage_that_refuses_is_an_error_that_names_the_reason(mixed, storage, steps, tmp_path, code, message):
    storage.fail(code)
    with pytest.raises(FileError, match=message):
        score_file(mixed, steps, tmp_path / "out")


def test_a_large_object_whose_upload_fails_on_the_way_does_not_appear(storage, tmp_path):
    from plaudit.rows.addresses import upload_file

    (tmp_path / "large").write_bytes(os.urandom(40 << 20))
    storage.put("large", b"old")
    storage.fail("ExpiredToken", method="PUT", after=1)
    with pytest.raises(FileError, match="expired"):
        upload_file(str(tmp_path / "large"), f"{storage.address}/large")
    storage.heal()
    assert storage.get("large") == b"old"


def test_a_bucket_that_may_only_be_read_stays_as_it_is(mixed, storage, steps):
    storage.fail("AccessDenied", method="POST")
    with pytest.raises(FileError, match="access denied"):
        score_file(mixed, f"{steps}/part-0.parquet", f"{storage.address}/out.parquet")
    storage.heal()
    assert storage.list() == [f"rows/part-{at}.parquet" for at in range(3)]


def test_a_full_temporary_folder_is_told_and_nothing_is_uploaded(mixed, monkeypatch, storage, steps, tmp_path):
    need_root("mount")
    pq.write_table(table(50_000), tmp_path / "large.parquet")
    with small(tmp_path / "small", "1m") as disk:
        monkeypatch.setattr("tempfile.tempdir", str(disk))
        with pytest.raises(FileError, match="out.jsonl cannot be written: No space left on device"):
            score_file(mixed, tmp_path / "large.parquet", f"{storage.address}/out.jsonl")
        assert os.listdir(disk) == []
    assert "out.jsonl" not in storage.list()


def test_an_endpoint_that_is_away_is_told_soon(mixed, monkeypatch, storage, tmp_path):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(FileError, match=r"http://127.0.0.1:1 does not answer"):
        score_file(mixed, "s3://bucket/rows.csv", tmp_path / "out.csv")


def test_google_storage_is_recognized(mixed, monkeypatch, tmp_path):
    from plaudit.rows import addresses

    files, path = addresses.open_address("gs://bucket/rows/")
    assert (files.type_name, path) == ("gcs", "bucket/rows")
    assert addresses.storage_options("gs://bucket/rows")["connect_timeout"] == "3s"
