"""The numpy target alone: chunks, arrays to write over, and no more than it needs to touch."""

import numpy as np
import pytest

from plaudit import Field, Reward, Scores, term
from plaudit.errors import NotFinite


@term(weight=2.0, high=5.0)
def same(x):
    return x


@term
def squared(x):
    return x * x


REWARD = Reward("two", version="1", terms=[same, squared], fields=[Field("x", low=-100, high=100)])


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 100])
def test_the_size_of_a_chunk_makes_no_difference(chunk):
    column = np.linspace(-100, 101, 7)
    whole = REWARD.compile("numpy", on_bad="mask")({"x": column})
    parts = REWARD.compile("numpy", on_bad="mask", chunk=chunk)({"x": column})
    np.testing.assert_array_equal(parts.total, whole.total)
    np.testing.assert_array_equal(parts.ok, whole.ok)
    assert whole.ok.tolist() == [True] * 6 + [False]


def test_a_bad_row_beyond_the_first_chunk_is_numbered_through():
    column = np.zeros(10)
    column[7] = np.nan
    with pytest.raises(NotFinite, match="row 7"):
        REWARD.compile("numpy", chunk=4)({"x": column})


def test_every_number_is_float64_whatever_comes_in():
    for kind in (np.float16, np.float32, np.int8, np.int64):
        found = REWARD.compile("numpy")({"x": np.array([1, 2], kind)})
        assert {array.dtype for array in (found.total, *found.values.values(), *found.scores.values())} == {
            np.dtype(np.float64)
        }


def test_inputs_are_not_written_to():
    column = np.array([1.0, np.nan, 300.0])
    column.flags.writeable = False
    REWARD.compile("numpy", on_bad="mask")({"x": column})
    assert column[0] == 1.0


def test_scores_of_an_earlier_call_are_written_over():
    compiled = REWARD.compile("numpy", on_bad="mask")
    out = compiled({"x": np.array([1.0, 2.0, np.nan])})
    arrays = (out.total, out.ok, *out.values.values(), *out.scores.values())
    again = compiled({"x": np.array([3.0, np.nan, 4.0])}, out=out)
    assert all(a is b or a.base is b or np.shares_memory(a, b) for a, b in zip(arrays, _arrays(again), strict=True))
    np.testing.assert_array_equal(out.total, [15.0, np.nan, 24.0])
    assert out.ok.tolist() == [True, False, True]
    np.testing.assert_array_equal(out.values["same"], [6.0, np.nan, 8.0])


def _arrays(scores: Scores):
    return (scores.total, scores.ok, *scores.values.values(), *scores.scores.values())


def test_scores_of_a_two_dimensional_call_are_written_over():
    compiled = REWARD.compile("numpy")
    out = compiled({"x": np.zeros((2, 3))})
    compiled({"x": np.full((2, 3), 2.0)}, out=out)
    np.testing.assert_array_equal(out.total, np.full((2, 3), 8.0))


@pytest.mark.parametrize("params", [None, {"same.weight": 3.0}])
def test_scores_can_be_written_over_under_other_parameters(params):
    compiled = REWARD.compile("numpy")
    out = compiled({"x": np.zeros(2)})
    found = compiled({"x": np.ones(2)}, params, out=out)
    assert found.total.tolist() == [3.0 if params is None else 4.0] * 2
    assert {name: array.tolist() for name, array in found.values.items()} == {
        "same": [2.0 if params is None else 3.0] * 2,
        "squared": [1.0, 1.0],
    }


def test_arrays_of_another_shape_are_not_written_over():
    compiled = REWARD.compile("numpy")
    out = compiled({"x": np.zeros(2)})
    with pytest.raises(ValueError, match=r"shape \(2,\).*shape \(3,\)"):
        compiled({"x": np.zeros(3)}, out=out)


def test_a_table_with_columns_is_a_batch():
    class Table:
        columns = ("x",)

        def __getitem__(self, name):
            return {"x": [1.0, 2.0]}[name]

    assert REWARD.compile("numpy")(Table()).total.tolist() == [3.0, 8.0]


def test_a_column_that_is_a_view_scores_the_same():
    column = np.arange(10.0)
    compiled = REWARD.compile("numpy")
    np.testing.assert_array_equal(compiled({"x": column[::-2]}).total, compiled({"x": column[::-2].copy()}).total)
