"""Files of narrow floats: which totals changed by rounding alone, and which of them fell on another side."""

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.errors import OutOfRange

pa = pytest.importorskip("pyarrow", reason="needs plaudit[data]")
pq = pytest.importorskip("pyarrow.parquet", reason="needs plaudit[data]")

from plaudit.ledger.dataset import score_file  # noqa: E402


@term
def fast(speed, *, limit=0.1):
    """Faster than the limit."""
    return 1.0 if speed > limit else 0.0


@term(weight=-0.3)
def effort(action):
    """Push gently."""
    return sum(a * a for a in action)


FIELDS = [Field("speed", low=-1, high=1), Field("action", length=2, low=-0.4, high=0.4)]
REWARD = Reward("racing", version="1", terms=[fast, effort], fields=FIELDS)
SPEEDS = [0.5, 0.1, -0.3, 0.0999]


@pytest.fixture
def log(tmp_path):
    """Write a log of float32 whose totals float32 computed, with other columns in the place of some."""

    def write(name="log.parquet", **other):
        speed, action = np.array(SPEEDS, np.float32), np.full((4, 2), 0.4, np.float32)
        total = REWARD.compile("torch")({"speed": speed, "action": action}).total.numpy()
        actions = pa.FixedSizeListArray.from_arrays(pa.array(action.reshape(-1)), 2)
        table = pa.table({"speed": speed, "action": actions, "old": total, **other})
        pq.write_table(table, tmp_path / name)
        return str(tmp_path / name)

    return write


def test_totals_of_float32_change_by_rounding_alone_and_one_of_them_flips(log, tmp_path):
    done = score_file(REWARD, log(), tmp_path / "new.parquet", against="old")
    rounding = done.changes.rounding
    assert (done.changes.unchanged, rounding.records, rounding.flips) == (0, 4, 1)
    assert rounding.flipped == ["row 1 of log.parquet"]
    assert "1 of them crossed a threshold: row 1 of log.parquet." in str(done)
    assert done.to_dict()["changes"]["rounding"]["flips"] == 1


def test_parts_say_which_file_a_row_is_of(log, tmp_path):
    (tmp_path / "parts").mkdir()
    for name in ("a", "b"):
        log(f"parts/{name}.parquet")
    done = score_file(REWARD, tmp_path / "parts", tmp_path / "new", against="old")
    assert done.changes.rounding.flipped == ["row 1 of a.parquet", "row 1 of b.parquet"]


def test_two_rewards_that_only_float64_tells_apart(log, tmp_path):
    """The limit of the other reward is the float32 next to 0.1: float32 has one number for both."""
    other = REWARD.with_params(fast={"limit": float(np.float32(0.1))}).with_version("2")
    done = score_file(other, log(), tmp_path / "new.parquet", against=REWARD)
    assert (done.changes.unchanged, done.changes.rounding.records) == (3, 1)
    assert done.changes.rounding.flipped == ["row 1 of log.parquet"]


def test_a_change_of_the_reward_is_no_rounding(log, tmp_path):
    gentle = REWARD.with_weights(effort=-0.5).with_version("2")
    assert score_file(gentle, log(), tmp_path / "new.parquet", against="old").changes.rounding.records == 0
    assert score_file(gentle, log(), tmp_path / "newer.parquet", against=REWARD).changes.rounding.records == 0


def test_nothing_is_said_of_columns_of_float64(log, tmp_path):
    wide = log(speed=pa.array(SPEEDS), old=pa.array([0.904, -0.096, -0.096, -0.096]))
    done = score_file(REWARD, wide, tmp_path / "new.parquet", against="old")
    assert done.changes.rounding.records == 0
    other = REWARD.with_params(fast={"limit": 0.2}).with_version("2")
    done = score_file(other, wide, tmp_path / "newer.parquet", against=REWARD)
    assert done.changes.rounding.records == 0


def test_a_bad_row_of_float32_is_told_for_what_is_wrong_with_it(log, tmp_path):
    bad = log(speed=pa.array([0.5, 0.1, 3.0, 0.0], pa.float32()))
    with pytest.raises(OutOfRange, match="row 3: .*'speed': 3.0 is outside"):
        score_file(REWARD, bad, tmp_path / "new.parquet", on_bad="raise")
