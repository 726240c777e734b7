"""Rank correlation in batches: what SciPy gives, exact or from a sample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.ledger.summary.ranks import Reservoir, compute_ranks, correlate_ranks

stats = pytest.importorskip("scipy.stats", reason="needs scipy")
few = st.lists(st.sampled_from([-2.0, -0.5, -0.0, 0.0, 1.0, 1e300]), min_size=0, max_size=30)


@given(few)
def test_ranks_are_those_of_scipy(numbers):
    column = np.array(numbers, float)
    assert compute_ranks(column).tolist() == stats.rankdata(column).tolist()


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=40))
def test_the_correlation_is_that_of_scipy(pairs):
    left, right = np.array(pairs, float).T
    ours = correlate_ranks(left, right)
    if len(set(left)) == 1 or len(set(right)) == 1:
        assert ours is None
    else:
        assert ours == pytest.approx(stats.spearmanr(left, right).statistic, abs=1e-12)


def test_a_reservoir_keeps_everything_up_to_its_size():
    reservoir = Reservoir(100)
    for start in range(0, 100, 7):
        numbers = np.arange(start, min(start + 7, 100), dtype=float)
        reservoir.add(numbers, -numbers)
    assert reservoir.pairs.tolist() == [list(range(100)), [-number for number in range(100)]]


@pytest.mark.parametrize("step", [1, 13, 5_000])
def test_the_sample_does_not_depend_on_the_batches(step):
    numbers = np.random.default_rng(1).normal(size=5_000)
    whole, cut = Reservoir(50, seed=3), Reservoir(50, seed=3)
    whole.add(numbers, numbers)
    for start in range(0, 5_000, step):
        cut.add(numbers[start : start + step], numbers[start : start + step])
    assert np.array_equal(whole.pairs, cut.pairs)


def test_every_pair_has_the_same_chance():
    counts = np.zeros(40)
    for seed in range(3_000):
        reservoir = Reservoir(10, seed=seed)
        reservoir.add(np.arange(40.0), np.arange(40.0))
        counts[reservoir.pairs[0].astype(int)] += 1
    assert counts.sum() == 30_000
    assert np.abs(counts - 750).max() < 5 * np.sqrt(750)
