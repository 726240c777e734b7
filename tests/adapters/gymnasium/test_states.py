"""Wrapped environments carry the states of a reward: each for itself, from the first step of every episode."""

import copy
import functools

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import Autoreset

from plaudit import Ledger, OutOfRange
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.errors import UnknownInput
from support import carrying

MODES = list(AutoresetMode)
LENGTHS = (3, 5, 20)


class Feet(gymnasium.Env):
    """Feet that touch the ground as a seed says; an episode ends after some steps."""

    observation_space = spaces.MultiBinary(4)
    action_space = spaces.Discrete(2)

    def __init__(self, number, length):
        self.number, self.length, self.episode = number, length, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode += 1
        self.rng = np.random.default_rng((self.number, self.episode))
        self.steps = 0
        return np.zeros(4, np.int8), {}

    def step(self, action):
        self.steps += 1
        contact = (self.rng.random(4) < 0.4).astype(np.int8)
        return contact, 0.0, self.steps >= self.length, False, {}


def features(obs, action, next_obs, info):
    return {"contact": next_obs != 0}


def play_alone(number, length, steps):
    """Return what each step of one environment earns by a plain loop, episode after episode."""
    env, totals = Feet(number, length), []
    while len(totals) < steps:
        env.reset()
        rows = np.array([env.step(0)[0] != 0 for _ in range(length)])
        totals += carrying.compute("walking", {"contact": rows[:, None]}, np.zeros((length, 1), bool))[:, 0].tolist()
    return totals[:steps]


@pytest.mark.parametrize("autoreset", [False, True])
def test_one_environment_carries_and_begins_anew_with_each_episode(autoreset):
    inner = Autoreset(Feet(0, 5)) if autoreset else Feet(0, 5)
    env = RewardWrapper(inner, carrying.walking(), features)
    env.reset()
    paid, over = [], False
    while len(paid) < 17:
        if over and not autoreset:
            env.reset()
        _, reward, terminated, _, info = env.step(0)
        if "reward_components" in info:  # no step where it only began anew
            paid.append(reward)
        over = terminated
    assert paid == pytest.approx(play_alone(0, 5, 17), abs=1e-12)


@pytest.mark.parametrize("many", [1, 256], ids=["numba", "numpy"])
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_many_environments_carry_each_for_itself(mode, many, monkeypatch):
    if many == 1:
        pytest.importorskip("numba")
    monkeypatch.setattr("plaudit.adapters.gymnasium.batch_scoring.MANY", many)
    made = [functools.partial(Feet, at, length) for at, length in enumerate(LENGTHS)]
    env = RewardWrapper(SyncVectorEnv(made, autoreset_mode=mode), carrying.walking(), features)
    env.reset()
    paid = [[] for _ in LENGTHS]
    for _ in range(24):
        _, rewards, terminated, _, info = env.step(np.zeros(3, np.int64))
        for at in np.flatnonzero(info["_reward_components"]):
            paid[at].append(rewards[at])
        if mode is AutoresetMode.DISABLED and terminated.any():
            env.reset(options={"reset_mask": terminated})
    for at, length in enumerate(LENGTHS):
        assert len(paid[at]) >= 18
        assert paid[at] == pytest.approx(play_alone(at, length, len(paid[at])), abs=1e-12)


@pytest.mark.parametrize("many", [1, 256], ids=["numba", "numpy"])
def test_each_recorded_step_holds_what_was_carried_into_it_and_recomputes_alone(many, monkeypatch, tmp_path):
    if many == 1:
        pytest.importorskip("numba")
    monkeypatch.setattr("plaudit.adapters.gymnasium.batch_scoring.MANY", many)
    reward = carrying.walking()
    with Ledger(tmp_path / "rewards.db") as ledger:
        made = [functools.partial(Feet, at, length) for at, length in enumerate(LENGTHS)]
        env = RewardWrapper(SyncVectorEnv(made), reward, features, ledger=ledger)
        env.reset()
        for _ in range(10):
            env.step(np.zeros(3, np.int64))
        env.close()
        records = list(ledger.history())
        assert ledger.verify().ok
    following = {}
    for record in sorted(records, key=lambda record: (record.episode, record.step)):
        before = [record.signal.inputs[f"prev.air_time[{foot}]"] for foot in range(4)]
        assert before == following.get(record.episode, [0.0] * 4)
        following[record.episode] = record.signal.state["air_time"]
        contact = [record.signal.inputs[f"contact[{foot}]"] for foot in range(4)]
        assert reward.score(contact=contact, prev={"air_time": before}) == record.signal


def test_a_step_that_cannot_be_scored_carries_nothing_on():
    reward = carrying.touching()
    forces = iter([[[5.0, 0.0]] * 2, [[5.0, 0.0], [-1.0, 0.0]], [[0.0, 0.0]] * 2])
    made = [functools.partial(Feet, at, 20) for at in range(2)]
    env = RewardWrapper(SyncVectorEnv(made), reward, lambda *_: {"force": np.array(next(forces))}, on_bad="raise")
    env.reset()
    env.step(np.zeros(2, np.int64))
    with pytest.raises(OutOfRange, match=r"environment 1: .*-1.0 is outside"):
        env.step(np.zeros(2, np.int64))
    kept = copy.deepcopy(env._scorer._states.after)
    assert kept[0][:, 1].tolist() == [5.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    _, rewards, *_ = env.step(np.zeros(2, np.int64))
    assert rewards.tolist() == [-1.0, -1.0]


@pytest.mark.parametrize("count", [1, 2])
def test_features_that_give_a_state_are_refused(count):
    give = lambda *_: {"contact": np.ones((4,) if count == 1 else (count, 4), bool), "prev": {"air_time": 0.0}}  # noqa: E731 - short
    env = Feet(0, 5) if count == 1 else SyncVectorEnv([functools.partial(Feet, at, 5) for at in range(count)])
    wrapped = RewardWrapper(env, carrying.walking(), give)
    wrapped.reset()
    with pytest.raises(UnknownInput, match="given twice"):
        wrapped.step(0 if count == 1 else np.zeros(count, np.int64))
