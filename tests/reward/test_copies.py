"""Rewards, terms and signals elsewhere: copied, pickled, sent to another process, shared by threads."""

import copy
import dataclasses
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from plaudit import Field, Reward, fact, term
from support.samples import SAMPLES
from support.written import reward_from

REWARD = reward_from(
    "def f(x, mood, *, reach=2.0): return x / reach if mood == 'calm' else -1",
    Field("x", low=0, infinite=True),
    Field("mood", values=("calm", "wild"), missing="wild"),
    name="sent",
    weight=0.1,
    high=3.0,
)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_reward_survives_every_pickle(protocol):
    again = pickle.loads(pickle.dumps(REWARD, protocol))
    assert again == REWARD
    assert hash(again) == hash(REWARD)
    assert again.score(x=0.7, mood="calm") == REWARD.score(x=0.7, mood="calm")


@pytest.mark.parametrize("reward", [REWARD, *SAMPLES.values()], ids=lambda reward: reward.name)
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_a_copy_is_the_same_reward(reward, way):
    again = way(reward)
    assert again == reward
    assert again.fingerprint == reward.fingerprint
    assert again.to_json() == reward.to_json()


@term(weight=2.0)
def level(x, *, reach=2.0):
    return x / reach


@fact
def low(x):
    return x < 1


@pytest.mark.parametrize("read", [level, low], ids=["term", "fact"])
def test_a_term_is_copied_and_pickled_as_a_function_is(read):
    assert all(way(read) is read for way in (copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))))


def test_a_term_that_no_name_stands_for_is_pickled_with_its_reward():
    @term
    def inner(x):
        return x

    loaded = Reward.from_json(REWARD.to_json()).terms[0]
    for each in (inner, loaded, dataclasses.replace(level, weight=3.0)):
        with pytest.raises(
            pickle.PicklingError, match=f"'{each.name}' is not a name at the top of its module.*pickle a reward"
        ):
            pickle.dumps(each)
    reward = Reward("r", version="1", terms=[inner], fields=[Field("x")])
    assert pickle.loads(pickle.dumps(reward)) == reward


def test_a_reward_goes_to_a_process_that_has_none_of_its_source(tmp_path):
    script = (
        "import pickle, sys\n"
        "reward = pickle.load(sys.stdin.buffer)\n"
        "signal = reward.score(x=0.7, mood='calm')\n"
        "sys.stdout.buffer.write(pickle.dumps((reward.fingerprint, signal)))\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    given = pickle.dumps(REWARD)
    done = subprocess.run(
        [sys.executable, "-c", script], input=given, capture_output=True, cwd=tmp_path, env=environment, check=True
    )
    fingerprint, signal = pickle.loads(done.stdout)
    assert fingerprint == REWARD.fingerprint
    assert signal == REWARD.score(x=0.7, mood="calm")


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copy_of_a_signal_is_the_same_signal(way):
    signal = REWARD.score(x=1.5)
    again = way(signal)
    assert again == signal
    assert hash(again) == hash(signal)
    assert again.explain() == signal.explain()


def test_threads_may_share_a_reward_that_was_never_used():
    reward = pickle.loads(pickle.dumps(REWARD))
    with ThreadPoolExecutor(8) as pool:
        totals = list(pool.map(lambda i: reward.score(x=i / 10, mood="calm").total, range(200)))
    assert totals == [REWARD.score(x=i / 10, mood="calm").total for i in range(200)]
