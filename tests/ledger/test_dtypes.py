"""Records keep the dtype of their inputs and what scored them, and are re-scored in float64 or as they were scored."""

import sqlite3
import sys

import numpy as np
import pytest
import torch

from plaudit import Field, Reward, term
from plaudit.errors import LedgerError, MissingExtra, TargetError
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.storage import computation as computations
from plaudit.ledger.storage.computation import Computation, parse_computation

pa = pytest.importorskip("pyarrow", reason="needs plaudit[data]")
pq = pytest.importorskip("pyarrow.parquet", reason="needs plaudit[data]")


@term
def fast(speed):
    """Faster than a tenth, which no float32 is exactly."""
    return 1.0 if speed > 0.1 else 0.0


@term(weight=-0.3)
def effort(action):
    """Push gently."""
    return sum(a * a for a in action)


FIELDS = [Field("speed", low=-1, high=1), Field("action", length=2, low=-0.4, high=0.4)]
REWARD = Reward("racing", version="1", terms=[fast, effort], fields=FIELDS)
SPEEDS = [0.1, 0.2, -0.3, 0.0999]


def build_batch(dtype=np.float32):
    return {"speed": np.array(SPEEDS, dtype), "action": np.full((4, 2), 0.4, dtype)}


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "rewards.db") as made:
        yield made


@pytest.mark.parametrize("target", ["jax", "torch"])
def test_a_record_says_what_scored_it_and_in_which_dtype(ledger, target):
    ledger.record_batch(REWARD, build_batch(), target=target)
    ledger.record_batch(REWARD, build_batch())
    ledger.record_batch(REWARD, build_batch(np.float64) | {"action": np.zeros((4, 2), np.float16)})
    ledger.record(REWARD.score(speed=np.float32(0.1), action=np.full(2, 0.4, np.float32)))
    ledger.record(REWARD.score(speed=np.float32(0.1), action=[0.4, 0.4]))
    ledger.record(REWARD.score(speed=0.1, action=[0.4, 0.4]))
    targets = [record.target for record in ledger.history()]
    assert targets[::4][:3] == [f"{target}/float32 float32", "numpy float32", "numpy float16:action"]
    assert targets[12:] == ["python float32", "python float32:speed", "python"]
    assert ledger[1].signal.row == (float(np.float32(0.1)), 0.4, 0.4)  # the bound is the bound
    assert ledger[1].signal["fast"].score == 0.0  # as float32 has it
    assert ledger[5].signal["fast"].score == 1.0  # as float64 has it
    assert "computed by the python float32 target" in str(ledger.why(13))
    result = ledger.verify()
    assert result.ok, str(result)
    assert (result.compared_bits, result.compared_rounding) == (11, 4)


def test_tensors_are_recorded_as_they_are(ledger):
    batch = {"speed": torch.tensor(SPEEDS, requires_grad=True), "action": torch.full((4, 2), 0.4, dtype=torch.bfloat16)}
    ledger.record_batch(REWARD, batch, target="torch")
    assert ledger[1].target == "torch/float32 float32:speed bfloat16:action"
    assert ledger[1].signal.row == (float(np.float32(0.1)), 0.4, 0.4)
    assert ledger.verify().ok


def test_a_batch_is_recorded_by_no_other_target(ledger):
    with pytest.raises(TargetError, match="numpy, jax or torch, not 'sql'"):
        ledger.record_batch(REWARD, build_batch(), target="sql")


def test_signals_know_the_dtypes_of_their_inputs():
    assert REWARD.score(speed=np.float16(0.5), action=np.zeros(2, np.float32)).dtypes == {
        "speed": "float16",
        "action": "float32",
    }
    assert REWARD.score(speed=0.5, action=np.zeros(2)).dtypes == {}
    assert REWARD.score(speed=np.float32(0.5), action=(0.0, 0.1)).dtypes == {"speed": "float32"}
    assert REWARD.score(**{"speed": np.float32(0.5), "action[0]": 0.0, "action[1]": 0.0}).dtypes == {"speed": "float32"}


def test_an_edited_record_of_torch_is_found(tmp_path):
    path = tmp_path / "rewards.db"
    with Ledger(path) as ledger:
        ledger.record_batch(REWARD, build_batch(), target="torch")
    with sqlite3.connect(path) as connection:
        (stored,) = connection.execute("SELECT outputs FROM blocks").fetchone()
        outputs = np.frombuffer(stored, "<f8").copy()
        outputs[0] += 1e-3
        connection.execute("UPDATE blocks SET outputs = ?", (outputs.tobytes(),))
    with Ledger(path) as ledger:
        found = {problem.kind for problem in ledger.verify().problems}
    assert {"edited", "differs", "sum"} <= found


def test_what_is_not_installed_is_not_recomputed_and_verification_says_so(ledger, monkeypatch):
    ledger.record_batch(REWARD, build_batch(), target="torch")
    monkeypatch.setattr(computations, "find_spec", lambda name: None)
    result = ledger.verify()
    assert result.ok
    assert result.to_dict()["not_recomputed"] == {"torch": 4}
    assert "4 records of the torch target not recomputed: it is not installed here." in str(result)
    done = ledger.rescore(REWARD.with_weights(effort=-0.3).with_version("2"))
    assert done.changes.rounding.unknown == 4
    assert "this is unknown" in str(done)


@pytest.mark.parametrize("target", ["jax", "torch"])
def test_rescoring_as_recorded_gives_what_was_recorded(ledger, target):
    ledger.record_batch(REWARD, build_batch(), target=target)
    again = REWARD.with_version("again")
    done = ledger.rescore(again, as_recorded=True)
    assert (done.changes.unchanged, done.changes.rounding.records) == (4, 0)
    new = list(ledger.history(job=done.job))
    assert [record.total for record in new] == [record.total for record in ledger.history()]
    assert {record.target for record in new} == {f"{target}/float32 float32"}
    assert ledger.verify().ok


def test_rescoring_in_float64_tells_which_records_only_rounding_flips(ledger):
    ledger.record_batch(REWARD, build_batch(), target="torch")
    done = ledger.rescore(REWARD.with_version("again"))
    assert [record.target for record in ledger.history(job=done.job)] == ["numpy float32"] * 4
    assert (done.changes.rounding.records, done.changes.rounding.flips, done.changes.rounding.flipped) == (4, 1, [1])
    assert "1 of them crossed a threshold: record 1." in str(done)
    assert done.to_dict()["changes"]["rounding"] == {"records": 4, "flips": 1, "flipped": [1], "unknown": 0}
    assert ledger.verify().ok


def test_a_change_of_the_reward_is_no_rounding(ledger):
    ledger.record_batch(REWARD, build_batch(), target="torch")
    done = ledger.rescore(REWARD.with_weights(effort=-0.5).with_version("2"))
    assert done.changes.rounding.records == 0
    assert done.changes.unchanged == 0


def test_what_was_computed_in_float64_is_not_looked_at_again(ledger):
    ledger.record_batch(REWARD, build_batch())
    done = ledger.rescore(REWARD.with_version("2"))
    assert (done.changes.unchanged, done.changes.rounding.records, str(done.changes.rounding)) == (4, 0, "")


def test_both_ways_of_rescoring_are_jobs_of_their_own_that_go_on(ledger):
    ledger.record_batch(REWARD, build_batch(), target="torch")
    again = REWARD.with_version("again")
    wide, narrow = ledger.rescore(again), ledger.rescore(again, as_recorded=True)
    assert wide.job != narrow.job
    assert ledger.plan_rescore(again, as_recorded=True).scored == 4
    assert ledger.rescore(again, as_recorded=True).scored == 0
    assert [job.chosen for job in ledger.jobs()] == [{}, {"as_recorded": True}]


def test_records_are_rescored_in_the_dtype_that_their_inputs_came_in(ledger):
    """0.10000000149 is outside [-0.1, 0.1] as a float64, and its bound as the float32 that it was."""
    ledger.record_batch(REWARD, build_batch() | {"speed": np.full(4, 0.1, np.float32)})
    tight = Reward(
        "racing", version="tight", terms=[fast, effort], fields=[Field("speed", low=-0.1, high=0.1), FIELDS[1]]
    )
    done = ledger.rescore(tight)
    assert done.refused == 0
    assert next(iter(ledger.history(job=done.job))).signal.row == (0.1, 0.4, 0.4)
    assert ledger.verify().ok


def test_exports_carry_what_scored_a_record(ledger, tmp_path):
    ledger.record_batch(REWARD, build_batch(), target="torch")
    ledger.record_batch(REWARD, build_batch(), key=list("abcd"))
    ledger.export(tmp_path / "all.jsonl")
    ledger.export(tmp_path / "all.parquet")
    ledger.export(tmp_path / "all.csv")
    wanted = ["torch/float32 float32"] * 4 + ["numpy float32"] * 4
    assert pq.read_table(tmp_path / "all.parquet")["record.target"].to_pylist() == wanted
    assert "numpy float32" in (tmp_path / "all.csv").read_text()
    with Ledger(tmp_path / "other.db") as other:
        assert other.import_file(tmp_path / "all.jsonl") == 8
        assert [record.target for record in other.history()] == wanted
        assert other.verify().ok
        assert other.import_file(tmp_path / "all.jsonl") == 0


def test_an_import_of_what_is_not_installed_is_refused(ledger, tmp_path, monkeypatch):
    ledger.record_batch(REWARD, build_batch(), target="torch")
    ledger.export(tmp_path / "all.jsonl")
    monkeypatch.setattr(computations, "find_spec", lambda name: None)
    with Ledger(tmp_path / "other.db") as other, pytest.raises(LedgerError, match="torch, which is not installed here"):
        other.import_file(tmp_path / "all.jsonl")


def test_blocks_of_one_dtype_are_merged_and_of_two_are_not(ledger):
    for speed in (np.float32(0.5), np.float32(0.25), 0.5, 0.25):
        ledger.record(REWARD.score(speed=speed, action=[0.0, 0.0]))
    ledger.compact()
    assert ledger.verify().blocks == 2
    assert [record.target for record in ledger.history()] == ["python float32:speed"] * 2 + ["python"] * 2
    assert ledger.verify().ok


@pytest.mark.parametrize(
    "computation",
    [
        Computation("python"),
        Computation("numpy", inputs=(("speed", "float16"), ("action", "float16"))),
        Computation("numpy", inputs=(("action", "bfloat16"), ("speed", "float32"))),
        Computation("torch", "float16", (("action[1]", "float32"),)),
        Computation("jax", "float32"),
    ],
)
def test_what_computed_a_record_is_read_as_it_was_written(computation):
    assert parse_computation(computation.format(REWARD.program), REWARD.program) == computation


@pytest.mark.parametrize(
    "text", ["", "fortran", "numpy/float32", "torch/float8", "numpy float32:torque", "numpy float64x"]
)
def test_what_no_plaudit_wrote_is_told(text):
    with pytest.raises(LedgerError, match="is not known"):
        parse_computation(text, REWARD.program)


def test_a_target_that_was_edited_is_found(tmp_path):
    path = tmp_path / "rewards.db"
    with Ledger(path) as ledger:
        ledger.record_batch(REWARD, build_batch())
    for text in ("numpy", "abacus"):
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE blocks SET target = ?", (text,))
        with Ledger(path) as ledger:
            assert not ledger.verify().ok


def test_dtypes_take_no_more_than_a_word_a_block(tmp_path):
    sizes = []
    for dtype in (np.float64, np.float32):
        with Ledger(tmp_path / f"{dtype.__name__}.db") as ledger:
            ledger.record_batch(
                REWARD, {name: np.tile(c, (1000, 1)[: c.ndim]) for name, c in build_batch(dtype).items()}
            )
            ledger.compact()
            sizes.append(ledger.size())
    assert sizes[1] <= sizes[0] + 4096


def test_a_reward_of_one_input_is_verified_and_rescored(ledger):
    """A single column is a view of what was stored, which nobody may write to."""
    alone = Reward("alone", version="1", terms=[fast], fields=FIELDS[:1])
    ledger.record_batch(alone, {"speed": np.array(SPEEDS, np.float32)}, target="torch")
    assert ledger.verify().ok
    assert ledger.rescore(alone.with_version("2"), as_recorded=True).changes.unchanged == 4


def test_rescoring_as_recorded_needs_what_scored_the_records(ledger, monkeypatch):
    ledger.record_batch(REWARD, build_batch(), target="torch")
    monkeypatch.delitem(sys.modules, "plaudit.targets.torch")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match="torch"):
        ledger.rescore(REWARD.with_version("2"), as_recorded=True)
    assert ledger.rescore(REWARD.with_version("2")).scored == 4
