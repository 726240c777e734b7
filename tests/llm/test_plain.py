"""Plain data as JSON and back: whatever is recorded of a sample is of the same type when it is read."""

import json
from collections import OrderedDict
from enum import Enum, StrEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit.llm.plain import NotPlain, decode_plain, encode_plain

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
KEYS = st.text() | st.integers() | st.sampled_from(["$tuple", "$mapping", "$array"])
DATA = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.frozensets(st.text() | st.integers(), max_size=4)
    ),
    max_leaves=12,
)


def describe(value):
    """Return a value with the types of everything in it."""
    if isinstance(value, dict):
        return [(describe(name), describe(each)) for name, each in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [describe(each) for each in value]
    return type(value), value


@given(DATA)
def test_plain_data_come_back_with_their_types(value):
    assert describe(decode_plain(json.loads(json.dumps(encode_plain(value))))) == describe(value)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (StrEnum("Kind", {"SUM": "sum"}).SUM, "sum"),
        (OrderedDict(a=1), {"a": 1}),
    ],
)
def test_scalars_of_numpy_and_members_of_enumerations_are_plain(given, wanted):
    found = decode_plain(json.loads(json.dumps(encode_plain(given))))
    assert describe(found) == describe(wanted)


@pytest.mark.parametrize("array", [np.array([[1, 2]]), np.zeros((0, 3)), np.array([True]), np.array(["a", "bc"])])
def test_arrays_keep_their_shape_and_dtype(array):
    found = decode_plain(json.loads(json.dumps(encode_plain(array))))
    np.testing.assert_array_equal(found, array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)


def nest(value):
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [object(), [object()], {"a": object()}, nest([]), 1 << 20_000, Enum("Kind", ["SUM"]).SUM, 1j],
    ids=["object", "in a list", "in a mapping", "in itself", "long", "member", "complex"],
)
def test_what_json_cannot_give_back_is_refused(value):
    with pytest.raises(NotPlain):
        encode_plain(value)
