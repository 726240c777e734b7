"""What is written down of a run: lines of JSON, and curves that TensorBoard reads."""

import json
import sys

import pytest

from plaudit import FileError, MissingExtra
from plaudit.systems.training.journal import drop_rows_after, open_journals, read_rows

ROW = {"update": 1, "steps": 100, "return": -1.5, "kl": 0.01, "win_rate": float("nan"), "terms/kills": 0.3}


def written(folder, *rows, after=0, tensorboard=False):
    with open_journals(folder, after=after, tensorboard=tensorboard) as journals:
        for row in rows:
            journals.write(row)


def test_every_update_is_a_line_and_what_is_no_number_is_null(tmp_path):
    written(tmp_path, ROW, {**ROW, "update": 2})
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["update"] for line in lines] == [1, 2]
    assert json.loads(lines[0])["win_rate"] is None


def test_a_line_that_a_crash_cut_off_is_left_out(tmp_path):
    written(tmp_path, ROW, {**ROW, "update": 2})
    path = tmp_path / "log.jsonl"
    path.write_text(path.read_text()[:-9])
    assert [row["update"] for row in read_rows(path)] == [1]
    drop_rows_after(path, 1)
    written(tmp_path, {**ROW, "update": 2})
    assert [row["update"] for row in read_rows(path)] == [1, 2]


def test_what_came_after_a_checkpoint_is_cut(tmp_path):
    written(tmp_path, *({**ROW, "update": update} for update in (1, 2, 3)))
    drop_rows_after(tmp_path / "log.jsonl", 2)
    assert [row["update"] for row in read_rows(tmp_path / "log.jsonl")] == [1, 2]


def test_a_log_with_nonsense_in_the_middle_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"update": 1}\nnonsense\n{"update": 2}\n')
    with pytest.raises(FileError, match="log.jsonl cannot be read"):
        read_rows(path)


def test_tensorboard_reads_the_curves(tmp_path):
    pytest.importorskip("tensorboard", reason="needs plaudit[train]")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    written(tmp_path, ROW, {**ROW, "steps": 200, "return": -1.0}, {**ROW, "steps": 300}, tensorboard=True)
    written(tmp_path, {**ROW, "steps": 300, "return": 7.0}, after=200, tensorboard=True)
    curves = EventAccumulator(str(tmp_path / "tensorboard"))
    curves.Reload()
    assert [(each.step, each.value) for each in curves.Scalars("episode/return")] == [
        (100, -1.5),
        (200, -1.0),
        (300, 7.0),
    ]
    assert curves.Scalars("terms/kills")[0].value == pytest.approx(0.3)
    assert "episode/win_rate" not in curves.Tags()["scalars"]


def test_without_tensorboard_the_extra_is_named(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(
        MissingExtra, match=r"need tensorboard.* pip install 'plaudit\[train\]', or leave them out: --no-tensorboard"
    ):
        written(tmp_path, tensorboard=True)
