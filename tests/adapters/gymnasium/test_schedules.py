"""Wrapped environments count for schedules, take other weights while they run, and tell every row of a total."""

import functools
import pickle

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from plaudit import DefinitionError, Ledger, Reward
from plaudit.adapters.gymnasium import RewardWrapper, VectorRewardWrapper
from plaudit.errors import VersionConflict
from plaudit.schedules import linear, piecewise
from support import walks

PLAIN = walks.reward()
RISING = PLAIN.with_weights(effort=linear(0, -8, over=8))


def idle(after):
    return abs(after) < 0.5


COMPOSED = walks.reward(scale=0.5, low=0.0, override=[(idle, -3.0)])


def steps(env, actions):
    """Return what each action is paid; an episode that is over begins anew."""
    env.reset()
    paid = []
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        paid.append((reward, info))
        if terminated or truncated:
            env.reset()
    return paid


def weights(paid):
    return [info["reward_components"]["effort"] for _, info in paid]


def test_a_wrapper_counts_its_steps_over_all_episodes():
    env = RewardWrapper(walks.Walk(), RISING, walks.features, num_envs=1)
    assert weights(steps(env, [2] * 10)) == [0, -1, -2, -3, -4, -5, -6, -7, -8, -8]
    assert env.steps_taken == 10
    assert env.signal.inputs["step"] == 9
    assert env.signal["effort"].weight == -8.0


def test_training_is_resumed_where_it_was():
    env = RewardWrapper(walks.Walk(), RISING, walks.features, num_envs=1, steps_taken=5)
    assert weights(steps(env, [2, 2])) == [-5, -6]
    assert env.steps_taken == 7


def test_the_environment_may_count_itself():
    def features(obs, action, next_obs, info):
        return {**walks.features(obs, action, next_obs, info), "step": 4}

    assert weights(steps(RewardWrapper(walks.Walk(), RISING, features), [2, 2])) == [-4, -4]


def test_a_wrapper_that_does_not_know_how_many_there_are_says_once_that_it_counts_its_own_steps():
    env = RewardWrapper(walks.Walk(), RISING, walks.features)
    with pytest.warns(UserWarning, match="counts only its own environment's steps") as told:
        assert weights(steps(env, [2] * 4)) == [0, -1, -2, -3]
    assert len(told) == 1


def test_schedules_follow_the_steps_of_all_environments():
    envs = [RewardWrapper(walks.Walk(), RISING, walks.features, num_envs=4) for _ in range(4)]
    assert [weights(steps(env, [2] * 3)) for env in envs] == [[0, -4, -8]] * 4
    assert {env.steps_taken for env in envs} == {12}


def test_schedules_follow_the_count_of_the_trainer():
    env = RewardWrapper(walks.Walk(), RISING, walks.features)
    env.sync_steps(3, num_envs=2)
    assert weights(steps(env, [2] * 3)) == [-3, -5, -7]


def test_a_frozen_count_holds_the_weights_until_it_is_synced_again():
    env = RewardWrapper(walks.Walk(), RISING, walks.features)
    env.freeze_steps(5)
    assert weights(steps(env, [2] * 3)) == [-5, -5, -5]
    assert env.steps_taken == 5
    env.sync_steps(6, num_envs=1)
    assert weights(steps(env, [2] * 2)) == [-6, -7]
    many = RewardWrapper(SyncVectorEnv([walks.Walk] * 2), RISING, walks.features)
    many.freeze_steps(3)
    many.reset()
    for _ in range(2):
        *_, info = many.step(np.array([2, 2]))
        assert info["reward_components"]["effort"].tolist() == [-3, -3]
    with pytest.raises(DefinitionError, match="steps_taken=-1 must be an integer of at least 0"):
        env.freeze_steps(-1)


def test_weights_that_move_are_told_in_info():
    env = RewardWrapper(walks.Walk(), RISING, walks.features, num_envs=2)
    assert [info["reward_weights"] for _, info in steps(env, [2] * 3)] == [{"effort": -2.0 * at} for at in range(3)]
    assert "reward_weights" not in steps(RewardWrapper(walks.Walk(), PLAIN, walks.features), [2])[0][1]


def test_another_counter_is_counted_likewise():
    reward = PLAIN.with_weights(effort=linear(0, -8, over=8, counter="training_step"))
    env = RewardWrapper(walks.Walk(), reward, walks.features, num_envs=1)
    assert weights(steps(env, [2, 2, 2])) == [0, -1, -2]


def test_a_wrapped_environment_takes_another_weight_and_a_schedule_while_it_runs():
    env = RewardWrapper(walks.Walk(), PLAIN, walks.features, num_envs=1)
    assert weights(steps(env, [2, 2])) == [-0.125, -0.125]
    env.reward = PLAIN.with_weights(effort=-1.0)
    assert weights(steps(env, [2])) == [-1.0]
    env.reward = RISING
    assert weights(steps(env, [2])) == [-3.0]
    assert env.reward is RISING


def test_the_sums_of_a_running_episode_go_on():
    env = RewardWrapper(walks.Walk(), PLAIN, walks.features)
    env.reset()
    env.step(2)
    env.reward = PLAIN.with_weights(effort=-1.0)
    env.step(2)
    *_, info = env.step(2)
    assert info["episode_reward_components"]["effort"] == -2.125


@pytest.mark.parametrize("many", [False, True])
def test_another_reward_has_the_same_parts(many):
    made = SyncVectorEnv([walks.Walk] * 2) if many else walks.Walk()
    env = RewardWrapper(made, PLAIN, walks.features)
    with pytest.raises(
        DefinitionError, match=r"components progress, arrival, but running episodes.*Wrap the environment again"
    ):
        env.reward = PLAIN.select_terms("progress", "arrival")
    with pytest.raises(DefinitionError, match="is not a Reward"):
        env.reward = 3
    assert env.reward is PLAIN


@pytest.mark.parametrize("count", [-1, 1.5, True, "many"])
def test_a_count_of_steps_is_an_integer(count):
    with pytest.raises(DefinitionError, match="steps_taken="):
        RewardWrapper(walks.Walk(), RISING, walks.features, steps_taken=count)
    with pytest.raises(DefinitionError, match="steps_taken="):
        RewardWrapper(SyncVectorEnv([walks.Walk]), RISING, walks.features, steps_taken=count)


def test_a_wrapper_that_is_made_again_from_its_spec_counts_from_the_same_step():
    env = RewardWrapper(walks.Walk(), RISING, walks.features, steps_taken=5)
    assert env._saved_kwargs["steps_taken"] == 5
    assert pickle.loads(pickle.dumps(env)).steps_taken == 5


@pytest.mark.parametrize(
    ("mode", "fast"), [*((mode, False) for mode in AutoresetMode), (AutoresetMode.SAME_STEP, True)], ids=str
)
def test_many_environments_share_one_count(mode, fast, monkeypatch):
    if fast:
        monkeypatch.setattr("plaudit.adapters.gymnasium.batch_scoring.MANY", 1)
    envs = SyncVectorEnv([functools.partial(walks.Walk, start) for start in (0.0, 1.0)], autoreset_mode=mode)
    env = RewardWrapper(envs, RISING, walks.features, steps_taken=2)
    assert isinstance(env, VectorRewardWrapper)
    env.reset()
    for count in (2, 4):
        *_, info = env.step(np.array([2, 0]))
        assert info["reward_components"]["effort"].tolist() == [-count, -count]
        assert info["reward_weights"]["effort"].tolist() == [-count, -count]
        assert info["_reward_weights"].tolist() == [True, True]
    env.reward = PLAIN.with_weights(effort=piecewise([0, -100], at=[6]))
    *_, info = env.step(np.array([1, 2]))
    assert info["reward_components"]["effort"].tolist() == [0, -100]
    assert env.steps_taken == 8


@pytest.mark.parametrize("fast", [False, True], ids=["numpy", "numba"])
def test_components_tell_every_row_of_a_composed_total(fast, monkeypatch):
    if fast:
        monkeypatch.setattr("plaudit.adapters.gymnasium.batch_scoring.MANY", 1)
    many = RewardWrapper(
        SyncVectorEnv([functools.partial(walks.Walk, start) for start in (0.0, 2.0)]), COMPOSED, walks.features
    )
    many.reset()
    one = [RewardWrapper(walks.Walk(start), COMPOSED, walks.features) for start in (0.0, 2.0)]
    for env in one:
        env.reset()
    for actions in ((1, 1), (2, 0), (0, 0)):
        _, rewards, *_, info = many.step(np.array(actions))
        found = info["reward_components"]
        assert list(found) == ["progress", "effort", "arrival", "clamp", "idle"]
        assert sum(found.values()).tolist() == pytest.approx(rewards.tolist())
        for at, env in enumerate(one):
            _, reward, *_, told = env.step(actions[at])
            assert told["reward_components"] == pytest.approx({name: column[at] for name, column in found.items()})
            assert reward == rewards[at]


def test_recorded_steps_keep_the_count_and_the_reward_that_paid_them(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(walks.Walk(), RISING, walks.features, ledger=ledger, run="a", num_envs=1)
        steps(env, [2, 2, 1])
        with pytest.raises(VersionConflict, match="belongs to another formula"):
            env.reward = PLAIN
        assert env.reward is RISING
        env.reward = PLAIN.with_version("2")
        steps(env, [2])
        env.close()
        found = [(record.signal.version, record.signal.inputs.get("step")) for record in ledger.history()]
        assert found == [("1", 0.0), ("1", 1.0), ("1", 2.0), ("2", None)]
        assert ledger.verify().ok


def test_a_reward_without_schedules_is_given_no_count():
    env = RewardWrapper(walks.Walk(), PLAIN, walks.features)
    steps(env, [2])
    assert isinstance(env.reward, Reward)
    assert "step" not in env.signal.inputs
