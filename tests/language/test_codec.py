"""Nodes as JSON and back: data, never code, and whatever is wrong with it is said."""

import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import SpecError
from plaudit.language import codec
from plaudit.language import nodes as n
from plaudit.ledger.jsonl import decode
from plaudit.rows.row import parse_json_row
from support.examples import examples
from support.growth import measure_growth
from support.strategies import cases

EVERY = [
    n.Const(1.5),
    n.Const(3),
    n.Const(True),
    n.Const(-0.0),
    n.Const(math.inf),
    n.Const(-math.inf),
    n.Label("mood", "calm"),
    n.Input("prev.force[3]"),
    n.Param("near.reach"),
    *(kind(0) for kind in n.KINDS.values() if issubclass(kind, n.Unary)),
    *(kind(0, 1) for kind in n.KINDS.values() if issubclass(kind, n.Binary)),
    n.Select(2, 0, 1),
    n.Clip(0, 1, 0),
    n.Item((1.0, 2.5), 0),
    n.Item((True, False), 0),
]


def repr_of(value):
    """Return a short name for a case; a number may be too long for Python to print."""
    try:
        return repr(value)[:40]
    except ValueError:
        return "too long"


def test_every_kind_of_node_comes_back_to_the_bit():
    data = json.loads(codec.format_canonical(codec.encode_nodes(EVERY)))
    again = codec.decode_nodes(data)
    assert [repr(node) for node in again] == [repr(node) for node in EVERY]


def test_every_operation_of_the_language_is_among_them():
    assert {type(node) for node in EVERY} == set(n.KINDS.values())
    assert all(name == kind.__name__ for name, kind in n.KINDS.items())


@examples(1 / 4)
@given(cases())
def test_the_nodes_of_any_reward_come_back(case):
    nodes = case.reward.program.nodes
    assert codec.decode_nodes(json.loads(codec.format_canonical(codec.encode_nodes(nodes)))) == nodes


@given(st.floats(allow_nan=False))
def test_every_float_comes_back_to_the_bit(number):
    [[name, value]] = json.loads(codec.format_canonical(codec.encode_nodes([n.Const(number)])))
    again = codec.decode_number(value, "here")
    assert name == "Const"
    assert (again.hex(), type(again)) == (number.hex(), float)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "nodes must be a list"),
        ({}, "nodes must be a list"),
        ("[]", "nodes must be a list"),
        ([[]], "node 0 must be a list that begins with the name"),
        ([5], "node 0 must be a list that begins with the name"),
        ([[5]], "node 0 must be a list that begins with the name"),
        ([["Evil"]], "node 0: there is no operation 'Evil'"),
        ([["__class__", 0]], "there is no operation"),
        ([["Node"]], "there is no operation 'Node'"),
        ([["Unary", 0]], "there is no operation 'Unary'"),
        ([["x" * 10_000]], "there is no operation"),
        ([["Const"]], "Const does not take these parts"),
        ([["Const", 1, 2]], "Const does not take these parts"),
        ([["Const", "1"]], "a finite number"),
        ([["Const", None]], "a finite number"),
        ([["Const", [1]]], "a finite number"),
        ([["Const", {}]], "a finite number"),
        ([["Const", "nan"]], "a finite number"),
        ([["Const", math.nan]], "a finite number"),
        ([["Const", math.inf]], "a finite number"),
        ([["Const", 2**53 + 1]], r"beyond 2\*\*53"),
        ([["Const", 10**5000]], r"beyond 2\*\*53"),
        ([["Input"]], "Input does not take these parts"),
        ([["Input", 5]], "Input does not take these parts"),
        ([["Label", "a"]], "Label does not take these parts"),
        ([["Label", "a", 5]], "Label does not take these parts"),
        ([["Neg", 0]], "the position of an earlier node"),
        ([["Const", 1], ["Neg", 1]], "the position of an earlier node"),
        ([["Const", 1], ["Neg", 2]], "the position of an earlier node"),
        ([["Const", 1], ["Neg", -1]], "the position of an earlier node"),
        ([["Const", 1], ["Neg", False]], "the position of an earlier node"),
        ([["Const", 1], ["Neg", 0.0]], "the position of an earlier node"),
        ([["Const", 1], ["Neg", "0"]], "the position of an earlier node"),
        ([["Const", 1], ["Neg", [0]]], "the position of an earlier node"),
        ([["Const", 1], ["Neg", 0, 0]], "Neg does not take these parts"),
        ([["Const", 1], ["Add", 0]], "Add does not take these parts"),
        ([["Const", 1], ["Item", [], 0]], "Item does not take these parts"),
        ([["Const", 1], ["Item", 5, 0]], "Item does not take these parts"),
        ([["Const", 1], ["Item", [1, True], 0]], "numbers or bools, not both"),
        ([["Const", 1], ["Item", [1, None], 0]], "a finite number"),
        ([["Const", 1], ["Item", [1, [2]], 0]], "a finite number"),
        ([["Const", 1]] * 200_001, "at most 200,000"),
        ([["Const", 1], ["Item", [1] * 100_001, 0]], "Item does not take these parts"),
    ],
    ids=repr_of,
)
def test_what_is_no_list_of_nodes_is_refused(data, words):
    with pytest.raises(SpecError, match=words):
        codec.decode_nodes(data)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("{'a': 1}", "not JSON"),
        ('{"a": 1,}', "not JSON"),
        ("\x00", "not JSON"),
        ('{"a": NaN}', "holds NaN"),
        ('{"a": Infinity}', "holds Infinity"),
        ('{"a": -Infinity}', "holds -Infinity"),
        ('{"a": 1, "a": 2}', "a key twice"),
        ('{"a": {"b": 1, "b": 1}}', "a key twice"),
        ("[" * 10_000 + "]" * 10_000, "nested too deeply"),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, "nested too deeply"),
        ("[" * 1_000_000, "nested too deeply|not JSON"),
        ("1" * 5_000, "not JSON"),
        ('"\ud800', "not JSON"),
    ],
    ids=lambda text: str(text)[:20],
)
def test_text_that_is_hostile_or_no_json_is_refused(text, words):
    with pytest.raises(SpecError, match=words):
        codec.parse_json(text)


def test_text_that_is_too_long_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(codec, "MOST_CHARACTERS", 100)
    with pytest.raises(SpecError, match="larger than 100 characters"):
        codec.parse_json(" " * 101)
    assert codec.parse_json(" " * 99 + "1") == 1


@examples(1 / 3)
@given(st.text())
def test_any_text_at_all_is_read_or_refused(text):
    with contextlib.suppress(SpecError):
        codec.parse_json(text)


def test_canonical_json_has_one_form():
    assert codec.format_canonical({"b": [1, 0.1, True, "é"], "a": None}) == '{"a":null,"b":[1,0.1,true,"\\u00e9"]}'
    with pytest.raises(ValueError, match="not JSON compliant|Out of range"):
        codec.format_canonical(math.nan)


def test_a_doubled_key_among_very_many_is_found_in_one_pass():
    compared = []

    class Key(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            compared.append(self)
            return str.__eq__(self, other)

    pairs = [(Key(f"k{n}"), n) for n in range(2_000)]
    with pytest.raises(SpecError, match="k1999"):
        codec.build_object([*pairs, (Key("k1999"), 0)], lambda key: SpecError(key))
    assert len(compared) < 100


@pytest.mark.parametrize("read", [codec.parse_json, parse_json_row, decode], ids=["a specification", "a row", "a line"])
def test_reading_keys_grows_with_their_number_and_not_with_its_square(read):
    def work(size):
        keys = ",".join(f'"k{n}":1' for n in range(size))
        with pytest.raises(ValueError, match="twice"):
            read(f'{{{keys},"k{size - 1}":1}}')

    assert measure_growth(work, 250, 4_000) < 60  # 16 times as many; the square would be 256
