"""Answers that are equal once case, spaces and punctuation are put aside, and those that only look so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError, InputError
from plaudit.llm import Sample, ready


@pytest.mark.parametrize(
    ("text", "answer", "same"),
    [
        ("Paris", "paris", True),
        ("  **Paris**.\n", "Paris", True),
        ("New \t York", "new york", True),
        ("U.S.A.", "USA", True),
        ("twenty-one", "twenty one", True),
        ("Paris, France", "Paris,France", True),
        ("STRASSE", "Straße", True),
        ("cafe\u0301", "café", True),
        ("\uff30aris", "Paris", True),
        ("Москва!", "москва", True),
        ("東京。", "東京", True),
        ("42", 42, True),
        ("B", ["A", "B"], True),
        ("\u22125", "-5", True),
        ("", "Paris", False),
        ("Paris or London", "Paris", False),
        ("Paris, London, Rome", ["Paris", "London"], False),
        ("It is Paris", "Paris", False),
        ("the Paris", "Paris", False),
        ("35", "3.5", False),
        ("5", "-5", False),
        ("50", "50%", False),
        ("12", "1/2", False),
        ("C", "C#", False),
        ("Pari", "Paris", False),
        ("\x00", "Paris", False),
        ("\ud800", "Paris", False),
    ],
)
def test_what_matches_is_the_whole_answer(text, answer, same):
    assert ready.matches()(text, answer) is same


def test_each_difference_can_count():
    assert ready.matches(ignore_case=False)("paris", "Paris") is False
    assert ready.matches(ignore_punctuation=False)("Paris.", "Paris") is False
    assert ready.matches(ignore_articles=True)("The answer", "an answer") is True
    assert ready.matches(ignore_articles=True)("banana", "banana") is True


def test_in_a_tag_only_what_stands_in_it_is_compared():
    tagged = ready.matches(tag="answer")
    texts = ["So <answer>Paris</answer>!", "Paris", "<answer>Paris</answer><answer>Rome</answer>", "</answer>Paris"]
    assert [tagged(text, "Paris") for text in texts] == [True, False, False, False]


def test_an_answer_in_the_thinking_alone_does_not_match():
    feature = ready.matches()
    assert feature(**feature.collect(Sample(completion="<think>Paris</think>Rome", answer="Paris"))) is False
    assert feature(**feature.collect(Sample(completion="<think>Rome</think>Paris", answer="Paris"))) is True


@pytest.mark.parametrize("answer", ["", " ", "?!", None, [], {}, [None], ["Paris", "."]])
def test_a_column_with_nothing_to_compare_is_an_error(answer):
    with pytest.raises(InputError):
        ready.matches()("", answer)


def test_a_tag_is_a_name():
    with pytest.raises(DefinitionError):
        ready.matches(tag="<answer>")


@given(st.text(), st.text())
def test_a_text_matches_itself_and_is_never_an_error(text, other):
    feature = ready.matches()
    try:
        assert feature(text, text) is True
    except InputError:
        assert feature(text, "x") is False
    assert feature(text, other + "x") in (True, False)
