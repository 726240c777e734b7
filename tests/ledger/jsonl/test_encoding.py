"""One row as JSON text and back: faithfully, or not at all."""

import json
import math
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import errors
from plaudit.ledger.jsonl.encoding import decode, describe_problem, encode
from support.examples import examples

TEXTS = st.text(st.characters(exclude_categories=[]), max_size=20)  # lone surrogates and NUL among them
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=20)
ROWS = st.dictionaries(TEXTS, VALUES)


def same(one, other):
    """Return whether two values are equal to the bit: 1 is not 1.0, and 0.0 is not -0.0."""
    return repr(one) == repr(other)


@examples(0.4)
@given(row=ROWS)
def test_what_is_read_again_is_what_was_written(row):
    line = encode(row)
    assert line.isascii()
    assert line.isprintable()  # so it is one line for every reader
    assert same(decode(line), row)
    assert same(decode(line.encode()), row)


@pytest.mark.parametrize(
    "row",
    [
        {"note": "Robert'); DROP TABLE records;-- \" ` \\ % _"},
        {"note": "\0\x01\x1f\x7f\u2028\u2029\ufeff"},
        {"note": "\ud800 alone, and \udfff"},
        {"number": 2**200, "small": 5e-324, "zero": -0.0},
        {"": {"": [{}]}},
        {"x": "y" * 10_000_000},
    ],
    ids=["SQL", "control characters", "lone surrogates", "numbers", "empty", "10 MB"],
)
def test_hostile_content_comes_back_as_it_was(row):
    assert same(decode(encode(row)), row)


def deep(levels):
    row = {}
    for _ in range(levels):
        row = {"in": row}
    return row


@pytest.mark.parametrize(
    ("row", "kind", "match"),
    [
        ({"r_step": math.nan}, errors.NotFinite, "is nan"),
        ({"r_step": [math.inf]}, errors.NotFinite, "is inf"),
        ({1: "a"}, errors.WrongType, "key 1"),
        ({"in": [{None: 1}]}, errors.WrongType, "key None"),
        ({"in": {1, 2}}, errors.WrongType, "set"),
        ({"in": object()}, errors.WrongType, "object"),
        ({"in": b"bytes"}, errors.WrongType, "bytes"),
        ({"in": 10**5000}, errors.InputError, "digits"),
        (deep(100_000), errors.InputError, "nested too deeply"),
        ([1, 2], errors.WrongType, "a JSON line is an object"),
        ("text", errors.WrongType, "a JSON line is an object"),
    ],
    ids=[
        "NaN",
        "infinity",
        "number as key",
        "null as key",
        "set",
        "object",
        "bytes",
        "digits",
        "depth",
        "list",
        "text",
    ],
)
def test_what_would_come_back_as_something_else_is_refused(row, kind, match):
    with pytest.raises(kind, match=match):
        encode(row)


def test_any_mapping_is_a_row():
    assert encode(MappingProxyType({"step": 2})) == '{"step": 2}'


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ('{"a": 1, "b": 2, "a": 1}', "the key 'a' is there twice"),
        ('{"in": [{"b": 1, "b": 1}]}', "the key 'b' is there twice"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"a": -Infinity}', "-Infinity is not a number"),
        ('{"a": 1e999}', "1e999 is beyond every double"),
        ('{"a": ' + "9" * 5000 + "}", "digits"),
        ("[" * 100_000, "nested too deeply"),
        ("[1]", "no object"),
        ("null", "no object"),
        ("12", "no object"),
        ('{"a": 1} {"a": 1}', "not JSON .Extra data at character 10"),
        ("\ufeff{}", "not JSON .*BOM"),
        (b'{"a": "\xff"}', "not UTF-8 .byte 8"),
    ],
)
def test_what_cannot_be_trusted_is_refused(line, match):
    with pytest.raises(ValueError, match=".*") as caught:
        decode(line)
    with pytest.raises(ValueError, match=match):
        raise ValueError(describe_problem(caught.value))


def test_a_line_is_spelt_as_json_spells_it():
    row = {"step": 5, "delta_pass_rate": 0.0, "phase_advance": True, "error": None}
    assert encode(row) == json.dumps(row) == '{"step": 5, "delta_pass_rate": 0.0, "phase_advance": true, "error": null}'
