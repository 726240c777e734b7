"""Shapes: which are allowed, what entries are called, and nested lists of them."""

from dataclasses import replace

import numpy as np
import pytest

from plaudit import DefinitionError, Field
from plaudit.errors import ShapeMismatch
from plaudit.language.shapes import MOST_ENTRIES, flatten_entries, infer_shape, nest_entries

REFUSED = {
    "no entries": ({"shape": (0,)}, "integers from 1 on"),
    "a row of none": ({"shape": (4, 0)}, "integers from 1 on"),
    "a negative size": ({"shape": (-1, 2)}, "integers from 1 on"),
    "a bool": ({"shape": (True,)}, "integers from 1 on"),
    "a broken size": ({"shape": (2.0, 3)}, "integers from 1 on"),
    "a text": ({"shape": "ab"}, "integers from 1 on"),
    "None": ({"shape": None}, "integers from 1 on"),
    "a list in a list": ({"shape": [[4], [3]]}, "integers from 1 on"),
    "four axes": ({"shape": (1, 1, 1, 1)}, "4 axes; at most 3"),
    "a long vector": ({"shape": (10**6,)}, "more than 4,096 entries"),
    "a large matrix": ({"shape": (65, 64)}, "more than 4,096 entries"),
    "a long length": ({"length": 4_097}, "an integer from 1 to 4,096"),
    "two answers": ({"length": 3, "shape": (4,)}, "are not the same"),
    "a length of a matrix": ({"length": 12, "shape": (4, 3)}, "are not the same"),
}


@pytest.mark.parametrize(("parts", "words"), REFUSED.values(), ids=REFUSED)
def test_a_shape_that_cannot_be_is_refused(parts, words):
    with pytest.raises(DefinitionError) as caught:
        Field("x", **parts)
    assert str(caught.value).startswith("field 'x': ")
    assert words in str(caught.value)


def test_a_length_is_a_shape_of_one_axis():
    assert Field("x", length=3) == Field("x", shape=(3,)) == Field("x", shape=[np.int64(3)])
    assert (Field("x", shape=(3,)).length, Field("x", length=3).shape) == (3, (3,))
    assert (Field("x").shape, Field("x").length, Field("x").entries) == ((), None, ())
    assert Field("x", shape=(2, 3)).length is None
    assert replace(Field("x", length=3, low=0), outside="clip").shape == (3,)


def test_entries_are_named_as_python_indexes_nested_lists():
    assert Field("x", length=3).entries == ("[0]", "[1]", "[2]")
    assert Field("x", shape=(2, 2)).entries == ("[0][0]", "[0][1]", "[1][0]", "[1][1]")
    assert Field("x", shape=(2, 1, 2)).entries == ("[0][0][0]", "[0][0][1]", "[1][0][0]", "[1][0][1]")
    assert len(Field("x", shape=(64, 64)).entries) == len(Field("x", length=4_096).entries) == MOST_ENTRIES


@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 6), (1, 2, 3), (6, 1, 1)])
def test_nesting_and_flattening_are_each_other_s_undoing(shape):
    nested = nest_entries(range(6), shape)
    assert nested == np.arange(6).reshape(shape).tolist()
    assert infer_shape(nested) == shape
    for given in (nested, np.array(nested), nest_entries(range(6), shape, tuple), list(np.array(nested))):
        assert flatten_entries(given, shape) == list(range(6))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1, 2, 3], r"the shape \(3,\) given"),
        ([[1, 2], [3, 4]], r"the shape \(2, 2\) given"),
        ([[1, 2, 3], [4, 5]], r"\(2, 3\) with rows that differ"),
        ([[[1], [2], [3]], [[4], [5], [6]]][:1], r"the shape \(1, 3, 1\)"),
        (3.0, "a float given"),
        (None, "a NoneType given"),
        ("abcdef", "a str given"),
        ({0: [1, 2, 3], 1: [4, 5, 6]}, "a dict given"),
        ([], r"the shape \(0,\)"),
        (["abc", "def"], r"the shape \(2,\)"),
    ],
)
def test_values_of_another_shape_are_refused_with_both_shapes(given, words):
    with pytest.raises(ShapeMismatch, match=rf"values of the shape \(2, 3\) are needed, .*{words}"):
        flatten_entries(given, (2, 3))
