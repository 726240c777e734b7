"""Re-scoring with another update replays whole episodes; with the same one, what is recorded suffices."""

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, State
from plaudit.errors import BrokenEpisode
from support import carrying

STEPS, ENVS = 8, 3


def count_slowly(contact, prev, *, dt=0.05):
    return np.where(contact, 0.0, np.minimum(prev.air_time + dt, 10.0))


def another(version="2"):
    air = State("air_time", shape=(4,), reset=0.5, low=0, high=10, update=count_slowly)
    fields = [Field("contact", flag=True, shape=(4,)), air]
    terms = [carrying.feet_air_time, carrying.hanging]
    return Reward("walking", version=version, terms=terms, fields=fields)


@pytest.fixture
def ledger(tmp_path):
    """A ledger of three episodes, whose steps are mixed."""
    reward, columns = carrying.walking(), carrying.draw("walking", STEPS, ENVS)
    with Ledger(tmp_path / "rewards.db") as ledger:
        states = [reward.initial_state() for _ in range(ENVS)]
        for step in range(STEPS):
            for env in range(ENVS):
                signal = reward.score(contact=columns["contact"][step, env], prev=states[env])
                states[env] = signal.state
                ledger.record(signal, run="night", episode=str(env), step=step + 1)
        yield ledger


def expected(reward):
    contact = carrying.draw("walking", STEPS, ENVS)["contact"].reshape(-1, 4)
    episode, step = np.tile(np.arange(ENVS), STEPS), np.repeat(np.arange(STEPS), ENVS)
    return reward.score_episodes({"contact": contact}, episode=episode, step=step)


def test_the_same_update_uses_what_is_recorded(ledger):
    heavier = carrying.walking().with_weights(hanging=-1.0).with_version("heavier")
    done = ledger.rescore(heavier, step=5)  # one step of each episode alone
    totals = [record.signal.total for record in ledger.history(job=done.job)]
    assert totals == expected(heavier).scores.total.reshape(STEPS, ENVS)[4].tolist()


def test_another_update_goes_through_each_episode_from_its_first_step(ledger):
    done = ledger.rescore(another())
    records = list(ledger.history(job=done.job))
    found = expected(another())
    assert [record.signal.total for record in records] == found.scores.total.tolist()
    inputs = records[-1].signal.inputs
    assert [inputs[f"prev.air_time[{foot}]"] for foot in range(4)] == found.states["air_time"][-1].tolist()
    assert ledger.verify().ok


def test_an_interrupted_replay_goes_on_where_it_stopped(ledger, monkeypatch):
    monkeypatch.setattr("plaudit.ledger.rescore.rescore._BATCH", 5)

    def stop(done, planned):
        if done >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.rescore(another(), progress=stop)
    done = ledger.rescore(another())
    assert 0 < done.scored < STEPS * ENVS
    totals = [record.signal.total for record in ledger.history(job=done.job)]
    assert totals == expected(another()).scores.total.tolist()


def test_a_sampled_log_is_refused_before_anything_is_written(ledger):
    with pytest.raises(BrokenEpisode, match=r"the first record of episode '0' is step 5, and episodes begin at step 0"):
        ledger.rescore(another(), step=5)
    assert ledger.jobs() == []


def test_a_gap_is_refused_by_record(tmp_path):
    reward = carrying.walking()
    with Ledger(tmp_path / "rewards.db") as ledger:
        for step in (1, 2, 4):
            signal = reward.score(contact=[True] * 4, prev=reward.initial_state())
            ledger.record(signal, episode="0", step=step)
        with pytest.raises(BrokenEpisode, match=r"record 3: step 4 of episode '0' does not follow.*is step 2"):
            ledger.rescore(another())
        assert ledger.jobs() == []


def test_records_without_an_episode_are_refused(tmp_path):
    reward = carrying.walking()
    with Ledger(tmp_path / "rewards.db") as ledger:
        ledger.record(reward.score(contact=[True] * 4, prev=reward.initial_state()))
        with pytest.raises(BrokenEpisode, match="record 1 has no episode or no step"):
            ledger.rescore(another())
