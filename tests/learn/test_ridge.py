"""Ridge regressions learnt a row at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.learn import ridge

rows = st.lists(
    st.tuples(st.integers(0, 1), st.tuples(*[st.floats(-3, 3)] * 3), st.floats(-1, 1)), min_size=1, max_size=30
)


@given(rows=rows, strength=st.sampled_from([0.01, 1.0, 10.0]))
def test_learning_row_by_row_gives_the_ridge_regression_of_all_rows(rows, strength):
    state = ridge.init(2, 3, strength)
    for model, x, reward in rows:
        assert ridge.learn(state.table, model, np.array(x), reward)
    for model in (0, 1):
        x = np.array([x for at, x, _ in rows if at == model]).reshape(-1, 3)
        y = np.array([reward for at, _, reward in rows if at == model])
        expected = np.linalg.solve(x.T @ x + strength * np.eye(3), x.T @ y)
        np.testing.assert_allclose(state.weights[model], expected, atol=1e-7)
        assert state.pulls[model] == len(y)


def test_the_inverse_stays_one_over_many_rows():
    rng = np.random.default_rng(0)
    state, moments = ridge.init(1, 8, 1e-2), np.eye(8) * 1e-2
    for x in rng.normal(size=(20_000, 8)):
        ridge.learn(state.table, 0, x, 0.5)
        moments += np.outer(x, x)
    assert np.abs(state.inverse[0] @ moments - np.eye(8)).max() < 1e-7


@pytest.mark.parametrize("strength", [0.01, 1.0])
def test_within_the_limit_nothing_is_lost_to_rounding(strength):
    rng = np.random.default_rng(1)
    longest = 0.5 * np.sqrt(ridge.find_limit(strength))
    x = rng.uniform(0.9, 1.1, size=(500, 4)) * longest / 2
    y = x[:, 0] / longest
    state = ridge.init(1, 4, strength)
    for row, reward in zip(x, y, strict=True):
        assert ridge.learn(state.table, 0, row, reward)
    expected = np.linalg.solve(x.T @ x + strength * np.eye(4), x.T @ y)
    np.testing.assert_allclose(state.weights[0] * longest, expected * longest, atol=1e-3)


def test_a_length_is_no_number_where_a_feature_is_none():
    assert ridge.sum_of_squares(np.array([1e200, 1.0])) == np.inf
    assert np.isnan(ridge.sum_of_squares(np.array([np.nan, 1.0])))
