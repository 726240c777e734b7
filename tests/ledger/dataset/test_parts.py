"""A folder of Parquet parts: each whole or not at all, and resumed where an earlier run was stopped."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plaudit import FileError
from plaudit.errors import MissingField
from plaudit.ledger.dataset import score_file
from support.tables import read, table


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "rows"
    made.mkdir()
    for at in range(4):
        pq.write_table(table(50, seed=at), made / f"part-{at}.parquet")
    return made


def whole(folder):
    return pa.concat_tables([read(path) for path in sorted(folder.glob("*.parquet"))])


def test_every_part_is_written_under_its_name(mixed, folder, tmp_path):
    told = []
    done = score_file(mixed, folder, tmp_path / "out", progress=lambda *one: told.append(one))
    assert (done.rows, done.resumed) == (200, 0)
    assert sorted(os.listdir(tmp_path / "out")) == ["_plaudit.json", *(f"part-{at}.parquet" for at in range(4))]
    assert json.loads((tmp_path / "out/_plaudit.json").read_text())["rows"] == 200
    assert told[-1] == (200, 200)
    assert [one for one, _ in told] == sorted(one for one, _ in told)
    joined = pa.concat_tables([table(50, seed=at) for at in range(4)])
    pq.write_table(joined, tmp_path / "all.parquet")
    score_file(mixed, tmp_path / "all.parquet", tmp_path / "one.parquet")
    assert whole(tmp_path / "out").equals(read(tmp_path / "one.parquet"))


def test_a_pattern_names_parts(mixed, folder, tmp_path):
    done = score_file(mixed, f"{folder}/part-[12].parquet", tmp_path / "out")
    assert done.rows == 100
    with pytest.raises(FileError, match="no file matches"):
        score_file(mixed, f"{folder}/nothing-*.parquet", tmp_path / "out2")


class Stopped(Exception):
    pass


def stop_after(rows):
    def progress(done, total):
        if done > rows:
            raise Stopped

    return progress


def test_a_run_that_was_stopped_goes_on_with_the_parts_that_lack(mixed, heavier, folder, tmp_path):
    with pytest.raises(Stopped):
        score_file(mixed, folder, tmp_path / "out", progress=stop_after(110))
    assert sorted(os.listdir(tmp_path / "out")) == ["part-0.parquet", "part-1.parquet"]
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    done = score_file(mixed, folder, tmp_path / "out", against=heavier)
    assert (done.rows, done.resumed, done.changes.records) == (200, 2, 200)
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())
    score_file(mixed, folder, tmp_path / "straight")
    assert whole(tmp_path / "out").equals(whole(tmp_path / "straight"))


def test_bad_rows_of_finished_parts_are_counted_too(mixed, folder, tmp_path):
    rows = table(50).to_pylist()
    rows[3]["distance"] = None
    pq.write_table(pa.Table.from_pylist(rows, table(1).schema), folder / "part-0.parquet")
    with pytest.raises(Stopped):
        score_file(mixed, folder, tmp_path / "out", progress=stop_after(60))
    done = score_file(mixed, folder, tmp_path / "out")
    assert (done.bad, done.reasons, done.resumed) == (1, {"distance is NULL": 1}, 1)


def test_parts_of_another_reward_are_not_taken_for_ours(mixed, heavier, folder, tmp_path):
    score_file(mixed, folder, tmp_path / "out")
    with pytest.raises(FileError, match="is not a part of this job"):
        score_file(heavier, folder, tmp_path / "out")
    assert score_file(heavier, folder, tmp_path / "out", overwrite=True).resumed == 0
    assert score_file(heavier, folder, tmp_path / "out").resumed == 4


def test_a_part_that_changed_is_written_again(mixed, folder, tmp_path):
    score_file(mixed, folder, tmp_path / "out")
    pq.write_table(table(50, seed=99), folder / "part-2.parquet")
    later = (tmp_path / "out/part-2.parquet").stat().st_mtime + 10
    os.utime(folder / "part-2.parquet", (later, later))
    with pytest.raises(FileError, match=r"part-2\.parquet already exists"):
        score_file(mixed, folder, tmp_path / "out")
    assert score_file(mixed, folder, tmp_path / "out", overwrite=True).resumed == 3


def test_a_part_that_lacks_a_column_is_told_before_any_is_written(mixed, folder, tmp_path):
    pq.write_table(table(5).drop_columns(["phase"]), folder / "part-9.parquet")
    with pytest.raises(MissingField, match=r"part-9\.parquet lacks 'phase'"):
        score_file(mixed, folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_into_itself_without_parts_or_onto_a_file_is_refused(mixed, folder, tmp_path):
    with pytest.raises(FileError, match="the folder that the rows are read from"):
        score_file(mixed, folder, folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match=r"has no \.parquet file"):
        score_file(mixed, tmp_path / "empty", tmp_path / "out")
    (folder / "below").mkdir()
    pq.write_table(table(1), folder / "below/part-7.parquet")
    with pytest.raises(FileError, match="in subfolders"):
        score_file(mixed, folder, tmp_path / "out")
    (folder / "below/part-7.parquet").unlink()
    (tmp_path / "taken").write_text("")
    with pytest.raises(FileError, match="is a file; parts are written to a folder"):
        score_file(mixed, folder, tmp_path / "taken")


def test_a_damaged_part_in_the_output_is_told(mixed, folder, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/part-0.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(FileError, match=r"part-0\.parquet cannot be read"):
        score_file(mixed, folder, tmp_path / "out")
