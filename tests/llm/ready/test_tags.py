"""Tags: in order, exactly once each, side by side, with something in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError
from plaudit.llm import Sample, ready

GOOD = "<think>2 and 2</think>\n<answer>4</answer>"


@pytest.mark.parametrize(
    ("completion", "has"),
    [
        (GOOD, True),
        (f"Well. {GOOD} Done.", True),
        ("<think>a < b </ c <b></think><answer>4</answer>", True),
        ("<think>考える</think><answer>四</answer>", True),
        ("", False),
        ("think answer", False),
        ("<answer>4</answer><think>2 and 2</think>", False),
        ("<think>2 and 2</think>", False),
        ("<think>2 and 2</think><answer>4", False),
        ("<think>2 and 2<answer>4</answer></think>", False),
        ("<think>2 and 2<answer></think>4</answer>", False),
        (f"{GOOD}<answer>5</answer>", False),
        (f"Use <think> and <answer> tags. {GOOD}", False),
        ("<think>2</think><think>2</think><answer>4</answer>", False),
        ("<think> \n</think><answer>4</answer>", False),
        ("<think>2 and 2</think><answer></answer>", False),
        ("<THINK>2 and 2</THINK><answer>4</answer>", False),
        ("</think><think>2</think><answer>4</answer>", False),
        ("\x00\ud800" + GOOD, True),
    ],
)
def test_each_tag_stands_once_and_in_order(completion, has):
    feature = ready.tags("think", "answer")
    assert feature(completion) is has
    assert feature([{"role": "assistant", "content": completion}]) is has


def test_the_thinking_is_looked_for_in_the_completion_which_the_text_no_longer_has():
    sample = Sample(completion=GOOD)
    feature = ready.tags("think", "answer")
    assert "<think>" not in sample.text
    assert feature(**feature.collect(sample)) is True


def test_thinking_that_a_server_has_moved_is_not_there():
    message = {"role": "assistant", "content": "<answer>4</answer>", "reasoning_content": "2", "tool_calls": []}
    assert ready.tags("think", "answer")([message]) is False
    assert ready.tags("answer")([message]) is True


def test_with_alone_nothing_stands_outside():
    alone = ready.tags("think", "answer", alone=True)
    assert alone(f" {GOOD}\n") is True
    assert [alone(text) for text in (f"So: {GOOD}", f"{GOOD} So.", GOOD.replace("\n", " and "))] == [False] * 3


def test_with_opened_the_prompt_has_the_first_tag():
    opened = ready.tags("think", "answer", opened=True)
    assert opened(GOOD.removeprefix("<think>")) is True
    assert opened(GOOD) is False


@given(st.lists(st.sampled_from(["<a>", "</a>", "<b>", "</b>", "x", " "]), max_size=8))
def test_only_one_order_of_tags_is_right(parts):
    wanted = ["<a>", "</a>", "<b>", "</b>"]
    text = "".join(parts)
    right = [part for part in parts if part in wanted] == wanted
    filled = right and all(text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip() for tag in "ab")
    assert ready.tags("a", "b")(text) is filled


@pytest.mark.parametrize("names", [(), ("a", "a"), ("<a>",), ("",), (1,), ("a b",)])
def test_names_that_cannot_be_tags_are_refused(names):
    with pytest.raises(DefinitionError):
        ready.tags(*names)
