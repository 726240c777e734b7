"""JSON: all of the answer, or its only block."""

import builtins
import importlib.util
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError, MissingExtra
from plaudit.llm import ready

PERSON = {"type": "object", "required": ["name"], "properties": {"age": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ('{"name": "Ada"}', True),
        (" [1, 2]\n", True),
        ('```json\n{"name": "Ada"}\n```', True),
        ('Here it is:\n```JSON\n{"name": "Ada"}\n```\nAnything else?', True),
        ("```\n[]\n```", True),
        ("```python\nprint()\n```\n~~~json\n[]\n~~~", True),
        ('"```json"', True),
        ('"é\\ud800"', True),
        ("9" * 5000, True),
        ("", False),
        ("```json\n```", False),
        ("{'name': 'Ada'}", False),
        ('{"name": "Ada",}', False),
        ('{"name": "Ada"} or so', False),
        ('{"name": "Ada"}{"name": "Bob"}', False),
        ("NaN", False),
        ("[Infinity]", False),
        ("```python\n{}\n```", False),
        ("```json\n[]\n```\n```json\n{}\n```", False),
        ('```json\n{"name": "A', False),
        ("[" * 100_000, False),
        ("\x00", False),
        ("[\x00]", False),
        ("\ud800", False),
    ],
)
def test_the_answer_or_its_only_block_is_json(text, valid):
    assert ready.valid_json()(text) is valid


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_what_is_written_as_json_is_json(value):
    assert ready.valid_json()(json.dumps(value)) is True
    assert ready.valid_json()(f"So:\n```json\n{json.dumps(value, indent=2)}\n```") is True


def test_the_answer_follows_a_schema():
    pytest.importorskip("jsonschema")
    person = ready.valid_json(PERSON)
    texts = ['{"name": "Ada"}', '```json\n{"name": "Ada", "age": 36}\n```', "{}", '{"name": 1, "age": "36"}', "[]", "{"]
    assert [person(text) for text in texts] == [True, True, False, False, False, False]
    assert ready.valid_json(False)("[]") is False


def test_what_is_nested_deeper_than_can_be_followed_is_invalid():
    pytest.importorskip("jsonschema")
    nested = ready.valid_json({"$defs": {"list": {"items": {"$ref": "#/$defs/list"}}}, "$ref": "#/$defs/list"})
    assert nested("[[[]]]") is True
    assert nested("[" * 900 + "]" * 900) is False


def test_an_invalid_schema_is_refused():
    pytest.importorskip("jsonschema")
    for schema in ({"type": "objekt"}, "object"):
        with pytest.raises(DefinitionError):
            ready.valid_json(schema)


def test_a_schema_needs_jsonschema(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert ready.valid_json()("[]") is True
    with pytest.raises(MissingExtra, match="pip install 'plaudit\\[llm\\]'"):
        ready.valid_json(PERSON)


def test_json_without_a_schema_needs_no_library(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest):
        assert "jsonschema" not in name
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert ready.valid_json()("[]") is True
