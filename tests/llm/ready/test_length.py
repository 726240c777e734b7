"""How long a completion is, in words, characters and tokens."""

import pytest

from plaudit import DefinitionError, InputError
from plaudit.errors import MissingField
from plaudit.llm import Sample, ready

SAMPLE = Sample(completion="<think>Roses, I think.</think>Roses are red.", completion_ids=[5, 6, 7, 8])


class Tokenizer:
    def encode(self, text):
        return text.encode("utf-8")

    def __call__(self, text):
        raise AssertionError("encode is what counts")


def measure(feature, sample=SAMPLE):
    feature_needs = feature.collect(sample)
    return feature(**feature_needs)


@pytest.mark.parametrize(
    ("unit", "of", "counted"),
    [
        ("words", "text", 3),
        ("words", "reasoning", 3),
        ("words", "both", 6),
        ("characters", "text", 14),
        ("characters", "both", 29),
    ],
)
def test_the_answer_and_the_reasoning_are_counted_apart(unit, of, counted):
    assert measure(ready.length(unit, of=of)) == counted


def test_tokens_are_those_of_a_tokenizer():
    assert measure(ready.length("tokens", tokenizer=str.split)) == 3
    assert measure(ready.length("tokens", tokenizer=Tokenizer(), of="both")) == 29
    assert ready.length("tokens", tokenizer=Tokenizer())("\ud800") == 3


def test_without_a_tokenizer_they_are_those_of_the_trainer():
    feature = ready.length("tokens", of="both")
    assert measure(feature) == 4
    with pytest.raises(MissingField, match="completion_ids"):
        feature.require(Sample(completion="Roses"))
    with pytest.raises(InputError, match="completion_ids"):
        feature("Roses")


def test_an_empty_text_has_no_length():
    assert [ready.length(unit)("") for unit in ("words", "characters")] == [0, 0]
    assert ready.length("tokens", tokenizer=lambda text: [0, *text])("") == 0


def test_of_messages_tool_calls_do_not_count():
    messages = [
        {"role": "assistant", "content": "One two", "reasoning_content": "Three", "tool_calls": [{"id": "x"}]},
        {"role": "tool", "content": "many many words"},
    ]
    assert measure(ready.length(of="both"), Sample(completion=messages)) == 3


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        (["wrods"], {}),
        ([], {"of": "all"}),
        (["tokens"], {}),
        (["tokens"], {"tokenizer": 5}),
        (["tokens"], {"tokenizer": "gpt2"}),
        (["words"], {"tokenizer": str.split}),
    ],
)
def test_settings_that_make_no_sense_are_refused(arguments, settings):
    with pytest.raises(DefinitionError):
        ready.length(*arguments, **settings)


def test_other_settings_of_a_feature_are_checked():
    with pytest.raises(DefinitionError, match="words"):
        ready.length().with_(unit="wrods")("one")
    with pytest.raises(DefinitionError):
        ready.length("tokens", of="both").with_(of="text")([1])
