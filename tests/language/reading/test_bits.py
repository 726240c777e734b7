"""Bits of integers: the reward is what Python and NumPy compute, for negative integers too."""

import numpy as np
import pytest

from plaudit import Field, ReadError
from support.running import SCORING, installed, scored
from support.written import plain, reward_of

WHOLE = Field("k", values=tuple(range(-9, 40)))
READ = [
    "k >> 1",
    "(k >> 2) & 1",
    "k << 3",
    "k & 1",
    "k & 7",
    "k & 12",
    "12 & k",
    "k + (k & 0)",
    "k | 5",
    "k ^ 9",
    "~k",
    "~(k >> 1) & 3",
    "(k & 6 | 1) ^ 2",
    "(k > 3) << 2",
    "(k > 3) & 1 | 8",
    "1.0 if k & 4 else -1.0",
    "1 << 3 | k & (1 << 2)",
    "sum((k >> b) & 1 for b in range(6))",
    "~6 + k",
]


@pytest.mark.parametrize("text", READ)
def test_the_bits_of_an_integer_are_those_of_python(text):
    function = plain(f"def f(k):\n    return {text}\n")
    reward = reward_of(function, WHOLE)
    for k in WHOLE.values:
        assert reward.score(k=k).total == float(function(k))


@pytest.mark.parametrize("target", SCORING)
def test_every_target_has_the_same_bits(target):
    if not installed(target):
        pytest.skip(f"needs {target}")
    function = plain("def f(k):\n    return (k >> 2) + 16 * (k & 5) + 128 * (k | 6) + 8192 * (k ^ 3)\n")
    column = np.array(WHOLE.values)
    found = scored(reward_of(function, WHOLE), target, {"k": column})
    np.testing.assert_array_equal(found.total, [float(function(int(k))) for k in column])


def test_the_bits_of_arrays_are_those_of_numpy():
    text = (
        "def f(k):\n    return ((k >> 1) & 3).sum() + (~k).max() + (k | np.array([1, 2, 4])).sum() + (2 * (k ^ 1))[0]\n"
    )
    function = plain(f"import numpy as np\n{text}")
    reward = reward_of(function, Field("k", length=3, values=WHOLE.values))
    for row in ([-9, 0, 5], [3, 39, -1], [7, 7, 8]):
        assert reward.score(k=row).total == float(function(np.array(row)))


def test_int_makes_an_integer():
    function = plain("def f(x): return (int(x) & 3) + (int(x) >> 1) - ~int(x)")
    reward = reward_of(function)
    for x in (-3.5, -1.0, -0.5, 0.0, 0.5, 7.9):
        assert reward.score(x=x).total == float(function(x))


REFUSED = {
    "two integers": ("k & j", "two numbers that depend on data"),
    "a shift by data": ("1 << k", "two numbers that depend on data"),
    "a shift back": ("k >> -1", "bits from 0 to 32"),
    "a long shift": ("k << 99", "bits from 0 to 32"),
    "a negative mask": ("k & -2", "bits from 0 to 32"),
    "a float": ("k & 1.0", "bit operations cannot be read, unless on an integer"),
    "another number": ("x & 1", "bit operations cannot be read, unless on an integer"),
    "a fraction": ("(k / 2) >> 1", "bit operations cannot be read, unless on an integer"),
    "~ of another number": ("~x", "works on bits"),
    "~ of a bool": ("~(k > 0)", "works on bits"),
}


@pytest.mark.parametrize(("text", "what"), REFUSED.values(), ids=REFUSED)
def test_bits_that_cannot_be_read_are_refused(text, what):
    with pytest.raises(ReadError) as caught:
        reward_of(plain(f"def f(k, j, x): return ({text}) + k + j + x"), WHOLE, Field("j", values=(0, 1)))
    assert what in str(caught.value)
