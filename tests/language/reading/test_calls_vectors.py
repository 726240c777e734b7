"""Short vectors: reductions over them are written out from left to right."""

import math
from itertools import product

import pytest

from plaudit import DefinitionError, Field, ReadError, term
from support.written import agree, plain, reward_from, reward_of

V = Field("v", length=3)
W = Field("w", length=3)
ROWS = [
    {"v": v, "w": w}
    for v, w in product([(1.0, 2.0, 3.0), (-1.5, 0.0, 4.0), (2.0, 2.0, 2.0)], [(1, 0, 2), (5, -1, 0.5)])
]


@pytest.mark.parametrize(
    "text",
    [
        "sum(v)",
        "min(v)",
        "max(v)",
        "any(v)",
        "all(v)",
        "len(v)",
        "v[0] - v[1] * v[2] + v[-1]",
        "sum(x * x for x in v)",
        "min(abs(x) for x in v)",
        "max(-x for x in v)",
        "any(x > 3 for x in v)",
        "all(x > 0 for x in v)",
        "sum(x > 0 for x in v)",
        "sum(x if x > 0 else -2 * x for x in v)",
        "math.sqrt(sum((a - b) ** 2 for a, b in zip(v, w)))",
        "sum(a * b for a, b in zip(v, w, strict=True))",
        "max(a * k for a, k in zip(v, (1.0, -2.0, 0.5)))",
        "any(a == b for a, b in zip(v, w))",
        "sum(v) / len(v)",
        "sum(norm(x) for x in v)",
        "total(v) - total(w)",
        "min(v[0], w[0], 1)",
        "max(sum(v), sum(w))",
        "sum(x * max(w) for x in v)",
        "sum(x for x in (v[0], w[1], 3))",
        "sum(x * y * z for x in v if x > 0 for y in w for z in v)",
    ],
)
def test_a_reduction_means_what_python_means(text):
    helpers = "def norm(x): return x * x + 1\ndef total(u): return sum(abs(x) for x in u)\n"
    agree(f"{helpers}def f(v, w): return {text} + 0 * v[0] * w[0] * v[1] * v[2] * w[1] * w[2]", V, W, rows=ROWS)


def test_a_sum_is_written_out_from_left_to_right():
    reward = reward_from("def f(v): return sum(v)", Field("v", length=10))
    expected = 0.0
    for _ in range(10):
        expected += 0.1
    assert reward.score(v=[0.1] * 10).total == expected != math.fsum([0.1] * 10)


COMPENSATED = "calling.reduction: a sum of constants is Python's own, which compensates from 3.12 on"


def test_a_sum_of_constants_is_written_out_from_left_to_right_too():
    assert reward_from(f"def f(x): return x + sum(({'0.1, ' * 10}))").score(x=0).total == 0.9999999999999999


@pytest.mark.parametrize(
    "text", ["return sum(v if x > 0 else w)", "u = v\n    if x > 0:\n        u = w\n    return sum(u)"]
)
def test_a_vector_may_be_chosen(text):
    rows = [{"v": (1, 2, 3), "w": (4, 5, 6), "x": x} for x in (-1, 1)]
    agree(f"def f(v, w, x):\n    {text}\n", V, W, rows=rows)


@pytest.mark.parametrize("length", [1, 64, pytest.param(4096, marks=pytest.mark.slow)])
def test_a_vector_has_from_1_to_4096_entries(length):
    reward = reward_from("def f(v): return sum(v) + len(v)", Field("v", length=length))
    assert reward.score(v=[2.0] * length).total == 3.0 * length
    assert reward.inputs == tuple(f"v[{i}]" for i in range(length))


def test_the_longest_vector_is_declared():
    assert len(Field("v", length=4096).entries) == 4096


@pytest.mark.parametrize("length", [0, 4097, -1, 2.0, True, "3"])
def test_a_vector_of_another_length_is_refused(length):
    with pytest.raises(DefinitionError, match="must be an integer from 1 to 4,096"):
        Field("v", length=length)


def test_flags_and_categories_may_stand_in_a_vector():
    lit = reward_from("def f(lit): return sum(lit) + 10 * any(lit)", Field("lit", flag=True, length=2))
    assert [lit.score(lit=v).total for v in ((True, True), (False, False))] == [12.0, 0.0]
    mood = reward_from("def f(m): return sum(x == 'calm' for x in m)", Field("m", values=("calm", "wild"), length=3))
    assert mood.score(m=("calm", "wild", "calm")).total == 2.0


def test_each_entry_is_clipped():
    reward = reward_from("def f(v): return sum(v)", Field("v", length=3, low=0, high=1, outside="clip"))
    assert reward.score(v=(-5, 0.5, 9)).total == 1.5


def test_a_vector_before_and_after_the_step():
    text = "def f(prev, curr): return sum(abs(a - b) for a, b in zip(prev.v, curr.v))"
    reward = reward_from(text, Field("v", length=2))
    assert reward.score(prev={"v": (1, 2)}, curr={"v": (3, 5)}).total == 5.0
    assert reward.inputs == ("prev.v[0]", "curr.v[0]", "prev.v[1]", "curr.v[1]")


@pytest.mark.parametrize("text", ["v[1] - 3 * w[0]", "w[2] * v[0] - v[2] * w[0]", "v[2] + 10 * v[1] + 100 * w[1]"])
def test_entries_may_be_read_in_any_order(text):
    agree(f"def f(v, w): return {text}", V, W, rows=ROWS)


REFUSED = {
    "a nested generator": ("sum(sum(y for y in x) for x in v)", "is not a vector", "length=12"),
    "lengths that differ": ("sum(a * b for a, b in zip(v, long))", "differ in length: 3 and 4", ""),
    "a length that differs from a table": ("sum(a * b for a, b in zip(v, (1, 2)))", "differ in length: 3 and 2", ""),
    "a sum of a number": ("sum(x)", "a number is not a vector", "length=12"),
    "the length of a number": ("len(x)", "a number is not a vector", "length=12"),
    "a vector as a number": ("v + 1", "a vector of 3", ""),
    "a vector compared": ("v > w", "a vector of 3", ""),
    "a vector returned": ("v", "a vector of 3", ""),
    "a vector as a condition": ("1 if v else 2", "a vector of 3", ""),
    "an index beyond": ("v[3]", "3 is not an index into 3 entries", ""),
    "a loop over three": ("sum(a for a, b, c in zip(v, w))", "the left side takes 3", ""),
}


@pytest.mark.parametrize(("text", "what", "advice"), REFUSED.values(), ids=REFUSED)
def test_what_vectors_do_not_have_is_refused(text, what, advice):
    fields = [f for f in (V, W, Field("long", length=4), Field("x")) if f.name in text]
    parameters = ", ".join(f.name for f in fields)
    with pytest.raises(ReadError) as caught:
        reward_from(f"def f({parameters}): return {text}", *fields)
    assert what in str(caught.value)
    assert advice in str(caught.value)
    assert "^" in str(caught.value)


@pytest.mark.parametrize("text", ["sum(v) * (1 / (len(v) - 1))", "v[0] * (10, 20, 30)[len(v) - 5] + v[1] + v[2]"])
def test_the_length_of_a_vector_is_a_constant_of_its_field(text):
    function = plain(f"def f(v): return {text}")
    made = term(function)
    assert made.reads == ("v",)
    reward = reward_of(function, V)
    assert reward.score(v=(1.0, 2.0, 4.0)).total == function((1.0, 2.0, 4.0))
