"""Parts of a sample: what a model wrote as its answer, what it thought before, and which tools it called."""

import pytest

from plaudit.errors import WrongType
from plaudit.llm import Sample, text_of


def said(content, **more):
    return {"role": "assistant", "content": content, **more}


@pytest.mark.parametrize(
    ("completion", "text", "reasoning"),
    [
        ("5", "5", ""),
        ("<think>easy</think>5", "5", "easy"),
        ("easy</think>\n5", "5", "easy"),  # the prompt has opened the tag
        ("<think>cut off", "", "cut off"),
        ("So: <think>a</think> 5", "So:  5", "a"),
        ("<think>a</think><think>b</think>5", "5", "a</think><think>b"),
        ("", "", ""),
        ([said("5")], "5", ""),
        ([said("5", reasoning_content="two and three")], "5", "two and three"),
        ([said("5", reasoning="two"), {"role": "tool", "content": "7"}, said("so 6")], "5\nso 6", "two"),
        ([said([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "5"}])], "5", "hm"),
        ([said(None, tool_calls=[{"name": "add"}])], "", ""),
        ([{"role": "user", "content": "5"}], "", ""),
    ],
)
def test_answer_and_reasoning_are_told_apart(completion, text, reasoning):
    sample = Sample(completion=completion)
    assert (sample.text, sample.reasoning) == (text, reasoning)
    assert (sample["text"], sample["reasoning"]) == (text, reasoning)


def test_tool_calls_come_in_order():
    calls = [{"name": "add"}, {"name": "multiply"}]
    completion = [said("", tool_calls=calls[:1]), {"role": "tool", "content": "5"}, said("", tool_calls=calls[1:])]
    assert list(Sample(completion=completion).tool_calls) == calls
    assert Sample(completion="5").tool_calls == ()


def test_a_column_of_the_data_set_goes_before_what_is_worked_out():
    sample = Sample({"completion": "<think>a</think>5", "text": "a column"})
    assert sample["text"] == "a column"
    assert sample.text == "5"


def test_a_sample_is_a_mapping_of_what_was_given():
    sample = Sample({"prompt": "2"}, completion="5", answer="5")
    assert dict(sample) == {"prompt": "2", "completion": "5", "answer": "5"}
    assert "text" in sample
    assert "words" not in sample
    assert sample.get("words", 3) == 3
    with pytest.raises(KeyError):
        sample["words"]
    assert "text" not in Sample(prompt="2")


@pytest.mark.parametrize(
    "completion", [None, 3, {}, ["5"], [None], [said(5)], [said([{"type": "text"}])], [said(["5"])]]
)
def test_what_is_no_text_is_refused_by_name(completion):
    with pytest.raises(WrongType, match="is a string or a list of"):
        text_of(completion)
    with pytest.raises(WrongType, match="is a string or a list of"):
        Sample(completion=completion)["text"]


def test_text_of_keeps_tags():
    assert text_of([said("<think>a</think>"), said("5")]) == "<think>a</think>\n5"
