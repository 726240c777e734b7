"""The numba target alone: every core, and the very bits of Python."""

import math

import numpy as np
import pytest

from plaudit import Field, Reward, term
from support.running import need

need("numba")

TABLE = (0.1, 0.2, 0.7)


@term(weight=-0.3, low=-2.0)
def mixed(x, y, level):
    z = math.sqrt(abs(x)) / (y * y + 0.1)
    return max(z, TABLE[level]) if x < y else min(-z, x * 0.3) - round(y) * 0.1


@term(weight=1.7)
def wraps(x, y):
    return x % 0.7 + y // 0.3 + math.floor(x) - math.ceil(y)


REWARD = Reward(
    "mixed", version="1", terms=[mixed, wraps], fields=[Field("x"), Field("y"), Field("level", values=(0, 1, 2))]
)


def batch(size):
    random = np.random.default_rng(7)
    return {"x": random.normal(0, 3, size), "y": random.normal(0, 3, size), "level": random.integers(0, 3, size)}


def test_on_every_core_and_on_one_the_bits_are_those_of_numpy():
    columns = batch(20_000)
    wanted = REWARD.compile("numpy")(columns)
    for parallel in (True, False):
        found = REWARD.compile("numba", parallel=parallel)(columns)
        np.testing.assert_array_equal(found.total, wanted.total)
        np.testing.assert_array_equal(found.scores["wraps"], wanted.scores["wraps"])


def test_the_bits_are_those_of_python():
    columns = batch(50)
    found = REWARD.compile("numba", parallel=False)(columns)
    compiled = REWARD.compile("python")
    assert found.total.tolist() == [
        compiled({name: column[i] for name, column in columns.items()}).total for i in range(50)
    ]


def test_scores_of_an_earlier_call_are_written_over():
    compiled = REWARD.compile("numba", parallel=False, on_bad="mask")
    columns = batch(4)
    out = compiled(columns)
    columns["x"][1] = np.nan
    found = compiled(columns, out=out)
    assert np.shares_memory(found.total, out.total)
    assert out.ok.tolist() == [True, False, True, True]
    assert np.isnan(out.total[1])
    with pytest.raises(ValueError, match="shape"):
        compiled(batch(5), out=out)


def test_rounding_does_not_overflow_where_whole_numbers_of_64_bits_would():
    @term
    def rounds(x):
        return round(x) + math.floor(x) + math.ceil(x)

    reward = Reward("rounds", version="1", terms=[rounds], fields=[Field("x")])
    assert reward.compile("numba", parallel=False)({"x": np.array([1e300, 2.5])}).total.tolist() == [3e300, 7.0]
