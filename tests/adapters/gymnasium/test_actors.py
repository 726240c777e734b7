"""Each wrapper records as an actor of its own: episodes of several environments, processes and sessions stay apart.

Environment `n` ends its episodes after `3 + n` steps, of which step `k` is paid `k`: so every return is known.
"""

import contextlib
import os
import signal

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from plaudit import Field, Ledger, Reward, term
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.errors import ActorInUse
from support.ledgers import verified
from support.postgres import Server

ENVS, STEPS = 4, 30


class Counting(gymnasium.Env):
    """Counts the steps of its episodes, which have `length` of them."""

    observation_space = gymnasium.spaces.Box(0, 100, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length=3):
        self._length = length

    def reset(self, *, seed=None, options=None):
        self._taken = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self._taken += 1
        return np.full(1, self._taken, np.float32), 0.0, self._taken == self._length, False, {}


@term
def taken(steps):
    return steps


COUNTED = Reward("counted", version="1", terms=[taken], fields=[Field("steps", low=0)])


def count(obs, action, next_obs, info):
    return {"steps": next_obs[..., 0]}


def wrap(ledger, at, **options):
    return RewardWrapper(Counting(3 + at), COUNTED, count, ledger=ledger, run="night", **options)


def build_makers(ledger):
    """Return functions that make an environment each, in whatever process."""
    return [lambda at=at: wrap(ledger, at, flush_every=600) for at in range(ENVS)]


def play_plainly(ledger):
    envs = [make() for make in build_makers(ledger)]
    for env in envs:
        env.reset()
    for _ in range(STEPS):
        for env in envs:
            if env.step(0)[2]:
                env.reset()
    for env in envs:
        env.close()


def play_together(ledger, kind, **options):
    """Play the environments as a vector of Gymnasium does; a step that only begins an episode is not one."""
    envs = kind(build_makers(ledger), autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP, **options)
    envs.reset()
    for _ in range(STEPS):
        envs.step(np.zeros(ENVS, int))
    envs.close()


def play_baselines(ledger, kind, **options):
    from stable_baselines3.common import vec_env

    envs = getattr(vec_env, kind)(build_makers(ledger), **options)
    envs.reset()
    for _ in range(STEPS):
        envs.step([0] * ENVS)
    envs.close()


WAYS = {
    "plain loop": play_plainly,
    "SyncVectorEnv": lambda ledger: play_together(ledger, SyncVectorEnv),
    "AsyncVectorEnv": lambda ledger: play_together(ledger, AsyncVectorEnv, context="fork"),
    "DummyVecEnv": lambda ledger: play_baselines(ledger, "DummyVecEnv"),
    "SubprocVecEnv": lambda ledger: play_baselines(ledger, "SubprocVecEnv", start_method="fork"),
}


@pytest.mark.parametrize("way", WAYS)
def test_episodes_are_those_that_were_played(tmp_path, way):
    with Ledger(tmp_path / "rewards.db") as ledger:
        WAYS[way](ledger)
        found = ledger.episodes()
        lengths = {}
        for each in found:
            lengths.setdefault(each.actor, []).append((each.length, each.ended, each.total))
        assert sorted(lengths) == [f"env{at}" for at in range(ENVS)]
        wanted = []
        for at in range(ENVS):
            length = 3 + at
            whole, left = divmod(STEPS, length)
            played = [(length, "terminated", sum(range(length + 1)))] * whole
            wanted.append(played + ([(left, None, sum(range(left + 1)))] if left else []))
        assert sorted(lengths.values()) == sorted(wanted)
        assert ledger.history().count() == ENVS * STEPS
        verified(ledger)
    assert not (tmp_path / "rewards.db.writers").exists()


def test_a_wrapper_of_many_environments_is_one_actor(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        wrapped = [
            RewardWrapper(SyncVectorEnv([Counting] * 2), COUNTED, count, ledger=ledger, run="night") for _ in range(2)
        ]
        for env in wrapped:
            env.reset()
            for _ in range(3):
                env.step(np.zeros(2, int))
        assert [env.actor for env in wrapped] == ["env0", "env1"]
        for env in wrapped:
            env.close()
        assert [(each.actor, each.episode, each.total) for each in ledger.episodes()] == [
            (actor, episode, 6.0) for actor in ("env0", "env1") for episode in ("1", "2")
        ]


def test_two_live_writers_do_not_share_an_actor(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger, Ledger(tmp_path / "rewards.db") as other:
        first = wrap(ledger, 0, actor="left")
        for mine in (ledger, other):
            with pytest.raises(ActorInUse, match=r"records as actor 'left' of run 'night'.*leave actor= out"):
                wrap(mine, 0, actor="left")
        assert wrap(other, 0, actor="right").actor == "right"
        assert RewardWrapper(Counting(), COUNTED, count, ledger=other, run="day", actor="left").actor == "left"
        first.close()
        assert wrap(other, 0, actor="left").actor == "left"


def test_a_wrapper_that_is_dropped_leaves_its_actor_to_the_next(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = wrap(ledger, 0, flush_every=600)
        env.reset()
        env.step(0)
        del env
        again = wrap(ledger, 0)
        assert again.actor == "env0"
        again.reset()
        again.step(0)
        again.close()
        assert [(each.actor, each.episode) for each in ledger.episodes()] == [("env0", "1"), ("env0", "2")]


def test_a_run_that_is_resumed_goes_on_under_new_episode_numbers(tmp_path):
    for actor in (None, "left"):
        for _ in range(3):
            with Ledger(tmp_path / "rewards.db") as ledger:
                env = wrap(ledger, 0, actor=actor)
                env.reset()
                for _ in range(4):  # the second episode has no end
                    if env.step(0)[2]:
                        env.reset()
                env.close()
        with Ledger(tmp_path / "rewards.db") as ledger:
            found = ledger.episodes(actor=actor or "env0")
            assert [each.episode for each in found] == ["1", "2", "3", "4", "5", "6"]
            assert [each.ended for each in found] == ["terminated", None] * 3


def test_a_ledger_that_is_closed_under_a_wrapper_loses_nothing_and_says_so(tmp_path):
    ledger = Ledger(tmp_path / "rewards.db")
    env = wrap(ledger, 2, flush_every=600)
    env.reset()
    env.step(0)
    ledger.close()
    with pytest.raises(Exception, match="closed"):
        env.step(0)
    with Ledger(tmp_path / "rewards.db") as again:
        assert again.history().count() == 1
        assert wrap(again, 0).actor == "env0"


def test_an_environment_goes_on_after_it_was_closed(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = wrap(ledger, 0)
        for _ in range(2):
            env.reset()
            env.step(0)
            env.close()
        assert [(each.actor, each.episode) for each in ledger.episodes()] == [("env0", "1"), ("env0", "2")]


def test_a_server_that_goes_away_in_the_middle_costs_no_step(postgres):
    server = Server(fsync=False)
    server.start()
    try:
        with Ledger(server.new_database()) as ledger:
            envs = [wrap(ledger, at, flush_every=0.2) for at in range(2)]
            for env in envs:
                env.reset()
            for step in range(400):
                if step == 200:
                    server.restart("immediate")
                for env in envs:
                    if env.step(0)[2]:
                        env.reset()
            for env in envs:
                env.close()
            assert ledger.history().count() == 800
            for at, actor in enumerate(("env0", "env1")):
                own = ledger.episodes(actor=actor)
                assert [each.episode for each in own] == [str(n) for n in range(1, len(own) + 1)]
                assert {each.length for each in own.finished} == {3 + at}
            verified(ledger)
    finally:
        server.stop()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes")
def test_a_training_that_is_killed_and_resumed_merges_nothing(tmp_path):
    where = tmp_path / "rewards.db"
    for _ in range(3):
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                ledger = Ledger(where)
                envs = [wrap(ledger, at, flush_every=0.01) for at in range(2)]
                for env in envs:
                    env.reset()
                for _ in range(25):
                    for env in envs:
                        if env.step(0)[2]:
                            env.reset()
                envs[0]._record.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    with Ledger(where) as ledger:
        assert ledger.history().count() == 3 * 2 * 25
        for at, actor in enumerate(("env0", "env1")):
            own = ledger.episodes(actor=actor)
            whole, left = divmod(25, 3 + at)
            assert [each.length for each in own] == ([3 + at] * whole + [left]) * 3
            assert [each.finished for each in own] == ([True] * whole + [False]) * 3
        verified(ledger)
