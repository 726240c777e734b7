"""Random numbers that belong to a key."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.learn.draws import draw_normals, draw_uniform


@given(key=st.integers(-(2**70), 2**70), number=st.integers(0, 2**40), draw=st.integers(0, 100))
def test_a_draw_is_from_0_up_to_1_and_belongs_to_its_key(key, number, draw):
    assert 0 <= draw_uniform(key, number, draw) < 1
    assert draw_uniform(key, number, draw) == draw_uniform(key, number, draw)


@pytest.mark.parametrize(
    "draw", [lambda n: draw_uniform(7, n), lambda n: draw_uniform(n, 0), lambda n: draw_uniform(3, 5, n)]
)
def test_draws_are_uniform_along_every_counter(draw):
    from scipy import stats

    drawn = np.array([draw(n) for n in range(20_000)])
    assert stats.kstest(drawn, "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.03


def test_neighbouring_keys_have_nothing_in_common():
    one, other = (np.array([draw_uniform(key, n) for n in range(5_000)]) for key in (1, 2))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.05


def test_normal_draws_are_normal():
    from scipy import stats

    drawn = np.array([draw_normals(11, n, 3) for n in range(5_000)])
    assert stats.kstest(drawn.reshape(-1), "norm").pvalue > 1e-4
    assert np.abs(np.corrcoef(drawn.T) - np.eye(3)).max() < 0.06
