"""The search in boxes: nothing is higher than its bound, and what it calls exact is attained."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asking import asked, outputs, samples, share
from plaudit import Field
from plaudit.checks.boxes import Highest, climbed, close, highest
from plaudit.checks.subject import Subject
from written import readable, reward_from


def question(text, *fields, output="total", **options):
    """Return the question how high the reward of the function `f` in `text` can be."""
    return asked(Subject(reward_from(text, *fields, **options)).program, output)


@share(0.25)
@given(case=readable(), seed=st.integers(0, 2**32), data=st.data())
def test_nothing_is_higher_than_the_bound_and_what_is_exact_is_attained(case, seed, data):
    subject = Subject(case.reward)
    output = data.draw(st.sampled_from(outputs(case)))
    found = highest(asked(subject.program, output))
    for sample in samples(case, seed, 30):
        if sample.scores is not None:
            assert sample.of(output) <= found.bound or close(sample.of(output), found.bound), (sample, found)
    scores = None if found.row is None else subject.scores(found.row)
    if found.exact and scores is not None and abs(found.value) < 1e300:
        name, _, part = output.partition(".")
        attained = scores.total if name == "total" else getattr(scores, f"{part}s")[name]
        assert close(float(attained), found.bound)
    if found.exact and output == "total" and abs(found.value) < 1e300:
        assert scores is not None, found.row


@pytest.mark.parametrize(
    ("text", "high"),
    [
        ("2 * x - 1", 19),
        ("-abs(x - 3)", 0),
        ("5 if x < 3 else 1 if x < 7 else 2", 5),
        ("x if x < 3 else 0", math.nextafter(3, 0)),
        ("x if x <= 3 else 0", 3),
        ("min(x, 10 - x)", 5),
        ("max(x, 10 - x)", 10),
        ("x * (10 - x) if x > 20 else 7", 7),
        ("(4, 9, 2)[round(x / 5)]", 9),
        ("1 / x if x > 0.5 else 0", 2),
        ("math.floor(x / 3)", 3),
        ("x % 4 if x == 7 else 0", 3),
        ("1 if 4 < x < 4.5 else 0", 1),
        ("x == 6.25", 1),
    ],
)
def test_the_highest_value_of_a_small_expression_is_found(text, high):
    found = highest(question(f"def f(x): return {text}", Field("x", low=0, high=10)))
    assert found.bound == pytest.approx(high, rel=1e-6)
    assert found.value == pytest.approx(high, rel=1e-6)


def test_inputs_that_go_together_leave_a_bound_that_is_not_attained():
    found = highest(question("def f(x): return (x - 5) * (x + 5) - x * x + 25", Field("x", low=0, high=10)))
    assert not found.exact
    assert found.bound >= 0
    assert found.value <= 1e-9


def test_every_kind_of_field_is_searched():
    text = """
        def f(mood, lit, level, ahead):
            if mood == "wild" and lit and level == 2:
                return 1 if math.isinf(ahead) else 0.5
            return 0
    """
    fields = [
        Field("mood", values=("calm", "wild")),
        Field("lit", flag=True),
        Field("level", values=(0, 2, 5)),
        Field("ahead", low=0, infinite=True),
    ]
    found = highest(question(text, *fields))
    assert found == Highest(1.0, {"mood": 1.0, "lit": 1.0, "level": 2.0, "ahead": math.inf}, 1.0)


@pytest.mark.parametrize("length", [2, 5, 6, 9])
def test_however_many_inputs_can_be_infinite_no_combination_of_them_is_left_out(length):
    text = "def f(x): return all(math.isinf(each) for each in x)"
    found = highest(question(text, Field("x", length=length, low=0, infinite=True)))
    assert found.bound == 1.0
    assert found.value in ((1.0,) if length <= 6 else (1.0, 0.0))


def test_what_no_row_can_be_is_impossible():
    found = highest(question("def f(x): return 1 / x", Field("x", values=(0,))))
    assert not found.possible
    assert found.row is None


def test_the_search_ends_once_enough_is_found():
    found = highest(
        question("def f(x, y): return x + y", Field("x", low=0, high=9), Field("y", low=0, high=9)), enough=3
    )
    assert 3 < found.value <= 18
    assert found.bound == 18


def test_numbers_without_a_range_are_told_in_small_ones_where_that_makes_no_difference():
    found = highest(question("def f(x, y): return min(x + y, 1)", Field("x"), Field("y", low=5000)))
    assert found.exact
    assert found.bound == 1
    assert abs(found.row["x"]) <= 1e6
    assert 5000 <= found.row["y"] <= 1e6


def test_a_total_without_bound_has_none():
    assert highest(question("def f(x): return x", Field("x", low=0))).bound >= 1e300


def test_a_row_is_climbed_from_to_a_better_one():
    program = question("def f(x, y): return x - y", Field("x", low=0, high=3), Field("y", low=0, high=3))
    assert climbed(program, {"x": 1.0, "y": 1.0}) == ({"x": 3.0, "y": 0.0}, 3.0)
    assert climbed(program, {"x": 3.0, "y": 0.0}) == ({"x": 3.0, "y": 0.0}, 3.0)
