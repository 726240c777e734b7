"""Arrays that are joined, repeated and sorted have the shape and the entries that NumPy gives them."""

import re
from itertools import product

import numpy as np
import pytest

from plaudit import Field, Reward, term
from plaudit.errors import PlauditError, ReadError
from support.strategies import load

SHAPES = [(), (2,), (3,), (1, 2), (2, 2), (2, 3), (2, 1, 2)]
MOST = 3  # axes of a constant array
JOINS = [
    "np.hstack([a, b])",
    "np.vstack([a, b])",
    "np.dstack([a, b])",
    "np.column_stack([a, b])",
    "np.concatenate([a, b])",
    "np.concatenate([a, b], axis=-1)",
    "np.concatenate([a, b], axis=1)",
    "np.stack([a, b])",
    "np.stack([a, b], axis=1)",
    "np.stack([a, b], axis=-1)",
]


ROWS = 5


def try_joining(text, one, other):
    """Return what NumPy joins two arrays to; None where it does not."""
    try:
        return np.asarray(load(f"import numpy as np\ndef f(a, b): return {text}")["f"](one, other))
    except (ValueError, IndexError):
        return None


def make_fields(shapes):
    return [Field(name, shape=shape) if shape else Field(name) for name, shape in zip("ab", shapes, strict=True)]


def weigh(text, shape, end):
    """Return a function that weighs each entry by its place, so that another order or shape gives another number."""
    weights = np.arange(1.0, np.prod(shape) + 1).reshape(shape).tolist()
    return load(f"import numpy as np\nW = np.array({weights})\ndef f(a, b): return ({text} * W){end}")["f"]


@pytest.mark.parametrize("text", JOINS)
def test_arrays_are_joined_as_numpy_joins_them(text):
    random, refused = np.random.default_rng(0), 0
    for shapes in product(SHAPES, SHAPES):
        one, other = (random.normal(size=shape) for shape in shapes)
        joined = try_joining(text, one, other)
        if joined is not None and joined.ndim > MOST:
            continue
        function = weigh(text, () if joined is None else joined.shape, ".sum()")
        if joined is None:
            refused += 1
            with pytest.raises(PlauditError, match="cannot be joined|no axis|there are|differ in shape|only arrays"):
                Reward("r", version="1", terms=[term(function)], fields=make_fields(shapes))
            continue
        reward = Reward("r", version="1", terms=[term(function)], fields=make_fields(shapes))
        assert reward.score(a=one.tolist(), b=other.tolist()).total == pytest.approx(function(one, other)), shapes
    assert 0 < refused < len(SHAPES) ** 2


@pytest.mark.parametrize("text", [text for text in JOINS if text not in ("np.vstack([a, b])", "np.stack([a, b])")])
def test_arrays_of_a_batch_are_joined_as_numpy_joins_them(text):
    random, read = np.random.default_rng(0), 0
    for shapes in product(SHAPES, SHAPES):
        one, other = (random.normal(size=(ROWS, *shape)) for shape in shapes)
        joined = try_joining(text, one, other)
        if joined is None or joined.ndim == 1 or joined.shape[0] != ROWS or joined.ndim > MOST + 1:
            continue  # it joins the rows of the batch
        function = weigh(text, joined.shape[1:], ".reshape(a.shape[0], -1).sum(axis=1)")
        reward = Reward("r", version="1", terms=[term(batched=True)(function)], fields=make_fields(shapes))
        found = reward.compile("numpy")({"a": one, "b": other}).total
        np.testing.assert_allclose(found, function(one, other), err_msg=str(shapes))
        read += 1
    assert read or text == "np.concatenate([a, b])"


@pytest.mark.parametrize("text", ["np.cross(a, b)", "np.cross(b, a, axis=-1)", "np.cross(a, -a) + np.cross(b, a)"])
@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((3,), (2, 3)), ((2, 2, 3), (3,)), ((1, 3), (2, 3))])
def test_a_cross_product_is_taken_of_each_row(text, shapes):
    one, other = (np.random.default_rng(1).normal(size=shape) for shape in shapes)
    function = weigh(text, np.cross(one, other).shape, ".sum()")
    reward = Reward("r", version="1", terms=[term(function)], fields=make_fields(shapes))
    assert reward.score(a=one.tolist(), b=other.tolist()).total == pytest.approx(function(one, other))


def test_a_batch_of_cross_products_is_read():
    function = load("import numpy as np\ndef f(a, b): return np.cross(a, b)[:, 1] - np.cross(b, a)[:, 2]")["f"]
    rows = {name: np.random.default_rng(at).normal(size=(ROWS, 3)) for at, name in enumerate("ab")}
    reward = Reward("r", version="1", terms=[term(batched=True)(function)], fields=make_fields([(3,), (3,)]))
    np.testing.assert_allclose(reward.compile("numpy")(rows).total, function(**rows))


@pytest.mark.parametrize("sort", ["np.sort(v)", "sorted(v)", "np.array(sorted((x for x in v), reverse=True))"])
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_a_few_numbers_are_sorted(size, sort):
    text = f"import numpy as np\ndef f(v): return ({sort} * np.arange(1, {size + 1})).sum()"
    function, random = load(text)["f"], np.random.default_rng(size)
    reward = Reward("r", version="1", terms=[term(function)], fields=[Field("v", length=size)])
    for _ in range(20):
        row = random.integers(-3, 4, size=size).astype(float)
        assert reward.score(v=row.tolist()).total == function(row)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("np.sort(np.concatenate([a, b, a]))[0]", "at most 8 numbers are sorted"),
        ("np.tile(a, 0).sum()", "0 copies of an array"),
        ("np.repeat(a, a)[0]", "constant integer"),
        ("np.concatenate([a, b], axis=None)[1]", "`axis=None` cannot be read here"),
        ("np.cross(a, b)[0]", "a cross product takes vectors of length 2 or 3"),
        ("np.concatenate([a, b[None]])[0]", "cannot be joined along axis 0"),
        ("np.hstack([])", "there is nothing to join"),
        ("torch.sort(a)[1][0] + b[0]", "the positions of sorted numbers cannot be read"),
        ("np.finfo(a.dtype).eps + b[0]", "takes one dtype here"),
    ],
)
def test_what_cannot_be_joined_or_sorted_is_refused(expression, told):
    pytest.importorskip("torch")
    function = load(f"import numpy as np\nimport torch\ndef f(a, b):\n    return {expression}")["f"]
    with pytest.raises(PlauditError, match=re.escape(told)):
        Reward("r", version="1", terms=[term(function)], fields=make_fields([(4,), (4,)]))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("times", [1, 3])
def test_entries_and_rows_are_repeated(axis, times):
    one = np.random.default_rng(2).normal(size=(2, 3))
    text = f"np.repeat(a, {times}{'' if axis is None else f', axis={axis}'})"
    function = weigh(f"np.tile({text}, (2, 1, 2))", np.tile(np.repeat(one, times, axis), (2, 1, 2)).shape, ".sum() + b")
    reward = Reward("r", version="1", terms=[term(function)], fields=make_fields([(2, 3), ()]))
    assert reward.score(a=one.tolist(), b=1.0).total == pytest.approx(function(one, 1.0))


@pytest.mark.parametrize(
    "value",
    [
        "np.sum(np.linalg.norm([[]], axis=-1))",
        "np.sum(np.linalg.norm([[]], axis=0))",
        "np.sum(np.array([[], []]), axis=1)[1]",
        "np.array([[], []]).shape[0] + 10 * np.array([[], []]).size",
        "np.sum(np.array([[]]) ** 2 + np.zeros((2, 0)))",
        "np.sum(np.zeros((2, 3, 0)), axis=2)[1][2]",
        "np.sum(np.array([[]]).reshape(-1))",
    ],
)
def test_an_array_without_entries_adds_nothing(value):
    function = load(f"import numpy as np\ndef f(v): return v + {value}")["f"]
    assert Reward("r", version="1", terms=[term(function)], fields=[Field("v")]).score(v=1.0).total == function(1.0)


@pytest.mark.parametrize("value", ["np.zeros((0, 3))", "np.array([[]]).T", "EMPTY", "np.array([[]]).max()"])
def test_an_array_without_rows_is_one_clear_error(value):
    function = load(f"import numpy as np\nEMPTY = np.zeros((0, 2))\ndef f(v): return v + np.sum({value})")["f"]
    with pytest.raises(ReadError, match="has no rows|is empty"):
        term(function)
