"""How much a completion repeats itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError
from plaudit.llm import Sample, ready


@pytest.mark.parametrize(
    ("text", "n", "share"),
    [
        ("", 3, 0.0),
        ("one two", 3, 0.0),
        ("one two three", 3, 0.0),
        ("one two three four five", 3, 0.0),
        ("a b c a b c", 3, 0.25),
        ("No no NO no", 1, 0.75),
        ("go " * 100, 3, 1 - 1 / 98),
        ("\x00 \ud800 \x00 \ud800", 2, 1 - 2 / 3),
    ],
)
def test_the_share_of_sequences_that_were_there_before(text, n, share):
    assert ready.repetition(n)(text) == share


def test_reasoning_is_looked_at_if_it_is_asked_for():
    sample = Sample(completion="<think>wait wait wait wait</think>It is so.")
    shares = [(each := ready.repetition(1, of=of))(**each.collect(sample)) for of in ("text", "reasoning", "both")]
    assert shares == [0.0, 0.75, 1 - 4 / 7]


def test_languages_without_spaces_are_counted_by_characters():
    assert ready.repetition()("好的好的好的好的") == 0.0
    assert ready.repetition(2, unit="characters")("好的好的好的好的") == 1 - 2 / 7


@given(st.lists(st.sampled_from("abc")), st.integers(1, 4))
def test_it_is_a_share_below_one(words, n):
    share = ready.repetition(n)(" ".join(words))
    assert 0.0 <= share < 1.0
    sequences = [tuple(words[at : at + n]) for at in range(len(words) - n + 1)]
    repeated = sum(each in sequences[:at] for at, each in enumerate(sequences))
    assert share == pytest.approx(repeated / len(sequences) if sequences else 0.0)


@pytest.mark.parametrize("settings", [{"n": 0}, {"n": True}, {"n": 1.5}, {"unit": "lines"}, {"of": "all"}])
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(DefinitionError):
        ready.repetition(**settings)
