"""The environments of a run: what `info` has of a step, and what becomes of a run whose simulator dies."""

import os
import signal
from pathlib import Path

import pytest

from plaudit.adapters.sb3 import RewardTermsCallback
from plaudit.systems.roadsense import version
from plaudit.systems.roadsense.training.config import build_config
from plaudit.systems.roadsense.training.envs import INFO_KEYS, BriefInfo, build_env, open_envs
from plaudit.systems.roadsense.training.run import build_learner, run_update

REWARD = version("R8")
CONFIG = build_config(REWARD, envs=1, rollout=64, minibatch=32, epochs=1, limit=40)
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


def simulators():
    """Return the processes that this one has started and that are still there."""
    return {int(each) for each in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def test_info_has_only_what_a_run_wants_to_know(lent_sumo):
    with lent_sumo():
        env = BriefInfo(build_env(REWARD, CONFIG))
    assert env.reset(seed=1)[1] == {}
    info = env.step([0.5])[4]
    assert set(info) == set(INFO_KEYS) - {"episode_reward_components"}
    assert sum(info["reward_components"].values()) == pytest.approx(REWARD.score(**read(env)).total)
    env.close()


def read(env):
    """Return what the reward read in the last step."""
    return {name: getattr(env.unwrapped.measured, name) for name in REWARD.inputs}


@LINUX
def test_an_episode_whose_simulator_dies_is_cut_off_and_the_run_goes_on():
    before = simulators()
    with open_envs(REWARD, CONFIG) as envs:
        model, terms = build_learner(CONFIG, envs), RewardTermsCallback()
        assert run_update(model, 1, terms)["episodes"] == 1
        (simulator,) = simulators() - before
        os.kill(simulator, signal.SIGKILL)
        with pytest.warns(RuntimeWarning, match="the episode is cut off: SUMO died"):
            row = run_update(model, 2, terms)
        assert row["episodes"] >= 2  # the one that was cut off, and one with a new simulator
        assert row["steps"] == 128
    assert simulators() == before
