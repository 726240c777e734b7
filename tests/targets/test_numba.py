"""The numba target alone: every core, and the very bits of Python."""

import math
import multiprocessing
from itertools import product

import numpy as np
import pytest

from plaudit import Field, Reward, term
from support.running import need

numba = need("numba")

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


@term
def halves(x):
    return x / 2


HALVES = Reward("halves", version="1", terms=[halves], fields=[Field("x")])
"""Compiled in half the time: for what does not depend on the reward."""


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


def test_a_single_value_runs_the_loop_that_was_compiled_for_columns():
    compiled = REWARD.compile("numba", parallel=False)
    columns = batch(4)
    compiled(columns)
    compiled({**columns, "x": 1.0})
    compiled({name: column[0] for name, column in columns.items()})
    assert len(compiled._default.run.signatures) == 1


def test_rounding_does_not_overflow_where_whole_numbers_of_64_bits_would():
    @term
    def rounds(x):
        return round(x) + math.floor(x) + math.ceil(x)

    reward = Reward("rounds", version="1", terms=[rounds], fields=[Field("x")])
    assert reward.compile("numba", parallel=False)({"x": np.array([1e300, 2.5])}).total.tolist() == [3e300, 7.0]


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """Return the folder where compiled code is kept."""
    monkeypatch.setenv("PLAUDIT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")  # where NUMBA_CACHE_DIR says, Numba keeps it there
    return tmp_path / "numba"


def score_kept(cache_hits, **options):
    """Return the totals of a batch, by code that was or was not compiled before."""
    compiled = HALVES.compile("numba", parallel=False, **options)
    totals = compiled({"x": np.arange(5.0)}).total.tolist()
    assert sum(compiled._default[1].stats.cache_hits.values()) == cache_hits
    return totals


def test_what_was_compiled_once_is_read_from_the_cache(cache):
    assert score_kept(0) == score_kept(1) == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert len(list(cache.glob("*.py"))) == 1


def test_another_table_is_other_code(cache):
    first, second = (lookup(table) for table in ((0.0, 1.0, 2.0), (0.0, 1.0, 4.0)))
    rows = {"level": np.array([2])}
    assert [each.compile("numba")(rows).total.tolist() for each in (first, second)] == [[2.0], [4.0]]
    assert len(list(cache.glob("*.py"))) == 2


def lookup(table):
    @term
    def value(level):
        return table[level]

    return Reward("lookup", version="1", terms=[value], fields=[Field("level", values=(0, 1, 2))])


def test_damaged_code_is_compiled_again(cache):
    wanted = score_kept(0)
    for kind, damage in product(("nbi", "nbc"), (b"", b"\x80\x05nonsense")):
        damaged = list(cache.rglob(f"*.{kind}"))
        assert damaged, kind
        for path in damaged:
            path.write_bytes(damage)
        assert score_kept(0) == wanted, (kind, damage)


def test_without_a_cache_nothing_is_written(cache):
    score_kept(0, cache=False)
    assert not cache.exists()


def test_where_others_may_write_code_is_not_kept(cache):
    cache.mkdir(mode=0o777)
    cache.chmod(0o777)
    score_kept(0)
    assert not list(cache.iterdir())


def test_a_forked_process_has_threads_of_its_own():
    compiled = HALVES.compile("numba", cache=False)
    columns = {"x": np.arange(50_000.0)}
    wanted = compiled(columns).total
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=lambda: queue.put(compiled(columns).total.tolist()))
    process.start()
    assert queue.get(timeout=300) == wanted.tolist()
    process.join()
