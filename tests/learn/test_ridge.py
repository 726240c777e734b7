"""Ridge regressions learnt a row at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.errors import OutOfRange
from plaudit.learn import ridge

rows = st.lists(
    st.tuples(st.integers(0, 1), st.tuples(*[st.floats(-3, 3)] * 3), st.floats(-1, 1)), min_size=1, max_size=30
)


@given(rows=rows, strength=st.sampled_from([0.01, 1.0, 10.0]))
def test_learning_row_by_row_gives_the_ridge_regression_of_all_rows(rows, strength):
    state = ridge.init(2, 3, strength)
    for model, x, reward in rows:
        state = ridge.update(state, model, np.array(x), reward)
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
        state = ridge.update(state, 0, x, 0.5)
        moments += np.outer(x, x)
    assert np.abs(state.inverse[0] @ moments - np.eye(8)).max() < 1e-7


@pytest.mark.parametrize(
    ("x", "reward"), [([1e9, 0.0], 0.0), ([1.0, np.nan], 0.0), ([1.0, np.inf], 0.0), ([1.0, 1.0], 1e308)]
)
def test_a_row_that_doubles_cannot_hold_is_refused_and_changes_nothing(x, reward):
    state = ridge.update(ridge.init(1, 2, 1e-2), 0, np.array([0.5, 0.5]), 1.0)
    before = state.table.copy()
    with np.errstate(all="ignore"), pytest.raises(OutOfRange, match="Nothing was learnt"):
        ridge.update(ridge.update(state, 0, np.array(x), reward), 0, np.array(x), reward)
    np.testing.assert_array_equal(state.table, before)


def test_a_further_reward_of_a_decision_is_learnt_and_not_counted():
    state = ridge.update(ridge.init(1, 1, 1.0), 0, np.array([1.0]), 1.0)
    more = ridge.update(state, 0, np.array([1.0]), 1.0, again=True)
    assert (more.pulls, more.decisions, state.decisions) == ((2,), 1, 1)
