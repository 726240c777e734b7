"""Intervals: what varies is what they are about, all ways of making them agree, and anytime ones hold at every moment."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.learn.off_policy import LoggedDecisions, evaluate_decisions, from_function
from plaudit.learn.off_policy.intervals import bound_gain, bound_mean, bound_value
from plaudit.quantiles import t_quantile
from support.examples import examples

LARGE, LENGTH, MISS = 20.0, 600, 0.1


def repeat(log, times):
    """Return a log in which each decision was made so many times over, each lot an episode."""
    columns = (log.chosen, log.probabilities, log.rewards, log.contexts)
    episodes = np.repeat(np.arange(len(log)), times)
    return LoggedDecisions(log.actions, *(np.repeat(column, times, axis=0) for column in columns), episodes)


@pytest.mark.parametrize("interval", ["normal", "bootstrap"])
def test_an_episode_of_the_same_over_and_over_counts_once(world, interval):
    log = world.log(800, seed=1)
    policy = from_function(world.policy, world.actions)
    once = evaluate_decisions(log, policy, interval=interval, estimators=("ips", "snips"))
    often = evaluate_decisions(repeat(log, 5), policy, interval=interval, estimators=("ips", "snips"))
    fooled = evaluate_decisions(
        repeat(log, 5), policy, interval=interval, estimators=("ips", "snips"), independent=True
    )
    assert often.episodes == 800
    assert fooled.episodes is None
    for name in ("ips", "snips"):
        assert often[name].value == pytest.approx(once[name].value)
        assert often[name].error == pytest.approx(once[name].error, rel=0.1)
        assert fooled[name].error == pytest.approx(once[name].error / np.sqrt(5), rel=0.1)


def test_the_bootstrap_agrees_with_standard_errors(world):
    log = world.log(3000, seed=2)
    policy = from_function(world.policy, world.actions)
    normal, drawn = (evaluate_decisions(log, policy, interval=each) for each in ("normal", "bootstrap"))
    for name in normal.estimates:
        assert drawn[name].value == normal[name].value
        assert drawn[name].error == pytest.approx(normal[name].error, rel=0.1)
        assert drawn[name].gain.error == pytest.approx(normal[name].gain.error, rel=0.1)
        assert drawn[name].low == pytest.approx(normal[name].low, abs=0.6 * normal[name].error)
        assert drawn[name].high == pytest.approx(normal[name].high, abs=0.6 * normal[name].error)


def test_many_decisions_are_drawn_in_groups(world):
    log = world.log(30_000, seed=3)
    policy = from_function(world.policy, world.actions)
    normal, drawn = (evaluate_decisions(log, policy, interval=each) for each in ("normal", "bootstrap"))
    for name in normal.estimates:
        assert drawn[name].error == pytest.approx(normal[name].error, rel=0.08)


def test_the_seed_decides_all_chance(world):
    log = world.log(500, seed=4)
    policy = from_function(world.policy, world.actions)
    one, same, other = (
        evaluate_decisions(log, policy, interval="bootstrap", seed=seed, minimum_effective=20) for seed in (1, 1, 2)
    )
    assert one.estimates == same.estimates
    assert one["dr"] != other["dr"]


def test_more_confidence_is_a_wider_interval(world):
    log = world.log(1000, seed=5)
    policy = from_function(world.policy, world.actions)
    for interval in ("normal", "bootstrap", "anytime"):
        wide, narrow = (
            evaluate_decisions(log, policy, interval=interval, confidence=each, reward_range=(0, 1))["ips"]
            for each in (0.99, 0.8)
        )
        assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


def test_only_inverse_propensities_have_an_anytime_interval(world):
    found = evaluate_decisions(
        world.log(1000, seed=6), from_function(world.policy, world.actions), interval="anytime", reward_range=(0, 1)
    )
    assert found["ips"].low is not None
    assert found["dr"].low is None
    assert found.best == "ips"
    assert 0 <= found.logged.low < found.logged.value < found.logged.high <= 1


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"interval": "anytime"}, errors.DefinitionError, "reward_range"),
        ({"interval": "anytime", "reward_range": (0, 0.5)}, errors.OutOfRange, "go from 0 to 1"),
        ({"interval": "anytime", "reward_range": (1, 0)}, errors.OutOfRange, "lower one first"),
        ({"interval": "anytime", "reward_range": (0, np.inf)}, errors.OutOfRange, "finite"),
        ({"interval": "anytime", "reward_range": (0, 1), "estimators": ("dr",)}, errors.DefinitionError, "'ips'"),
        ({"interval": "exact"}, errors.DefinitionError, "normal, bootstrap, anytime"),
        ({"confidence": 95}, errors.OutOfRange, "between 0 and 1"),
        ({"estimators": ("dr", "isp")}, errors.DefinitionError, "Did you mean 'ips'"),
        ({"estimators": "dr"}, errors.DefinitionError, "one or more of"),
        ({"estimators": ()}, errors.DefinitionError, "one or more of"),
    ],
)
def test_what_cannot_be_asked_is_refused(world, options, error, words):
    with pytest.raises(error, match=words):
        evaluate_decisions(world.log(1000, seed=7), from_function(world.policy, world.actions), **options)


@pytest.mark.parametrize("large", [1.0, 8.0])
def test_over_every_possible_sequence_the_bound_is_wrong_as_seldom_as_it_says(large):
    length, miss = 8, 0.2
    wrong = dict.fromkeys((0.05, 0.3, 0.7, 0.95), 0.0)
    for values in product((0.0, large), repeat=length):
        ones, bound = sum(value > 0 for value in values), bound_mean(np.array(values), miss=miss)
        for chance in wrong:
            if bound > chance * large:
                wrong[chance] += chance**ones * (1 - chance) ** (length - ones)
    assert max(wrong.values()) <= miss, wrong


def draw_heavy(rng):
    """Return weights with the mean 1, most of them small and some large, and rewards within [0, 1]."""
    chance = 0.6 / (LARGE - 0.4)
    weights = np.where(rng.random(LENGTH) < chance, LARGE, 0.4)
    return weights, (rng.random(LENGTH) < 0.4).astype(float)


def peek(weights, rewards):
    """Return the last bounds that a normal interval ever gave, looked at every tenth decision from the thirtieth on."""
    values = weights * rewards
    counts = np.arange(1, LENGTH + 1)
    means = np.cumsum(values) / counts
    spread = np.sqrt(np.maximum(np.cumsum(values**2) / counts - means**2, 0) / counts)
    looks = slice(29, None, 10)
    reach = t_quantile(1 - MISS, 10**6) * spread[looks]
    return (means[looks] - reach).max(), (means[looks] + reach).min()


@pytest.mark.parametrize("runs", [50, pytest.param(400, marks=pytest.mark.slow)])
def test_anytime_intervals_cover_at_every_moment_where_looking_again_and_again_at_a_normal_interval_does_not(runs):
    missed = {"anytime": 0, "gain": 0, "peeked": 0}
    for seed in range(runs):
        weights, rewards = draw_heavy(np.random.default_rng(seed))
        bounds = {
            "anytime": bound_value(weights, rewards, miss=MISS),
            "peeked": peek(weights, rewards),
            "gain": np.array(bound_gain(weights, rewards, miss=MISS)) + 0.4,
        }
        for name, (low, high) in bounds.items():
            missed[name] += not low <= 0.4 <= high
    allowed = MISS + 3 * np.sqrt(MISS * (1 - MISS) / runs)
    assert missed["anytime"] / runs <= allowed
    assert missed["gain"] / runs <= allowed
    assert missed["peeked"] / runs > 2 * allowed


def test_anytime_intervals_narrow_as_decisions_come_in_and_end_close_to_a_normal_interval():
    rng = np.random.default_rng(0)
    weights, rewards = np.where(rng.random(40_000) < 0.03, 20.0, 0.4124), rng.random(40_000)
    widths = [np.subtract(*bound_value(weights[:n], rewards[:n], miss=0.05)[::-1]) for n in (100, 1000, 10_000, 40_000)]
    assert widths == sorted(widths, reverse=True)
    normal = 2 * 1.96 * (weights * rewards).std() / np.sqrt(40_000)
    assert widths[-1] < 2.5 * normal


@examples(0.3)
@given(st.lists(st.floats(0, 50), min_size=1, max_size=60), st.floats(0.01, 0.5))
def test_a_bound_is_never_above_every_mean_so_far_and_less_risk_lowers_it(values, miss):
    column = np.array(values)
    bound = bound_mean(column, miss=miss)
    assert 0 <= bound <= (np.cumsum(column) / np.arange(1, len(column) + 1)).max()
    assert bound_mean(column, miss=miss / 10) <= bound + 1e-9


def test_bounds_of_what_is_impossible_stay_in_range():
    weights = np.full(2000, 3.0)  # weights that do not average 1: what they claim cannot be
    low, high = bound_value(weights, np.full(2000, 0.9), miss=0.05)
    assert low <= high
    assert np.isfinite([low, high]).all()
