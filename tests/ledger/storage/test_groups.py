"""Sums by group are those of `math.fsum`, in whatever order the rows are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.ledger.storage.groups import Groups, add_up

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.lists(st.tuples(st.integers(0, 3), FLOATS | st.floats(-1, 1)), min_size=1)


def split(codes, numbers):
    return {code: numbers[codes == code].tolist() for code in np.unique(codes)}


@given(rows=ROWS, seed=st.integers(0, 99))
def test_sums_do_not_depend_on_the_order_and_are_close_to_the_exact_ones(rows, seed):
    codes, numbers = np.array([code for code, _ in rows]), np.array([number for _, number in rows])
    groups = Groups(codes)
    (sums,) = groups.add_up([numbers])
    order = np.random.default_rng(seed).permutation(len(rows))
    other = Groups(codes[order])
    assert sorted(zip(other.codes, other.add_up([numbers[order]])[0], strict=True)) == sorted(
        zip(groups.codes, sums, strict=True)
    )
    for code, found in zip(groups.codes.tolist(), sums.tolist(), strict=True):
        group = split(codes, numbers)[code]
        wanted = add_up(group)
        largest = max(map(abs, group))
        assert found == wanted or abs(found - wanted) <= max(math.ulp(wanted), largest * 2.0**-80)


@pytest.mark.parametrize("size", [1, 2, 254, 255, 4000, 70_000])
@pytest.mark.parametrize("factor", [1, 10**9])
@pytest.mark.parametrize("together", [False, True])
def test_columns_are_added_up_as_by_fsum(size, factor, together):
    chance = np.random.default_rng(size)
    codes = chance.integers(-5, 5, size) * factor
    if together:
        codes = np.sort(codes)[::-1]
    columns = [chance.normal(size=size), np.exp(-(chance.normal(size=size) ** 2) * 30), np.zeros(size)]
    groups = Groups(codes)
    sums = groups.add_up(columns)
    for at, column in enumerate(columns):
        wanted = {code: math.fsum(group) for code, group in split(codes, column).items()}
        assert dict(zip(groups.codes.tolist(), sums[at].tolist(), strict=True)) == wanted
    assert groups.codes[groups.numbers].tolist() == codes.tolist()


@pytest.mark.parametrize(
    ("numbers", "wanted"),
    [
        ([1e308, 1e308, -1e308], 1e308),
        ([1e308] * 3, math.inf),
        ([math.inf, 1.0], math.inf),
        ([-math.inf, math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([5e-324, 5e-324], 1e-323),
        ([1.0, 1e-300, -1.0], 1e-300),
        ([-0.0], 0.0),
    ],
)
def test_extreme_numbers_are_added_up_too(numbers, wanted):
    sums = Groups(np.zeros(len(numbers), np.int64)).add_up([np.array(numbers), np.ones(len(numbers))])
    assert sums[0].tobytes() == np.array([wanted]).tobytes() or (wanted == 1e-300 and sums[0, 0] in (0.0, 1e-300))
    assert sums[1].tolist() == [len(numbers)]
    assert math.isnan(add_up(numbers)) if math.isnan(wanted) else add_up(numbers) == wanted


def test_what_is_masked_adds_nothing_and_rows_can_be_left_out():
    codes, masked = np.array([3, 1, 3, 1, 7]), np.array([False, True, False, False, False])
    groups = Groups(codes, np.array([0, 1, 2, 3]))
    numbers = np.array([1.0, math.nan, 2.0, 4.0, 8.0])
    assert (groups.codes.tolist(), groups.add_up([numbers], masked).tolist()) == ([1, 3], [[4.0, 3.0]])
    assert (groups.firsts.tolist(), groups.lasts.tolist(), groups.sizes.tolist()) == ([1, 0], [3, 2], [2, 2])
    none = Groups(codes, np.array([], np.int64))
    assert none.add_up([numbers, numbers]).shape == (2, 0)


def test_a_group_of_which_everything_is_masked_has_no_sum():
    codes, masked = np.array([3, 1, 3, 1]), np.array([False, True, True, True])
    groups = Groups(codes)
    sums = groups.add_up([np.ones(4), np.arange(4.0)], masked)
    np.testing.assert_equal(
        dict(zip(groups.codes.tolist(), sums.T.tolist(), strict=True)), {1: [math.nan] * 2, 3: [1, 0]}
    )
