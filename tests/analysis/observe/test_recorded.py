"""Recorded steps, in a ledger or a file, are the transitions that were played: the same rows, ends and idle episodes."""

import json

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.analysis.observe.play import play
from plaudit.analysis.observe.recorded import read_ledger
from plaudit.analysis.observe.recorded_files import read_file
from plaudit.errors import FileError, InputError, NotFinite, NotInLedger, WrongType
from support.gliders import Glider, features, gliding, moved, onward, records

STEPS = 600


def record(ledger, reward=gliding, given=features, **options):
    """Play a glider whose steps are recorded, and return what was played."""
    env = RewardWrapper(Glider(limit=25), reward, given, ledger=ledger, run="night")
    try:
        return play(env, "Glider", given, steps=STEPS, seed=0, max_steps=1000, **options)
    finally:
        env._record.close()


def read(ledger, *, steps=10_000, idle=None, **query):
    return read_ledger(ledger, steps=steps, idle=idle, progress=None, query=query)[0]


def assert_same_steps(recorded, played):
    assert list(recorded.after) == list(played.after)
    for name in played.after:
        assert (recorded.after[name] == played.after[name]).all(), name
    assert set(recorded.before) == set(played.before)
    for name in played.before:
        assert (recorded.before[name] == played.before[name]).all(), name
    for part in ("episode", "terminated", "truncated"):
        assert (getattr(recorded, part) == getattr(played, part)).all(), part
    assert recorded.unknown_first == played.unknown_first
    assert recorded.action_names == played.action_names
    assert ((recorded.policy == "idle") == (played.policy == "idle")).all()


@pytest.mark.parametrize(("reward", "given"), [(gliding, features), (moved, records)], ids=["plain", "records"])
def test_a_ledger_has_the_steps_that_were_played(tmp_path, reward, given):
    with Ledger(tmp_path / "rewards.db") as ledger:
        played = record(ledger, reward, given)
        recorded = read(ledger)
    assert_same_steps(recorded, played)
    assert set(np.unique(recorded.policy)) == {"idle", "constant", "recorded"}
    assert recorded.declared["force"].low == -1
    assert f"{STEPS} steps of {played.episode[-1] + 1} episodes" in recorded.source


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_an_export_of_a_ledger_has_them_too(tmp_path, suffix):
    with Ledger(tmp_path / "rewards.db") as ledger:
        played = record(ledger)
        ledger.export(tmp_path / f"steps.{suffix}")
    recorded = read_file(str(tmp_path / f"steps.{suffix}"), action="force", idle=None, progress=None)
    assert_same_steps(recorded, played)


def test_an_export_of_a_whole_ledger_is_to_be_imported(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger)
        ledger.export(tmp_path / "steps.jsonl")
    with pytest.raises(InputError, match="is an export of a whole ledger: import it"):
        read_file(str(tmp_path / "steps.jsonl"), action="force", idle=None, progress=None)


def test_episodes_that_are_written_side_by_side_are_put_in_order(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for step in range(1, 5):
            for episode in ("a", "b"):
                ended = {"terminated": True} if step == 4 else None
                signal = gliding.score(x=step, v=1, fuel=1.0, force=0.5)
                ledger.record(signal, run="night", episode=episode, step=step, context=ended)
        found = read(ledger)
    assert found.after["x"].tolist() == [1, 2, 3, 4, 1, 2, 3, 4]
    assert found.episode.tolist() == [0] * 4 + [1] * 4
    assert found.terminated.tolist() == [False, False, False, True] * 2


def test_an_end_that_is_a_record_of_its_own_ends_the_last_step(tmp_path):
    @term(terminal=True)
    def landed(x):
        return 10.0 if x > 1 else 0.0

    reward = Reward("landing", version="1", terms=[onward, landed], fields=[Field("x"), Field("v")])
    with Ledger(tmp_path / "rewards.db") as ledger:
        for episode in ("a", "b"):
            for step in (1, 2, 3):
                ledger.record(reward.score(x=step, v=1), episode=episode, step=step)
        ledger.record(reward.score_terminal(x=3, v=1), episode="a", step=3)
        found = read(ledger)
    assert found.terminated.tolist() == [False, False, True, False, False, False]
    assert set(found.after) == {"x", "v"}


def test_an_episode_that_lacks_a_step_is_left_out_and_counted(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for episode, steps in (("a", (1, 2, 4)), ("b", (1, 2, 3))):
            for step in steps:
                ledger.record(gliding.score(x=step, v=1, fuel=1.0, force=0.5), episode=episode, step=step)
        found = read(ledger)
    assert found.after["x"].tolist() == [1, 2, 3]
    assert "1 episode excluded for missing steps" in found.source


def test_of_many_episodes_some_are_read(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        played = record(ledger)
        found = read(ledger, steps=STEPS // 3)
    assert found.episode[-1] + 1 == np.ceil((played.episode[-1] + 1) / 3)
    assert "1 in 3 episodes" in found.source


def test_actors_of_a_probe_are_policies(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        for actor in ("idle", "always 1", "random", "trainee"):
            for step in (1, 2):
                signal = gliding.score(x=step, v=1, fuel=1.0, force=step / 8)
                ledger.record(signal, actor=actor, episode="1", step=step)
        found = read(ledger)
    assert found.policy[::2].tolist() == ["idle", "constant", "random", "recorded"]


def test_records_can_be_chosen_and_none_is_said(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        with pytest.raises(NotInLedger, match="has no record"):
            read(ledger)
        ledger.record(gliding.score(x=1, v=1, fuel=1.0, force=0.5), run="day")
        with pytest.raises(InputError, match="says which episode it belongs to"):
            read(ledger)
        record(ledger)
        assert len(read(ledger, run="night")) == STEPS
        with pytest.raises(NotInLedger, match="run='nihgt'"):
            read(ledger, run="nihgt")


# -- files -------------------------------------------------------------------------------------------------------------


ROWS = [
    {"episode": 1, "step": 1, "x": 0.5, "hit": False, "side": "left", "action": 0.25, "terminated": False},
    {"episode": 1, "step": 2, "x": 1.0, "hit": True, "side": "right", "action": -0.5, "terminated": True},
    {"episode": 2, "step": 1, "x": 0.25, "hit": False, "side": "left", "action": 0.0, "terminated": False},
    {"episode": 2, "step": 2, "x": 0.75, "hit": False, "side": "left", "action": 0.0, "terminated": False},
]


def write(path, rows):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".csv":
        lines = [rows[0], *(row.values() for row in rows)]
        texts = [[str(cell).lower() if isinstance(cell, bool) else str(cell) for cell in line] for line in lines]
        path.write_text("\n".join(",".join(line) for line in texts) + "\n")
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    return str(path)


def read_rows(path, rows, *, action="action", idle=None):
    return read_file(write(path, rows), action=action, idle=idle, progress=None)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_file_of_steps_is_read_whatever_its_format(tmp_path, suffix):
    found = read_rows(tmp_path / f"steps.{suffix}", ROWS)
    assert list(found.after) == ["x", "hit", "side", "action"]
    assert [found.after[name].dtype.kind for name in found.after] == ["f", "b", "U", "f"]
    assert found.episode.tolist() == [0, 0, 1, 1]
    assert found.terminated.tolist() == [False, True, False, False]
    assert found.policy.tolist() == ["recorded", "recorded", "idle", "idle"]
    assert found.before["x"][[1, 3]].tolist() == [0.5, 0.25]
    assert found.source == f"steps.{suffix}, 4 steps of 2 episodes"


def test_both_ends_vectors_and_the_word_for_an_end_are_read(tmp_path):
    rows = [
        {"episode": "a", "prev": {"x": 0.0}, "curr": {"x": 1.0}, "wheel": [1, 2], "end": None},
        {"episode": "a", "prev": {"x": 1.0}, "curr": {"x": 3.0}, "wheel": [2, 2], "end": "truncated"},
    ]
    for suffix in ("jsonl", "parquet"):
        found = read_rows(tmp_path / f"steps.{suffix}", rows)
        assert found.before["x"].tolist() == [0.0, 1.0]
        assert found.after["x"].tolist() == [1.0, 3.0]
        assert found.after["wheel"].tolist() == [[1, 2], [2, 2]]
        assert found.truncated.tolist() == [False, True]


def test_without_a_column_for_episodes_an_end_begins_the_next(tmp_path):
    rows = [{"x": float(at), "terminated": at % 3 == 2} for at in range(7)]
    assert read_rows(tmp_path / "steps.jsonl", rows).episode.tolist() == [0, 0, 0, 1, 1, 1, 2]
    with pytest.raises(InputError, match="does not show which episode a step belongs to"):
        read_rows(tmp_path / "steps.jsonl", [{"x": 1.0}])


def test_steps_in_any_order_are_put_in_order(tmp_path):
    assert read_rows(tmp_path / "steps.jsonl", ROWS[::-1]).after["x"].tolist() == [0.25, 0.75, 0.5, 1.0]


def test_choices_have_no_idle_action_unless_it_is_named(tmp_path):
    rows = [{**row, "action": 1} for row in ROWS]
    assert "idle" not in read_rows(tmp_path / "steps.jsonl", rows).policy
    assert set(read_rows(tmp_path / "steps.jsonl", rows, idle=1).policy) == {"idle"}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": float("nan")}, NotFinite, "steps.csv has NaN as 'x' in row 1"),
        ({"terminated": "perhaps"}, InputError, "'terminated' is 'perhaps' in row 1; it must be true or false"),
        ({"end": "crash"}, InputError, "'end' is 'crash' in row 1; it must be 'terminated' or 'truncated'"),
        ({"step": "first"}, InputError, "the column 'step' must hold step numbers"),
    ],
)
def test_a_file_that_is_not_one_of_steps_is_one_message(tmp_path, change, error, message):
    with pytest.raises(error, match=message):
        read_rows(tmp_path / "steps.csv", [{**ROWS[0], **change}])


def test_a_file_that_is_missing_empty_or_broken_is_one_message(tmp_path):
    with pytest.raises(FileError, match="steps.parquet"):
        read_file(str(tmp_path / "steps.parquet"), action="action", idle=None, progress=None)
    for text, message in (("", "has no steps"), ("{\n", "line 1"), ('{"episode": 1}\n', "has no steps to learn from")):
        (tmp_path / "steps.jsonl").write_text(text)
        with pytest.raises((InputError, FileError), match=message):
            read_file(str(tmp_path / "steps.jsonl"), action="action", idle=None, progress=None)
    with pytest.raises(WrongType, match=r"steps.jsonl has 'x', which must be"):
        read_rows(tmp_path / "steps.jsonl", [{"episode": 1, "x": 1.0}, {"episode": 1, "x": "far"}])
