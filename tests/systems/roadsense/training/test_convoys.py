"""The road of a run: what is told of a step, and what becomes of a run whose simulator dies."""

import os
import signal
from pathlib import Path

import pytest

from plaudit.adapters.sb3 import RewardTermsCallback
from plaudit.systems.roadsense import version
from plaudit.systems.roadsense.training.config import config_for
from plaudit.systems.roadsense.training.convoys import TOLD, Brief, convoy, convoys
from plaudit.systems.roadsense.training.run import learner, updated

REWARD = version("R8")
CONFIG = config_for(REWARD, envs=1, rollout=64, minibatch=32, epochs=1, limit=40)
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


def simulators():
    """Return the processes that this one has started and that are still there."""
    return {int(each) for each in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def test_only_what_a_run_wants_to_know_is_told():
    env = Brief(convoy(REWARD, CONFIG))
    assert env.reset(seed=1)[1] == {}
    info = env.step([0.5])[4]
    assert set(info) == set(TOLD) - {"episode_reward_components"}
    assert sum(info["reward_components"].values()) == pytest.approx(REWARD.score(**read(env)).total)
    env.close()


def read(env):
    """Return what the reward read in the last step."""
    return {name: getattr(env.unwrapped.measured, name) for name in REWARD.inputs}


@LINUX
def test_an_episode_whose_simulator_dies_is_cut_off_and_the_run_goes_on():
    before = simulators()
    with convoys(REWARD, CONFIG) as envs:
        model, terms = learner(CONFIG, envs), RewardTermsCallback()
        assert updated(model, 1, terms)["episodes"] == 1
        (simulator,) = simulators() - before
        os.kill(simulator, signal.SIGKILL)
        with pytest.warns(RuntimeWarning, match="the episode is cut off: SUMO died"):
            row = updated(model, 2, terms)
        assert row["episodes"] >= 2  # the one that was cut off, and one with a new simulator
        assert row["steps"] == 128
    assert simulators() == before
