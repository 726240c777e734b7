"""Curves of a reward's terms, read back from the event files."""

import subprocess
import sys

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.summary.writer import event_file_writer

from plaudit import DefinitionError, FileError, MissingExtra
from plaudit.adapters.components import Profile
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.adapters.tensorboard import RewardCurves, Scalars
from plaudit.errors import MissingField
from support import walks

HELD = walks.reward(low=-0.5, high=1.0)


def curves(folder):
    """Return every curve in a folder: its points by step."""
    read = EventAccumulator(str(folder))
    read.Reload()
    return {tag: {each.step: each.value for each in read.Scalars(tag)} for tag in read.Tags()["scalars"]}


def test_the_sums_of_episodes_are_drawn_and_add_up_to_what_was_paid(tmp_path):
    env = RewardWrapper(walks.Walk(), HELD, walks.features, mode="add")
    paid = 0.0
    with RewardCurves(tmp_path, profile="isaac") as drawn:
        env.reset()
        for step in range(3):
            _, reward, *_, info = env.step(2)
            paid += reward
            drawn.log(info, step)
    read = curves(tmp_path)
    assert read["Episode_Reward/progress"] == {2: 3.0}
    assert read["Episode_Reward/original.reward"] == {2: 0.75}
    assert read["Train/mean_reward"] == {2: pytest.approx(paid)}
    terms = [points[2] for tag, points in read.items() if tag.startswith("Episode_Reward/")]
    assert sum(terms) == pytest.approx(paid, rel=1e-6)


@pytest.mark.parametrize("wrap", ["together", "each"])
def test_many_environments_are_drawn_as_their_mean(tmp_path, wrap):
    def one(start):
        walk = walks.Walk(start)
        return RewardWrapper(walk, HELD, walks.features) if wrap == "each" else walk

    env = SyncVectorEnv([lambda: one(2.0), lambda: one(0.0), lambda: one(-2.0)])
    env = RewardWrapper(env, HELD, walks.features) if wrap == "together" else env
    with RewardCurves(tmp_path / "episodes") as episodes, RewardCurves(tmp_path / "steps", profile="trl") as steps:
        env.reset()
        for step in range(2):
            _, paid, *_, info = env.step(np.array([2, 2, 0]))
            episodes.log(info, step)
            steps.log(info, step)
    assert curves(tmp_path / "episodes")["Train/mean_reward"] == {0: 0.25}  # 1 and −0.5, held; the other goes on
    steps = curves(tmp_path / "steps")
    assert steps["rewards/progress/mean"] == {0: pytest.approx(1 / 3), 1: 1.0}  # only one was paid the second time
    assert steps["reward"] == {0: pytest.approx((1 + 0.875 - 0.5) / 3), 1: pytest.approx(paid[1])}


def test_signals_and_components_of_ones_own_are_drawn(tmp_path):
    signal = HELD.score(before=0.0, after=3.0, moved=1, terminal=True)
    with RewardCurves(tmp_path, profile=Profile("t/{}", "total", "step")) as drawn:
        drawn.draw(signal, 1)
        drawn.draw({"progress": np.array([1.0, 2.0])}, 2)
    read = curves(tmp_path)
    assert read["t/progress"] == {1: 3.0, 2: 1.5}
    assert read["t/total.clamp"] == {1: pytest.approx(-3.875)}
    assert read["total"] == {1: 1.0, 2: 1.5}


def test_a_file_can_take_back_what_older_ones_have(tmp_path, monkeypatch):
    ninth = event_file_writer.AtomicCounter(9)  # the number in the name of a file; 10 would be sorted before it
    monkeypatch.setattr(event_file_writer, "_global_uid", ninth)
    for after, values in ((None, {1: 1.0, 2: 2.0}), (1, {2: 7.0})):
        with Scalars(tmp_path, after=after) as scalars:
            for step, value in values.items():
                scalars.write({"a": value, "nothing": float("nan")}, step)
    assert curves(tmp_path) == {"a": {1: 1.0, 2: 7.0}}


def test_what_cannot_be_drawn_is_refused(tmp_path):
    with pytest.raises(DefinitionError, match="no profile 'tr'"):
        RewardCurves(tmp_path, profile="tr")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="file"):
        RewardCurves(tmp_path / "file")
    with RewardCurves(tmp_path) as drawn, pytest.raises(MissingField, match="no 'reward_components': wrap"):
        drawn.log({}, 1)


def test_without_tensorboard_the_extra_is_named(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "tensorboard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MissingExtra, match=r"need tensorboard.*\. Install it: pip install 'plaudit\[tensorboard\]'"):
        RewardCurves(tmp_path)


def test_torch_is_not_needed(tmp_path):
    script = (
        "import sys; sys.modules['torch'] = None; from plaudit.adapters.tensorboard import RewardCurves\n"
        "with RewardCurves('curves') as drawn: drawn.draw({'a': 1.0}, 1)"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    assert curves(tmp_path / "curves")["Episode_Reward/a"] == {1: 1.0}
