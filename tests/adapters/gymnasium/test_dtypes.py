"""Action spaces of float32 whose bounds no float32 holds: a policy that saturates is paid, and recorded."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from plaudit import Field, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.errors import OutOfRange
from plaudit.ledger.ledger import Ledger


@term(weight=-0.1)
def effort(action):
    """Push gently."""
    return sum(a * a for a in action)


REWARD = Reward("pushing", version="1", terms=[effort], fields=[Field("action", length=2, low=-0.4, high=0.4)])


class Pushing(gymnasium.Env):
    """A body that is pushed, with the bounds of a Humanoid's actions."""

    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = spaces.Box(-0.4, 0.4, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.asarray(action, np.float32), 0.0, False, False, {}


def get_features(obs, action, next_obs, info):
    return {"action": action}


@pytest.mark.parametrize("side", ["low", "high"])
def test_a_saturated_policy_is_paid_and_recorded_at_its_bound(tmp_path, side):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(Pushing(), REWARD, get_features, ledger=ledger)
        env.reset()
        bound = getattr(env.action_space, side)
        assert float(bound[0]) != round(float(bound[0]), 3)  # not what was declared
        assert env.step(bound)[1] == -0.1 * (0.4 * 0.4 + 0.4 * 0.4)
        env.close()
        record = ledger[1]
        assert record.signal.row == (round(float(bound[0]), 3),) * 2
        assert ledger.verify().ok


@pytest.mark.parametrize("count", [3, 600])  # by NumPy, and compiled by Numba
def test_many_saturated_policies_are_paid_and_recorded_at_their_bounds(tmp_path, count):
    envs = gymnasium.vector.SyncVectorEnv([Pushing] * count)
    with Ledger(tmp_path / "rewards.db") as ledger:
        wrapped = RewardWrapper(envs, REWARD, get_features, ledger=ledger)
        wrapped.reset()
        rewards = wrapped.step(wrapped.action_space.high)[1]
        assert rewards.tolist() == [-0.1 * (0.4 * 0.4 + 0.4 * 0.4)] * count
        wrapped.close()
        assert ledger.history().count() == count
        assert ledger.verify().ok


def test_an_action_beyond_the_rounded_bound_is_refused():
    env = RewardWrapper(Pushing(), REWARD, get_features, on_bad="raise")
    env.reset()
    with pytest.raises(OutOfRange):
        env.step(np.nextafter(env.action_space.high, np.float32(1)))


def test_a_saturated_humanoid_is_paid():
    pytest.importorskip("mujoco")
    fields = [Field("action", length=17, low=-0.4, high=0.4)]
    reward = Reward("humanoid", version="1", terms=[effort], fields=fields)
    env = RewardWrapper(gymnasium.make("Humanoid-v5"), reward, get_features)
    env.reset(seed=0)
    for bound in (env.action_space.low, env.action_space.high):
        assert env.step(bound)[1] == pytest.approx(-0.1 * 17 * 0.16)
    env.close()


def test_columns_that_numba_takes_as_they_are_have_rounded_bounds_too():
    @term
    def push(force):
        return force

    reward = Reward("pushes", version="1", terms=[push], fields=[Field("force", low=-0.4, high=0.4)])
    envs = gymnasium.vector.SyncVectorEnv([Pushing] * 600)
    wrapped = RewardWrapper(envs, reward, lambda obs, action, next_obs, info: {"force": action[:, 0].copy()})
    wrapped.reset()
    assert wrapped.step(wrapped.action_space.high)[1].tolist() == [0.4] * 600
