"""`guard="plain"`: nothing is tested, raised or masked, and inf and NaN pass through as in code by hand."""

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.errors import TargetError
from support.running import given, need, wide

SIZES = (1.0, 2.0, 4.0)
LIBRARIES = ["numpy", "jax", "torch"]


@term
def inverse(x):
    return 1 / x


@term
def root(y):
    return np.sqrt(y) if y < 5 else np.log(y)


@term(weight=0.5)
def size(kind):
    return SIZES[kind]


REWARD = Reward(
    "plain", version="1", terms=[inverse, root, size], fields=[Field("x", low=0), Field("y"), Field("kind", low=0)]
)
X = [0.0, 2.0, -4.0, np.nan, np.inf, 0.0]
Y = [1.0, -1.0, 9.0, 4.0, 0.0, np.nan]
KIND = [0.0, 1.0, 2.0, 2.0, 9.0, 1.0]


def by_hand():
    x, y = np.array(X), np.array(Y)
    with np.errstate(all="ignore"):
        return {"inverse": 1 / x, "root": np.where(y < 5, np.sqrt(y), np.log(y))}


@pytest.mark.parametrize("target", LIBRARIES)
def test_what_is_not_finite_passes_through(target):
    need(target)
    with wide(target):
        found = REWARD.compile(target, guard="plain")(given(target, {"x": X, "y": Y, "kind": KIND}))
    wanted = by_hand()
    for name, column in wanted.items():
        np.testing.assert_allclose(np.asarray(found.scores[name]), column, rtol=1e-12)
    total = wanted["inverse"] + wanted["root"] + np.asarray(found.values["size"])
    np.testing.assert_allclose(np.asarray(found.total), total, rtol=1e-12)
    np.testing.assert_array_equal(np.asarray(found.ok), np.isfinite(total))
    assert np.asarray(found.scores["size"])[:4].tolist() == [1.0, 2.0, 4.0, 4.0]  # of a place that is not there, any


@term
def least(x, y):
    return np.minimum(1.0, x) + np.maximum(y, x) + np.clip(y, 0.0, 1.0)


@term
def largest(v):
    return v.max() - v.min() + max(v[0], v[1], 0.0)


@pytest.mark.parametrize("target", LIBRARIES)
def test_a_nan_is_the_smallest_and_the_largest_of_some_numbers(target):
    need(target)
    reward = Reward("ends", version="1", terms=[least, largest], fields=[Field("x"), Field("y"), Field("v", length=3)])
    x, y = np.array([np.nan, 2.0, 0.5, 3.0]), np.array([0.0, np.nan, 0.5, 0.25])
    v = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, np.nan], [np.nan, 1.0, 2.0], [1.0, np.nan, 2.0]])
    with wide(target):
        found = reward.compile(target, guard="plain")(given(target, {"x": x, "y": y, "v": v}))
    np.testing.assert_array_equal(np.asarray(found.scores["least"]), least(x, y))
    np.testing.assert_array_equal(np.asarray(found.scores["largest"]), [4.0, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("target", LIBRARIES)
def test_rows_that_count_score_as_they_do_with_guards(target):
    need(target)
    columns = {"x": [1.0, 3.0], "y": [2.0, 7.0], "kind": [0.0, 2.0]}
    with wide(target):
        arrays = given(target, columns)
        plain, guarded = (REWARD.compile(target, guard=guard)(arrays) for guard in ("plain", True))
    np.testing.assert_array_equal(np.asarray(plain.total), np.asarray(guarded.total))
    assert np.asarray(plain.ok).all()


@pytest.mark.parametrize("target", ["python", "numba", "polars", "sql", "c", "javascript"])
def test_other_targets_refuse_it(target):
    with pytest.raises(TargetError, match="guard='plain' is for the targets numpy, jax, torch, and not"):
        REWARD.compile(target, guard="plain")
