"""A wrapper that is given a task records it with the reward, around one environment and around many."""

from gymnasium.vector import SyncVectorEnv

from plaudit import Ledger, Task
from plaudit.adapters.gymnasium import RewardWrapper
from support import walks

TASK = Task("walking", better={"after": "high"}, horizon=walks.LIMIT, ends={"terminated": "good"})


def read_batch(obs, action, next_obs, info):
    return {"before": obs[:, 0], "after": next_obs[:, 0], "moved": info["moved"]}


def test_what_one_environment_records_has_the_task(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(walks.Walk(), walks.reward(), walks.features, task=TASK, ledger=ledger)
        env.reset()
        env.step(2)
        env.close()
        (kept,) = ledger.rewards()
    assert env.reward.task == TASK
    assert kept.reward.task == TASK


def test_what_many_environments_record_has_the_task(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(SyncVectorEnv([walks.Walk] * 2), walks.reward(), read_batch, task=TASK, ledger=ledger)
        env.reset()
        env.step([2, 2])
        env.close()
        (kept,) = ledger.rewards()
    assert kept.reward.task == TASK


def test_a_task_pays_nothing():
    plain, told = (RewardWrapper(walks.Walk(), walks.reward(), walks.features, task=task) for task in (None, TASK))
    paid = []
    for env in (plain, told):
        env.reset()
        paid.append([env.step(action)[1] for action in (2, 2, 0)])
    assert paid[0] == paid[1]
    assert plain.reward.fingerprint == told.reward.fingerprint
