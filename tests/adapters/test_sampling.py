"""A sample of the episodes: each whole or not at all, at the rate that was asked for, and sums that have no bias."""

import functools

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from plaudit import InputError, Ledger
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.adapters.sampling import EpisodeSample
from plaudit.errors import WrongType
from plaudit.ledger.totals import Tally
from support import walks

REWARD = walks.reward()


def record(ledger, *, envs=32, steps=200, **options):
    """Record walks of many environments, each with its own actions."""
    made = [functools.partial(walks.Walk, start) for start in np.linspace(-2, 2, envs)]
    many = SyncVectorEnv(made, autoreset_mode=AutoresetMode.NEXT_STEP)
    env = RewardWrapper(many, REWARD, walks.features, ledger=ledger, **options)
    actions = np.random.default_rng(1)
    env.reset(seed=0)
    for _ in range(steps):
        env.step(actions.integers(0, 3, envs))
    env.close()


def describe(episode):
    """Return an episode; its sums are rounded, since blocks may be cut elsewhere."""
    terms = {name: round(paid, 9) for name, paid in episode.terms.items()}
    return round(episode.total, 9), episode.length, episode.ended, terms


def test_an_episode_is_recorded_whole_or_not_at_all(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger, run="all")
        record(ledger, run="some", sample=0.25)
        everything = [describe(each) for each in ledger.episodes(run="all").finished]
        sampled = ledger.episodes(run="some").finished
        assert 0 < len(sampled) < len(everything) / 2
        assert all(describe(each) in everything for each in sampled)
        assert {each.first_step for each in sampled} == {1}
        assert {each.sample_rate for each in sampled} == {0.25}
        assert ledger.verify().ok


def test_what_one_environment_records_is_whole_episodes_too(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        env = RewardWrapper(walks.Walk(), REWARD, walks.features, ledger=ledger, sample=0.5)
        walks.walk(env, 400)
        env.close()
        found = ledger.episodes()
        assert [each.episode for each in found] == [str(n) for n in range(1, len(found) + 1)]
        assert 20 < len(found) < 80
        assert len({each.length for each in found.finished}) == 1


def test_sums_and_counts_are_unbiased(tmp_path):
    """Over 400 seeds the mean of the estimates is within four standard errors of the truth."""
    with Ledger(tmp_path / "all.db") as ledger:
        record(ledger)
        returns = np.array([each.total for each in ledger.episodes()])
        lengths = np.array([each.length for each in ledger.episodes()])
        truth = ledger.history().totals()
    rate, sums, counts, steps = 0.2, [], [], []
    for seed in range(400):
        sample = EpisodeSample.draw(rate, seed, None, "env0", 0)
        chosen = sample.choose(np.arange(len(returns)), np.zeros(len(returns), np.int64))
        tally = Tally()
        tally.add(returns[chosen], rate=rate)
        found = tally.finish()
        sums.append(found.sum)
        counts.append(found.estimated)
        steps.append(lengths[chosen].sum() / rate)
    for estimates, wanted in ((sums, truth.sum), (counts, len(returns)), (steps, truth.records)):
        assert abs(np.mean(estimates) - wanted) < 4 * np.std(estimates) / np.sqrt(len(estimates))


def test_every_summary_weighs_by_the_rate(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger, run="x", sample=0.25)
        record(ledger, run="x", sample=0.5)
        records, episodes = list(ledger.history()), ledger.episodes()
        wanted = sum(each.total / each.sample_rate for each in records)
        count = sum(1 / each.sample_rate for each in records)
        totals = [ledger.history().totals(), *ledger.totals("run").values(), *ledger.stats().rewards.values()]
        for found in totals:
            assert found.records == len(records)
            assert found.sum == pytest.approx(wanted)
            assert found.estimated == pytest.approx(count)
            assert found.mean == pytest.approx(wanted / count)
            assert found.to_dict()["estimated"] == found.estimated
        by_term = ledger.totals("term")
        assert sum(each.sum for each in by_term.values()) == pytest.approx(wanted)
        [run] = ledger.runs()
        finished = episodes.finished
        assert run.estimated_records == pytest.approx(count)
        assert run.estimated_episodes == pytest.approx(sum(1 / each.sample_rate for each in finished))
        assert run.returns.sum == pytest.approx(sum(each.total / each.sample_rate for each in finished))
        assert run.to_dict()["estimated_episodes"] == run.estimated_episodes


def test_a_ledger_without_a_sample_says_nothing_of_estimates(tmp_path):
    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger, sample=1.0, envs=4, steps=30)
        [run] = ledger.runs()
        assert run.estimated_records is run.estimated_episodes is None
        assert "estimated" not in ledger.history().totals().to_dict()
        assert "sample_rate" not in ledger.history().first().to_dict()
        assert "sample_rate" not in ledger.episodes()[0].to_dict()


def test_the_rate_goes_with_the_records(tmp_path):
    """Into segments, re-scorings, tables, exports and what imports them."""
    with Ledger(tmp_path / "rewards.db") as ledger:
        record(ledger, sample=0.5, envs=8, steps=100)
        ledger.rescore(REWARD.with_weights(effort=-1.0).with_version("2"))
        ledger.compact()
        assert {each.sample_rate for each in ledger.history(job=1)} == {0.5}
        assert set(ledger.history().to_arrow().column("record.sample_rate").to_pylist()) == {0.5}
        assert "rate 0.5" in str(ledger.why(1))
        ledger.export(tmp_path / "records.jsonl")
        assert ledger.verify().ok
        wanted = ledger.history().totals()
    with Ledger(tmp_path / "other.db") as other:
        other.import_file(tmp_path / "records.jsonl")
        assert other.history().totals().estimated == wanted.estimated
        assert other.verify().ok


@pytest.mark.parametrize(
    ("sample", "error"),
    [(0, InputError), (1.5, InputError), (float("nan"), InputError), ("1", WrongType), (True, WrongType)],
)
def test_a_share_that_is_none_is_refused(tmp_path, sample, error):
    with Ledger(tmp_path / "rewards.db") as ledger, pytest.raises(error, match="sample rate"):
        RewardWrapper(walks.Walk(), REWARD, walks.features, ledger=ledger, sample=sample)


def test_writers_with_the_same_seed_choose_different_episodes():
    envs, none = np.arange(1000), np.zeros(1000, np.int64)
    one, other = (EpisodeSample.draw(0.5, 0, None, actor, 0).choose(envs, none) for actor in ("env0", "env1"))
    assert 400 < (one == other).sum() < 600
