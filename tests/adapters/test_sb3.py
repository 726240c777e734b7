"""The callback on real training: what it logs of each term adds up to what was trained on."""

import functools
import math
import warnings
from types import SimpleNamespace

import gymnasium
import pytest

from plaudit import DefinitionError, Field, Ledger, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.errors import MissingField
from plaudit.schedules import linear
from support.ledgers import verified


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
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

    from plaudit.adapters.sb3 import RewardTermsCallback, make_vec_env

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
        SubprocVecEnv=SubprocVecEnv,
        make_vec_env=make_vec_env,
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


# -- environments that it makes ----------------------------------------------------------------------------------------


RISING = BALANCE.with_weights(upright=linear(0, 1, over=100))


def build_env(sb3, reward=BALANCE, **options):
    return sb3.make_vec_env("CartPole-v1", reward, features, **{"n_envs": 4, "seed": 0} | options)


@pytest.mark.parametrize("kind", ["DummyVecEnv", "SubprocVecEnv"])
def test_what_is_reported_of_environments_that_it_makes_is_what_is_trained_on(sb3, kind, tmp_path):
    process = {"vec_env_cls": sb3.SubprocVecEnv, "vec_env_kwargs": {"start_method": "fork"}}
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = build_env(sb3, ledger=ledger, run="night", **process if kind == "SubprocVecEnv" else {})
        rows, paid = sb3.train(sb3.PPO, "isaac", 512, env, n_steps=64, batch_size=64, n_epochs=1)
        env.close()
        row = [row for row in rows if "rollout/ep_rew_mean" in row][-1]
        assert row["Train/mean_reward"] == pytest.approx(row["rollout/ep_rew_mean"], rel=1e-5)
        assert {each.actor for each in ledger.episodes()} == {"env0", "env1", "env2", "env3"}
        totals = ledger.history().totals()
        assert totals.records == 512
        assert totals.mean * 512 == pytest.approx(sum(float(each.sum()) for each in paid), rel=1e-5)
        verified(ledger)


def test_native_rewards_under_our_curves_are_noticed_once(sb3):
    from stable_baselines3.common.env_util import make_vec_env

    given = {"reward": BALANCE, "features": features}
    env = make_vec_env("CartPole-v1", n_envs=2, seed=0, wrapper_class=RewardWrapper, wrapper_kwargs=given)
    with pytest.warns(
        UserWarning, match=r"ep_rew_mean.*own reward and not.*Monitor is inside.*sb3\.make_vec_env"
    ) as told:
        rows, _ = sb3.train(sb3.PPO, "isaac", 512, env, n_steps=64, batch_size=64, n_epochs=1)
    assert len(told) == 1
    row = [row for row in rows if "rollout/ep_rew_mean" in row][-1]
    assert row["rollout/ep_rew_mean"] > 2 * row["Train/mean_reward"]  # what is warned of


def test_schedules_follow_the_steps_that_the_algorithm_counts(sb3):
    env = sb3.DummyVecEnv([lambda: sb3.Monitor(RewardWrapper(gymnasium.make("CartPole-v1"), RISING, features))] * 4)
    rows, _ = sb3.train(sb3.PPO, "isaac", 128, env, n_steps=8, batch_size=32, n_epochs=1)
    found = [(row["time/total_timesteps"], row["Reward_Weight/upright"]) for row in rows]
    assert found == [(32 * n, pytest.approx(min(1.0, (32 * n - 4) / 100))) for n in range(1, 5)]


def test_schedules_go_on_where_a_model_that_was_saved_stopped(sb3, tmp_path):
    model = sb3.PPO("MlpPolicy", build_env(sb3, RISING), seed=0, device="cpu", n_steps=8, batch_size=32, n_epochs=1)
    model.learn(64, callback=sb3.RewardTermsCallback())
    model.save(tmp_path / "model")
    again = sb3.PPO.load(tmp_path / "model", env=build_env(sb3, RISING), device="cpu")
    writer = sb3.Rows()
    again.set_logger(sb3.Logger(None, [writer]))
    again.learn(32, callback=sb3.RewardTermsCallback(), reset_num_timesteps=False, log_interval=1)
    assert writer.rows[0]["Reward_Weight/upright"] == pytest.approx(0.92)


@term(weight=linear(0, 1, over=1000))
def alive(angle):
    return 1.0 + 0.0 * angle


PATIENT = Reward("patient", version="1", terms=[alive], fields=[Field("angle", low=-1, high=1)])


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("after", marks=pytest.mark.slow),
        "before",
        pytest.param("nested", marks=pytest.mark.slow),
        "processes",
    ],
)
def test_evaluation_is_paid_by_the_weights_that_training_has_and_moves_none(sb3, place):
    from stable_baselines3.common.callbacks import EvalCallback, EveryNTimesteps

    process = {"vec_env_cls": sb3.SubprocVecEnv, "vec_env_kwargs": {"start_method": "fork"}}
    env = build_env(sb3, PATIENT)
    eval_env = build_env(sb3, PATIENT, n_envs=1, seed=9, **process if place == "processes" else {})
    evaluation = EvalCallback(eval_env, eval_freq=1 if place == "nested" else 32, n_eval_episodes=2, verbose=0)
    around = EveryNTimesteps(128, evaluation) if place == "nested" else evaluation
    callbacks = [sb3.RewardTermsCallback(), around]
    writer = sb3.Rows()
    model = sb3.PPO("MlpPolicy", env, seed=0, device="cpu", n_steps=64, batch_size=64, n_epochs=1)
    model.set_logger(sb3.Logger(None, [writer]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Training and eval env are not of the same type")
        model.learn(256, callback=callbacks[::-1] if place == "before" else callbacks)
    rows = [row for row in writer.rows if "eval/mean_reward" in row]
    steps = [row["time/total_timesteps"] for row in rows]
    assert steps == [128, 256]
    behind = 4 if place == "before" else 0  # it evaluates before the callback hears of the step
    found = [row["eval/mean_reward"] / row["eval/mean_ep_length"] for row in rows]
    assert found == pytest.approx([(count - behind) / 1000 for count in steps], rel=1e-5)
    eval_env.close()


def test_environments_that_are_evaluated_without_a_reward_are_left_alone(sb3):
    from stable_baselines3.common.callbacks import EvalCallback

    model = sb3.PPO("MlpPolicy", build_env(sb3, PATIENT), seed=0, device="cpu", n_steps=16, batch_size=64, n_epochs=1)
    evaluation = EvalCallback(sb3.Monitor(gymnasium.make("CartPole-v1")), eval_freq=16, n_eval_episodes=1, verbose=0)
    model.learn(64, callback=[sb3.RewardTermsCallback(), evaluation])
    assert evaluation.last_mean_reward >= 1.0


def test_a_run_that_is_stopped_and_resumed_loses_nothing_and_merges_nothing(sb3, tmp_path):
    paid = 0.0
    for session in range(2):
        with Ledger(tmp_path / "rewards.db") as ledger:
            env = build_env(sb3, ledger=ledger, run="night", seed=session)
            _, given = sb3.train(sb3.PPO, "isaac", 256, env, n_steps=32, batch_size=64, n_epochs=1)
            paid += sum(float(each.sum()) for each in given)
            env.close()
    with Ledger(tmp_path / "rewards.db") as ledger:
        episodes = ledger.episodes(run="night")
        assert sum(each.length for each in episodes) == 512
        assert sum(each.total for each in episodes) == pytest.approx(paid, rel=1e-5)
        for actor in (f"env{at}" for at in range(4)):
            own = [each for each in episodes if each.actor == actor]
            assert [each.episode for each in own] == [str(n) for n in range(1, len(own) + 1)]
            assert [each.first_step for each in own] == [1] * len(own)
            assert [each.last_step for each in own] == [each.length for each in own]
            assert sum(each.ended is None for each in own) == 2  # the last of each session
        verified(ledger)


def test_one_actor_for_several_environments_is_refused(sb3, tmp_path):
    with (
        Ledger(tmp_path / "rewards.db") as ledger,
        pytest.raises(DefinitionError, match="names one environment, and there"),
    ):
        build_env(sb3, ledger=ledger, actor="me")


def test_steps_that_could_not_be_scored_are_on_the_curves(sb3):
    def broken(obs, action, next_obs, info):
        return {"angle": math.nan if next_obs[0] > 0.02 else next_obs[2], "position": next_obs[0]}

    env = sb3.make_vec_env("CartPole-v1", BALANCE, broken, n_envs=2, seed=0, max_masked=1.0)
    with pytest.warns(UserWarning, match="a step could not be scored"):
        rows, _ = sb3.train(sb3.PPO, "isaac", 128, env, n_steps=64, batch_size=64, n_epochs=1)
    assert rows[0]["reward/masked_steps"] > 0
