"""Confidence sequences hold at every moment at once, and intervals that were made for one look do not."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plaudit.learn.off_policy.sequences import gain_bounds, lower_bound, value_bounds
from plaudit.learn.quantiles import two_sided

LARGE, RUNS, LENGTH, MISS = 20.0, 400, 600, 0.1


@pytest.mark.parametrize("chance", [0.05, 0.3, 0.7, 0.95])
@pytest.mark.parametrize("large", [1.0, 8.0])
def test_over_every_possible_sequence_the_bound_is_wrong_as_seldom_as_it_says(chance, large):
    length, miss = 9, 0.2
    wrong = 0.0
    for values in product((0.0, large), repeat=length):
        ones = sum(value > 0 for value in values)
        if lower_bound(np.array(values), miss=miss) > chance * large:
            wrong += chance**ones * (1 - chance) ** (length - ones)
    assert wrong <= miss


def heavy(rng):
    """Return weights with the mean 1, most of them small and some large, and rewards within [0, 1]."""
    chance = 0.6 / (LARGE - 0.4)
    weights = np.where(rng.random(LENGTH) < chance, LARGE, 0.4)
    return weights, (rng.random(LENGTH) < 0.4).astype(float)


def peeked(weights, rewards):
    """Return the last bounds that a normal interval ever gave, looked at every tenth decision from the thirtieth on."""
    values = weights * rewards
    counts = np.arange(1, LENGTH + 1)
    means = np.cumsum(values) / counts
    spread = np.sqrt(np.maximum(np.cumsum(values**2) / counts - means**2, 0) / counts)
    looks = slice(29, None, 10)
    reach = two_sided(1 - MISS, 10**6) * spread[looks]
    return (means[looks] - reach).max(), (means[looks] + reach).min()


def test_they_cover_at_every_moment_where_looking_again_and_again_at_a_normal_interval_does_not():
    missed = {"anytime": 0, "gain": 0, "peeked": 0}
    for seed in range(RUNS):
        weights, rewards = heavy(np.random.default_rng(seed))
        bounds = {
            "anytime": value_bounds(weights, rewards, miss=MISS),
            "peeked": peeked(weights, rewards),
            "gain": np.array(gain_bounds(weights, rewards, miss=MISS)) + 0.4,
        }
        for name, (low, high) in bounds.items():
            missed[name] += not low <= 0.4 <= high
    allowed = MISS + 3 * np.sqrt(MISS * (1 - MISS) / RUNS)
    assert missed["anytime"] / RUNS <= allowed
    assert missed["gain"] / RUNS <= allowed
    assert missed["peeked"] / RUNS > 2 * allowed


def test_they_narrow_as_decisions_come_in_and_end_close_to_a_normal_interval():
    rng = np.random.default_rng(0)
    weights, rewards = np.where(rng.random(40_000) < 0.03, 20.0, 0.4124), rng.random(40_000)
    widths = [
        np.subtract(*value_bounds(weights[:n], rewards[:n], miss=0.05)[::-1]) for n in (100, 1000, 10_000, 40_000)
    ]
    assert widths == sorted(widths, reverse=True)
    normal = 2 * 1.96 * (weights * rewards).std() / np.sqrt(40_000)
    assert widths[-1] < 2.5 * normal


@settings(max_examples=30)
@given(st.lists(st.floats(0, 50), min_size=1, max_size=60), st.floats(0.01, 0.5))
def test_a_bound_is_never_above_every_mean_so_far_and_less_risk_lowers_it(values, miss):
    column = np.array(values)
    bound = lower_bound(column, miss=miss)
    assert 0 <= bound <= (np.cumsum(column) / np.arange(1, len(column) + 1)).max()
    assert lower_bound(column, miss=miss / 10) <= bound + 1e-9


def test_bounds_of_what_is_impossible_stay_in_range():
    weights = np.full(2000, 3.0)  # weights that do not average 1: what they claim cannot be
    low, high = value_bounds(weights, np.full(2000, 0.9), miss=0.05)
    assert low <= high
    assert np.isfinite([low, high]).all()
