"""What the environment says of a step: its own reward and how the episode ended, recorded and as inputs of a reward."""

import json
import math

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from plaudit import Field, Ledger, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.ledger.storage.episode_parts import encode_outcomes
from support import walks

PAYS = [0.25, -1.5, 0.1]


@term
def native(original_reward):
    """What the environment paid."""
    return original_reward


@term(weight=10.0)
def ending(terminated, truncated):
    return 2 if terminated else 1 if truncated else 0


WITH_OUTCOMES = Reward(
    "outcomes",
    version="1",
    terms=[native, ending],
    fields=[Field("original_reward", low=-5, high=5), Field("terminated", flag=True), Field("truncated", flag=True)],
)


def test_one_environment_records_its_own_reward_and_how_episodes_ended(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(walks.Walk(pay=0.1), walks.reward(), walks.features, ledger=ledger, run="r")
        for action in (2, 1):  # over the edge after three steps, and cut off after six
            env.reset()
            while not any(env.step(action)[2:4]):
                pass
        env.reset()
        env.step(2)
        env.close()
        records = list(ledger.history())
        assert {record.original_reward for record in records} == {0.1}
        assert [record.id for record in records if record.ended == "terminated"] == [3]
        assert [record.id for record in records if record.ended == "truncated"] == [9]
        found = [(each.episode, each.length, each.ended) for each in ledger.episodes(run="r")]
        assert found == [("1", 3, "terminated"), ("2", 6, "truncated"), ("3", 1, None)]
        assert ledger.verify().ok


def test_a_reward_that_the_environment_writes_over_is_recorded_as_it_was(tmp_path):
    class Reusing(walks.Walk):
        paid = np.zeros(())

        def step(self, action):
            obs, _, *rest = super().step(action)
            self.paid += 1.0
            return obs, self.paid, *rest

    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(Reusing(), walks.reward(), walks.features, ledger=ledger)
        env.reset()
        for _ in range(3):
            env.step(1)
        env.close()
        assert [record.original_reward for record in ledger.history()] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_each_of_many_environments_records_what_it_said_itself(tmp_path, mode):
    envs = [lambda pay=pay: walks.Walk(pay=pay) for pay in PAYS]
    with Ledger(tmp_path / "rewards.db") as ledger:
        many = RewardWrapper(SyncVectorEnv(envs, autoreset_mode=mode), walks.reward(), walks.features, ledger=ledger)
        many.reset()
        for _ in range(7):
            _, _, terminated, truncated, _ = many.step(np.array([2, 1, 0]))
            if mode is AutoresetMode.DISABLED and (over := terminated | truncated).any():
                many.reset(options={"reset_mask": over})
        many.close()
        episodes = {each.episode: each for each in ledger.episodes()}
        for record in ledger.history():
            assert record.original_reward == PAYS[(int(record.episode) - 1) % 3]
        assert [episodes[str(n)].ended for n in (1, 2, 3)] == ["terminated", "truncated", "terminated"]
        assert [episodes[str(n)].length for n in (1, 2, 3)] == [3, 6, 3]
        assert ledger.verify().ok


def test_what_the_environment_says_can_be_an_input(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(walks.Walk(), WITH_OUTCOMES, lambda *step: {}, ledger=ledger, run="one")
        env.reset()
        assert [env.step(2)[1] for _ in range(3)] == [0.25, 0.25, 20.25]
        env.reset()
        assert [env.step(1)[1] for _ in range(6)] == [0.25] * 5 + [10.25]
        envs = [lambda pay=pay: walks.Walk(pay=pay) for pay in PAYS]
        many = RewardWrapper(SyncVectorEnv(envs), WITH_OUTCOMES, lambda *step: {}, ledger=ledger, run="many")
        many.reset()
        paid = [many.step(np.array([2, 1, 0]))[1] for _ in range(3)]
        assert [row.tolist() for row in paid] == [PAYS, PAYS, [20.25, -1.5, 20.1]]
        env.close(), many.close()
        assert [record.signal.inputs["terminated"] for record in ledger.history(run="one", episode=1)] == [0, 0, 1]


def test_what_the_features_say_holds(tmp_path):
    env = RewardWrapper(walks.Walk(), WITH_OUTCOMES, lambda *step: {"original_reward": 3.0, "terminated": True})
    env.reset()
    assert env.step(1)[1] == 23.0


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ([1, np.float32(0.5), 1e300], [1.0, 0.5, 1e300]),
        ([math.nan, math.inf, -math.inf], ["nan", "inf", "-inf"]),
        ([np.array([2.0]), np.array([3.0])], [2.0, 3.0]),
        ([None, 0.1, "x", math.nan], [None, 0.1, None, "nan"]),
    ],
)
def test_whatever_the_environment_pays_is_recorded_as_json(tmp_path, said, stored):
    nothing = [False] * len(said)
    contexts = json.loads(encode_outcomes(said, nothing, nothing))
    assert [context["original_reward"] for context in contexts] == stored
    with Ledger(tmp_path / "rewards.db") as ledger:
        signal = walks.reward().score(before=0.0, after=1.0, moved=1.0)
        for context in contexts:
            ledger.record(signal, context=context)
        found = [record.original_reward for record in ledger.history()]
        wanted = [None if each is None else float(each) for each in stored]
        np.testing.assert_equal(found, wanted)
        ledger.record(signal, context={"original_reward": "much"})
        assert ledger.history().last(1).first().original_reward is None
