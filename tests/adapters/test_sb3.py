"""The callback on real training: what it logs of each term adds up to what was trained on."""

import functools
from types import SimpleNamespace

import gymnasium
import pytest

from plaudit import DefinitionError, Field, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.errors import MissingField


@term
def upright(angle, *, limit=0.2):
    return 1.0 - abs(angle) / limit


@term(weight=-0.3)
def drift(position):
    return position * position


@term(terminal=True, weight=-5.0)
def fall(terminal):
    return 1 if terminal else 0


BALANCE = Reward(
    "balance",
    version="1",
    terms=[upright, drift, fall],
    fields=[Field("angle", low=-1, high=1), Field("position", low=-5, high=5)],
    high=0.9,
)
TERMS = ("upright", "drift", "fall", "total.clamp", "original.reward")


def features(obs, action, next_obs, info):
    return {"angle": next_obs[2], "position": next_obs[0]}


def cartpole(mode="add"):
    from stable_baselines3.common.monitor import Monitor

    return Monitor(RewardWrapper(gymnasium.make("CartPole-v1"), BALANCE, features, mode=mode))


@pytest.fixture(scope="module")
def sb3():
    """Return what the tests need of Stable-Baselines3, which is imported no sooner: it brings PyTorch."""
    import stable_baselines3
    import torch
    from stable_baselines3.common.callbacks import BaseCallback, CallbackList
    from stable_baselines3.common.logger import KVWriter, Logger
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    from plaudit.adapters.sb3 import RewardTermsCallback

    torch.set_num_threads(1)

    class Rows(KVWriter):
        """Keeps what is logged."""

        def __init__(self):
            self.rows = []

        def write(self, key_values, key_excluded, step=0):
            self.rows.append(dict(key_values))

        def close(self):
            pass

    class Paid(BaseCallback):
        """Keeps the rewards that the algorithm itself was given since the last dump."""

        def _on_step(self):
            self.model.paid.append(self.locals["rewards"].copy())
            return True

    def train(algorithm, profile, steps, env, **options):
        """Return what was logged while an algorithm trained, and the rewards that it was given."""
        writer = Rows()
        model = algorithm("MlpPolicy", env, seed=0, device="cpu", **options)
        model.set_logger(Logger(None, [writer]))
        model.paid = []
        model.learn(steps, callback=CallbackList([RewardTermsCallback(profile), Paid()]), log_interval=1)
        return writer.rows, model.paid

    return SimpleNamespace(
        PPO=stable_baselines3.PPO,
        DQN=stable_baselines3.DQN,
        DummyVecEnv=DummyVecEnv,
        Logger=Logger,
        Monitor=Monitor,
        RewardTermsCallback=RewardTermsCallback,
        Rows=Rows,
        train=train,
    )


def logged(row, name):
    return [row[name.format(term)] for term in TERMS]


def test_the_sums_of_episodes_add_up_to_the_return_that_ppo_reports(sb3):
    env = sb3.DummyVecEnv([cartpole] * 3)
    rows, _ = sb3.train(sb3.PPO, "isaac", 1000, env, n_steps=64, batch_size=64, n_epochs=1)
    rows = [row for row in rows if "rollout/ep_rew_mean" in row]
    assert len(rows) >= 5
    for row in rows:
        assert sum(logged(row, "Episode_Reward/{}")) == pytest.approx(row["rollout/ep_rew_mean"], rel=1e-6)
        assert row["Train/mean_reward"] == pytest.approx(row["rollout/ep_rew_mean"], rel=1e-6)


def test_the_means_of_steps_add_up_to_the_rewards_that_ppo_was_given(sb3):
    env = sb3.DummyVecEnv([functools.partial(cartpole, "add")] * 2)
    rows, paid = sb3.train(sb3.PPO, "trl", 400, env, n_steps=50, batch_size=50, n_epochs=1)
    rows = [row for row in rows if "reward" in row]
    assert len(rows) == 4
    for at, row in enumerate(rows):
        given = [reward for rewards in paid[50 * at : 50 * (at + 1)] for reward in rewards]
        assert sum(logged(row, "rewards/{}/mean")) == pytest.approx(row["reward"], rel=1e-6)
        assert row["reward"] == pytest.approx(sum(map(float, given)) / len(given), rel=1e-5)


def test_an_algorithm_that_logs_within_a_rollout_reports_the_same_episodes(sb3):
    rows, _ = sb3.train(
        sb3.DQN, "isaac", 600, cartpole(), learning_starts=100, buffer_size=1000, train_freq=(50, "step")
    )
    rows = [row for row in rows if "rollout/ep_rew_mean" in row]
    assert len(rows) >= 10
    for row in rows:
        assert sum(logged(row, "Episode_Reward/{}")) == pytest.approx(row["rollout/ep_rew_mean"], rel=1e-6)


def test_training_that_goes_on_keeps_its_episodes(sb3):
    writer = sb3.Rows()
    model = sb3.PPO("MlpPolicy", cartpole(), seed=0, device="cpu", n_steps=64, batch_size=64, n_epochs=1)
    model.set_logger(sb3.Logger(None, [writer]))
    callback = sb3.RewardTermsCallback()
    for _ in range(3):
        model.learn(192, callback=callback, log_interval=1, reset_num_timesteps=False)
    row = [row for row in writer.rows if "rollout/ep_rew_mean" in row][-1]
    assert sum(logged(row, "Episode_Reward/{}")) == pytest.approx(row["rollout/ep_rew_mean"], rel=1e-6)


class Told(gymnasium.Wrapper):
    """An environment that tells its components itself, without sums."""

    def step(self, action):
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward, terminated, truncated, {**info, "reward_components": {"alive": float(reward)}}


def test_components_that_an_environment_tells_itself_are_summed_up(sb3):
    rows, _ = sb3.train(
        sb3.PPO, "isaac", 512, sb3.Monitor(Told(gymnasium.make("CartPole-v1"))), n_steps=256, n_epochs=1
    )
    assert rows[-1]["Episode_Reward/alive"] == pytest.approx(rows[-1]["rollout/ep_rew_mean"])


def test_an_environment_that_is_not_wrapped_is_refused_with_what_to_do(sb3):
    with pytest.raises(MissingField, match="info has no 'reward_components': wrap the environment in .*RewardWrapper"):
        sb3.train(sb3.PPO, "isaac", 64, gymnasium.make("CartPole-v1"), n_steps=64)


def test_a_profile_that_is_not_there_is_refused(sb3):
    with pytest.raises(DefinitionError, match="no profile 'isac'. Did you mean 'isaac'"):
        sb3.RewardTermsCallback("isac")
