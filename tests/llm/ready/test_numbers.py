"""Numbers: the last one of the answer, or the one in its box, and what only looks right."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError, InputError
from plaudit.llm import Sample, ready

THINKS_5 = "<think>Maybe 5.</think>"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("It is 5.", 5),
        ("**5**", "5"),
        ("12 + 30 = 42", 42),
        ("1,234,567 people", 1234567),
        ("10{,}000", "10,000"),
        (r"10,\!000 or 10\,000", 10000),
        ("1\u202f234", 1234),
        ("1'234.5", 1234.5),
        ("-3", -3),
        ("\u22123", "-3"),
        ("it fell to \uff0d3", -3),
        ("-$5", -5),
        ("$-5", -5),
        ("costs \\$1,250.50!", 1250.5),
        ("3/4", 0.75),
        ("3 / 4", "3/4"),
        (r"\frac{3}{4}", "0.75"),
        (r"\dfrac{-3}{4}", -0.75),
        (r"\frac34", Fraction(3, 4)),
        ("1 3/4 cups", 1.75),
        (r"2\frac{3}{4}", 2.75),
        ("50%", 0.5),
        ("50%", 50),
        (r"50\%", "50%"),
        ("50", "50%"),
        ("0.5", "50%"),
        ("5e3", 5000),
        ("3 × 10^5", 300000),
        (r"$3 \times 10^{-5}$", 0.00003),
        ("10⁵", 100000),
        ("area: 5 m^2", 5),
        ("90^\\circ", 90),
        ("答案是5个。", 5),
        ("是-5", -5),
        ("\u0661\u066c\u0662\u0663\u0664\u066b\u0665", 1234.5),  # Arabic
        ("\uff15", 5),
        ("\x00\ud800 5 \x00", 5),
        (".5", 0.5),
        ("0.1", 0.1),
        ("0.3", 0.1 + 0.2),
        ("7", np.int64(7)),
        ("7.5", np.float32(7.5)),
        ("7.5", Decimal("7.5")),
        ("12345678901234567890", "12345678901234567890"),
    ],
)
def test_the_last_number_is_right(text, answer):
    assert ready.last_number()(text, answer) is True


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", 5),
        ("five", 5),
        ("It is 5, not 6.", 5),
        ("5 or 6", 5),
        ("1 2 3 4 5 6 7 8 9", 5),
        ("What is 5 - 2? 3", 5),
        ("-5", 5),
        ("3-5", -5),
        ("15", 5),
        ("5,000", 5),
        ("5,000", 0),
        ("0.5%", "50%"),
        ("3 × 10^5", 5),
        ("2^5", 5),
        ("2^5", 2),
        ("2**5", 5),
        ("1e5", 5),
        ("1/5", 5),
        ("5/0", 5),
        ("x5", 5),
        ("H_5", 5),
        ("5.0000001", 5),
        ("12345678901234567891", "12345678901234567890"),
        ("9" * 100_000, 5),
        ("1e999999999", 5),
        ("5²", 5),
        ("NaN", 5),
        ("10⁻", 5),
        ("In 2020 3/4 of them", 2020.75),
    ],
)
def test_another_last_number_or_none_is_wrong(text, answer):
    assert ready.last_number()(text, answer) is False


@pytest.mark.parametrize(
    ("text", "answer", "right"),
    [
        (r"So \boxed{5}.", 5, True),
        (r"So $\boxed{x = 5}$.", 5, True),
        (r"\boxed{5 \text{ apples}}", 5, True),
        (r"\boxed{5\,\mathrm{km}}", 5, True),
        (r"\boxed{5 m/s^2}", 5, True),
        (r"\boxed{90^\circ}", 90, True),
        (r"\boxed{\$1{,}250}", 1250, True),
        (r"\boxed{\frac{3}{4}}", 0.75, True),
        (r"\boxed{\text{5}}", 5, True),
        (r"\fbox{5}", 5, True),
        (r"I write the answer in \boxed{}: \boxed{5}, not 6", 5, True),
        (r"\boxed{0.5} = \boxed{\frac{1}{2}}", 0.5, True),
        (r"\boxed{ \boxed{5} }", 5, False),
        (r"} \boxed{5} {", 5, True),
        (r"\{ \boxed{5} \boxed{6", 5, True),
        (r"\boxed{6} \boxed{5}", 5, False),
        (r"\boxed{5} \boxed{6}", 5, False),
        ("".join(rf"\boxed{{{number}}} " for number in range(10)), 5, False),
        (r"\boxed{4, 5}", 5, False),
        (r"\boxed{5 or 6}", 5, False),
        (r"\boxed{5 \text{ or } 6}", 5, False),
        (r"\boxed{4 < x < 5}", 5, False),
        (r"\boxed{\sqrt{5}}", 5, False),
        (r"\boxed{5!}", 5, False),
        (r"\boxed{5x}", 5, False),
        (r"\boxed{5^2}", 5, False),
        (r"\boxed{2 + 3}", 5, False),
        (r"\boxed{5 \pi}", 5, False),
        (r"\boxed{x}", 5, False),
        (r"\boxed{}", 5, False),
        (r"\boxed{5", 5, False),
        ("boxed{5}", 5, False),
        ("5", 5, False),
        ("", 5, False),
        (r"\boxed{\textbf{(A) } 5}", 5, False),
    ],
)
def test_the_box_has_nothing_but_the_number(text, answer, right):
    assert ready.boxed_number()(text, answer) is right


@pytest.mark.parametrize("feature", [ready.last_number(), ready.boxed_number()], ids=repr)
def test_a_number_in_the_thinking_alone_is_no_answer(feature):
    for answer in ("", "I do not know.", [{"role": "assistant", "content": "No.", "reasoning_content": r"\boxed{5}"}]):
        completion = rf"<think>\boxed{{5}} 5</think>{answer}" if isinstance(answer, str) else answer
        assert feature(**feature.collect(Sample(completion=completion, answer=5))) is False
    right = Sample(completion=rf"{THINKS_5}\boxed{{5}}", answer=5)
    assert feature(**feature.collect(right)) is True


def test_of_messages_the_assistants_text_counts_and_its_tool_calls_do_not():
    completion = [
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "add", "arguments": "[2, 3]"}}]},
        {"role": "tool", "content": "5"},
        {"role": "assistant", "content": "It is 6."},
    ]
    feature = ready.last_number()
    assert feature(**feature.collect(Sample(completion=completion, answer=5))) is False
    assert feature(**feature.collect(Sample(completion=completion, answer=6))) is True


@pytest.mark.parametrize("feature", [ready.last_number(), ready.boxed_number()], ids=repr)
@pytest.mark.parametrize("answer", ["five", "", None, True, [5], float("nan"), float("inf"), "5 or 6", "5 apples", {}])
def test_a_column_that_is_not_a_number_is_an_error(feature, answer):
    with pytest.raises(InputError, match="not a number"):
        feature(r"\boxed{5}", answer)


def test_tolerances_are_relative_and_absolute():
    assert ready.last_number(relative_tolerance=0.01)("3.14", "3.14159") is True
    assert ready.last_number(relative_tolerance=0.0001)("3.14", "3.14159") is False
    assert ready.last_number(absolute_tolerance=0.5)("10.5", 10) is True
    assert ready.boxed_number(absolute_tolerance=0.5)(r"\boxed{10.51}", 10) is False
    assert ready.last_number(relative_tolerance=0.1)("0.05", 0) is False


def test_the_mark_of_decimals_can_be_a_comma():
    german = ready.last_number(decimal=",")
    assert german("Es sind 1.234,5 km.", 1234.5) is True
    assert german("$3{,}14$", 3.14) is True
    assert ready.last_number()("3,14", 3.14) is False


def test_only_what_stands_in_a_tag_counts_if_it_is_there_once():
    tagged = ready.last_number(tag="answer")
    texts = [
        "<answer>5</answer> of 7",
        "5",
        "<answer>5</answer><answer>6</answer>",
        "<answer>6</answer> 5",
        "<answer>5",
    ]
    assert [tagged(text, 5) for text in texts] == [True, False, False, False, False]


def test_the_column_has_any_name():
    feature = ready.boxed_number("solution")
    assert feature.reads == ("text", "solution")
    assert feature(**feature.collect(Sample(completion=r"\boxed{5}", solution="5"))) is True
    assert feature(r"\boxed{5}", solution=6) is False


@pytest.mark.parametrize("answer", ["text", "gold answer", "", 1])
def test_a_column_that_cannot_be_a_parameter_is_refused(answer):
    with pytest.raises(DefinitionError):
        ready.last_number(answer)


@pytest.mark.parametrize(
    "settings",
    [{"relative_tolerance": -1}, {"absolute_tolerance": float("nan")}, {"decimal": ";"}],
)
def test_settings_that_make_no_sense_are_refused(settings):
    for feature in (ready.last_number, ready.boxed_number):
        with pytest.raises(DefinitionError):
            feature(**settings)
        with pytest.raises(DefinitionError):
            feature().with_(**settings)("5", 5)


def test_a_tag_is_a_name():
    with pytest.raises(DefinitionError):
        ready.last_number(tag="<answer>")


@given(st.integers() | st.fractions() | st.decimals(allow_nan=False, allow_infinity=False, places=4), st.text())
def test_a_number_that_is_written_is_read(number, before):
    written = f"{number:,}" if isinstance(number, int) else str(number)
    assert ready.last_number()(f"{before} = {written}.", number) is True
    if "\\" not in before:
        assert ready.boxed_number()(rf"{before} \boxed{{{written}}}", number) is True


@given(st.text(alphabet="0123456789.,/^*%-+ \\{}frac10$eE⁵⁻×x=−\u066b", max_size=40))
def test_no_text_is_an_error(text):
    assert ready.last_number()(text, 5) in (True, False)
    assert ready.boxed_number()(f"\\boxed{{{text}}}", 5) in (True, False)
