"""Tasks of an engine, in this process: what they give is what the local engine gives, and what is finished is kept."""

import json
import os
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plaudit import Field, FileError, InputError, Reward, term
from plaudit.errors import LedgerBusy, MissingField, TargetError
from plaudit.file_lock import lock_folder
from plaudit.ledger.dataset import score_file
from support.tables import made, read, table
from support.task_engines import InOrder, score_in_order

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


@pytest.fixture
def folder(tmp_path):
    """Make three parts of ten row groups, with some bad rows and decisions that go on from part to part."""
    made = tmp_path / "rows"
    made.mkdir()
    rows = table(600).to_pylist()
    for number, row in enumerate(rows):
        row |= {"kind": "abc"[number // 7 % 3], "decision": number // 3, "episode": number // 50, "step": number % 50}
    for at in (5, 130, 131, 420):
        rows[at]["distance"] = None
    whole = pa.Table.from_pylist(rows)
    for at in range(3):
        pq.write_table(whole.slice(200 * at, 200), made / f"part-{at}.parquet", row_group_size=20)
    return made


COMPARED = {"decision_class": "kind", "decision": "decision"}


def assert_same(one, other):
    assert sorted(path.name for path in one.iterdir() if path.name[0] != "_") == sorted(
        path.name for path in other.iterdir() if path.name[0] != "_"
    )
    for path in one.glob("*.parquet"):
        assert repr(read(path).to_pylist()) == repr(read(other / path.name).to_pylist())
        assert read(path).schema.equals(read(other / path.name).schema)


def assert_same_changes(one, other):
    ours, theirs = one.changes.to_dict(), other.changes.to_dict()
    for part in ("old", "new", "difference"):
        ours[part], theirs[part] = pytest.approx(ours[part], rel=1e-12), theirs[part]
    ours["episodes"] = ours["episodes"] and pytest.approx(ours["episodes"], rel=1e-12)
    assert theirs == ours


@pytest.mark.parametrize(
    "slots",
    [
        pytest.param(1, marks=pytest.mark.slow),
        pytest.param(2, marks=pytest.mark.slow),
        7,
        pytest.param(100, marks=pytest.mark.slow),
    ],
)
def test_tasks_give_what_the_local_engine_gives(folder, heavier, tmp_path, slots):
    engine, told = InOrder(slots), []
    there = score_in_order(
        made(), folder, tmp_path / "there", engine, against=heavier, progress=lambda *at: told.append(at), **COMPARED
    )
    here = score_file(made(), folder, tmp_path / "here", against=heavier, **COMPARED)
    assert_same(tmp_path / "there", tmp_path / "here")
    assert (there.rows, there.bad, there.reasons, there.engine) == (600, 4, {"distance is NULL": 4}, "in order")
    assert_same_changes(there, here)
    pieces = sum(kind == "Piece" for _, kind in engine.done)
    assert 2 * min(slots, 15) <= pieces <= 30 or pieces == 3
    assert told[-1] == (pieces, pieces)
    assert json.loads((tmp_path / "there/_plaudit.json").read_text())["rows"] == 600
    assert not [path for path in (tmp_path / "there").rglob("*") if path.name == "rows"]


def test_a_column_of_old_totals_and_rounding_name_rows_as_in_their_files(folder, tmp_path):
    score_file(
        made(), folder, tmp_path / "scored", keep=["id", "distance", "torque", "prev", "curr", "phase", "braking"]
    )
    narrow = tmp_path / "narrow"
    narrow.mkdir()
    for path in sorted((tmp_path / "scored").glob("*.parquet")):
        found = read(path)
        column = found["total"].cast(pa.float32())
        dropped = found.drop_columns(["total", "near", "effort", "progress", "mode", "ok"])
        pq.write_table(dropped.append_column("old", column), narrow / path.name, row_group_size=30)
    here = score_file(made(), narrow, tmp_path / "here", against="old")
    there = score_in_order(made(), narrow, tmp_path / "there", InOrder(5), against="old")
    assert_same_changes(there, here)
    assert there.changes.rounding == here.changes.rounding


def test_one_file_becomes_one_file_and_its_bad_rows_another(folder, tmp_path):
    source = folder / "part-0.parquet"
    there = score_in_order(made(), source, tmp_path / "there.parquet", InOrder(4), bad_rows=tmp_path / "there.jsonl")
    here = score_file(made(), source, tmp_path / "here.parquet", bad_rows=tmp_path / "here.jsonl")
    assert repr(read(tmp_path / "there.parquet").to_pylist()) == repr(read(tmp_path / "here.parquet").to_pylist())
    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes() != b""
    assert (there.bad, there.bad_rows) == (here.bad, str(tmp_path / "there.jsonl"))
    assert sorted(path.name for path in tmp_path.iterdir() if path.name[0] == ".") == []
    with pytest.raises(FileError, match=r"there\.parquet already exists"):
        score_in_order(made(), source, tmp_path / "there.parquet")
    with pytest.raises(FileError, match="becomes a folder of parts"):
        score_in_order(made(), folder, tmp_path / "out", bad_rows=tmp_path / "there.jsonl")


@term
def double(x):
    return 2 * x


PLAIN = Reward("plain", version="1", terms=[double], fields=[Field("x", low=0)])


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_text_is_scored_in_files_and_in_folders(tmp_path, suffix):
    (tmp_path / "rows").mkdir()
    for at in range(3):
        rows = [3 * at, 1, "far", 2.5]
        lines = ["x", *map(str, rows)] if suffix == "csv" else [json.dumps({"x": value}) for value in rows]
        (tmp_path / f"rows/{at}.{suffix}").write_text("\n".join([*lines, "" if suffix == "csv" else "{", ""]))
    for at in range(3):
        score_file(PLAIN, tmp_path / f"rows/{at}.{suffix}", tmp_path / f"here{at}.{suffix}")
    done = score_in_order(PLAIN, tmp_path / "rows", tmp_path / "there", against=PLAIN.with_weights(double=2.0))
    for at in range(3):
        assert (tmp_path / f"there/{at}.{suffix}").read_bytes() == (tmp_path / f"here{at}.{suffix}").read_bytes()
    assert (done.rows, done.bad, done.unreadable) == (12, 3, 0 if suffix == "csv" else 3)
    assert (done.changes.records, done.changes.without) == (9, 3)
    assert score_in_order(PLAIN, tmp_path / f"rows/*.{suffix}", tmp_path / "there").resumed == 3
    score_in_order(PLAIN, tmp_path / f"rows/0.{suffix}", tmp_path / "0.parquet")
    assert read(tmp_path / "0.parquet")["total"].to_pylist() == [0.0, 2.0, None, 5.0]


def test_a_job_that_was_stopped_goes_on_with_the_tasks_that_lack(folder, heavier, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        score_in_order(made(), folder, tmp_path / "out", InOrder(2, stop_after=7), against=heavier)
    assert not (tmp_path / "out/_plaudit.json").exists()
    finished = {path.name: path.stat() for path in (tmp_path / "out").glob("*.parquet")}
    assert 0 < len(finished) < 3
    engine = InOrder(2)
    done = score_in_order(made(), folder, tmp_path / "out", engine, against=heavier)
    assert done.resumed == len(finished)
    assert not {name for name, _ in engine.done} & {*finished}
    assert all((tmp_path / "out" / name).stat() == status for name, status in finished.items())
    assert_same_changes(done, score_file(made(), folder, tmp_path / "here", against=heavier))
    assert_same(tmp_path / "out", tmp_path / "here")
    engine = InOrder()
    assert score_in_order(made(), folder, tmp_path / "out", engine).resumed == 3
    assert engine.done == []


def test_pieces_that_are_finished_are_not_scored_again_either(folder, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        score_in_order(made(), folder, tmp_path / "out", InOrder(4, stop_after=2))
    assert not list((tmp_path / "out").glob("*.parquet"))
    engine = InOrder(4)
    score_in_order(made(), folder, tmp_path / "out", engine)
    assert sum(kind == "Piece" for _, kind in engine.done) == 9 - 2


def test_a_part_whose_source_changed_is_scored_again_and_one_of_another_job_is_not_touched(folder, heavier, tmp_path):
    score_in_order(made(), folder, tmp_path / "out")
    pq.write_table(read(folder / "part-1.parquet").slice(0, 90), folder / "part-1.parquet")
    engine = InOrder(1)
    done = score_in_order(made(), folder, tmp_path / "out", engine)
    assert (done.rows, done.resumed, {name for name, _ in engine.done}) == (490, 2, {"part-1.parquet"})
    with pytest.raises(FileError, match=r"part-0\.parquet already exists and is not a part of this job"):
        score_in_order(heavier, folder, tmp_path / "out")
    assert score_in_order(made(), folder, tmp_path / "out").resumed == 3
    assert score_in_order(made(), folder, tmp_path / "out", against=heavier).changes.records == 486
    assert score_in_order(heavier, folder, tmp_path / "out", overwrite=True).resumed == 0
    score_file(heavier, folder, tmp_path / "here")
    assert_same(tmp_path / "out", tmp_path / "here")


def test_a_part_that_is_gone_from_the_source_does_not_stay_in_the_target(folder, tmp_path):
    score_in_order(made(), folder, tmp_path / "out")
    (folder / "part-2.parquet").unlink()
    with pytest.raises(FileError, match=r"part-2\.parquet is not among the parts of"):
        score_in_order(made(), folder, tmp_path / "out")
    assert score_in_order(made(), folder, tmp_path / "out", overwrite=True).resumed == 2
    assert not (tmp_path / "out/part-2.parquet").exists()


def test_a_part_that_always_fails_is_named_and_the_others_stay(folder, tmp_path):
    with pytest.raises(TargetError, match=r"in order could not finish .*part-2\.parquet: SIGKILL"):
        score_in_order(made(), folder, tmp_path / "out", InOrder(1, fails="part-2.parquet"))
    assert not (tmp_path / "out/_plaudit.json").exists()
    assert score_in_order(made(), folder, tmp_path / "out").resumed == 2


def test_a_second_run_at_the_same_time_is_refused(folder, tmp_path):
    with lock_folder(tmp_path / "out/_plaudit"), pytest.raises(LedgerBusy, match="another run is writing to"):
        score_in_order(made(), folder, tmp_path / "out")


def test_what_goes_wrong_is_told_as_by_the_local_engine(folder, tmp_path):
    with pytest.raises(InputError, match=r"part-0\.parquet, row 6: reward 'mixed' needs 'distance'"):
        score_in_order(made(), folder, tmp_path / "out", on_bad="raise")
    with pytest.raises(InputError, match=r"part-0\.parquet, row 6:"):
        score_in_order(made(), folder / "part-0.parquet", tmp_path / "out.parquet", InOrder(8), on_bad="raise")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows"]
    with pytest.raises(FileError, match="the folder that the rows are read from"):
        score_in_order(made(), folder, folder)
    (tmp_path / "taken").write_text("")
    with pytest.raises(FileError, match="is a file; parts are written to a folder"):
        score_in_order(made(), folder, tmp_path / "taken")
    with pytest.raises(FileError, match="there is no folder"):
        score_in_order(made(), folder, tmp_path / "no/out")
    with pytest.raises(FileError, match="name them instead of -"):
        score_in_order(made(), folder / "part-0.parquet", "-")
    pq.write_table(table(5).drop_columns(["phase"]), folder / "part-9.parquet")
    with pytest.raises(MissingField, match=r"part-9\.parquet lacks 'phase'"):
        score_in_order(made(), folder, tmp_path / "out2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows", "taken"]


def test_a_folder_without_rows_and_parts_without_rows_are_no_problem(tmp_path):
    (tmp_path / "rows").mkdir()
    for at, rows in enumerate((0, 30, 0)):
        pq.write_table(table(rows), tmp_path / f"rows/{at}.parquet", row_group_size=10)
    assert score_in_order(made(), tmp_path / "rows", tmp_path / "out", InOrder(4)).rows == 30
    assert [read(tmp_path / f"out/{at}.parquet").num_rows for at in range(3)] == [0, 30, 0]


DRIVER = """
import os, signal, sys
from support.tables import made
from support.task_engines import InOrder, score_in_order

class Killed(InOrder):
    def submit(self, work, task):
        if len(self.done) == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().submit(work, task)

score_in_order(made(), sys.argv[1], sys.argv[2], Killed(1))
"""


@posix
def test_a_driver_that_is_killed_is_resumed(folder, tmp_path):
    for at in range(3, 8):
        pq.write_table(read(folder / "part-0.parquet"), folder / f"part-{at}.parquet")
    where = os.pathsep.join(sys.path)
    killed = subprocess.run(
        [sys.executable, "-c", DRIVER, folder, tmp_path / "out"], env={**os.environ, "PYTHONPATH": where}
    )
    assert killed.returncode == -signal.SIGKILL
    finished = {path.name for path in (tmp_path / "out").glob("*.parquet")}
    engine = InOrder(1)
    done = score_in_order(made(), folder, tmp_path / "out", engine)
    assert done.resumed == len(finished) > 0
    assert len(engine.done) == 8 - 4
    score_file(made(), folder, tmp_path / "here")
    assert_same(tmp_path / "out", tmp_path / "here")
