"""The highest value of an expression, found by cutting the declared ranges into boxes."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field
from plaudit.checks.model import RewardModel
from plaudit.checks.solver.boxes import (
    MOST_INFINITE,
    Maximum,
    climb,
    evaluate,
    find_given_intervals,
    halve,
    is_close,
    list_boxes,
    maximise,
    nearest_value,
    to_interval,
)
from plaudit.checks.solver.question import Question
from plaudit.language import nodes as n
from plaudit.language.intervals import Interval
from support.asking import asked, outputs, samples
from support.examples import examples
from support.written import readable, reward_from


def question(text, *fields, output="total", **options):
    """Return the question how high the reward of the function `f` in `text` can be."""
    return asked(RewardModel(reward_from(text, *fields, **options)).program, output)


@examples(0.1)
@given(case=readable(), seed=st.integers(0, 2**32), data=st.data())
def test_nothing_is_higher_than_the_bound_and_what_is_exact_is_attained(case, seed, data):
    model = RewardModel(case.reward)
    output = data.draw(st.sampled_from(outputs(case)))
    found = maximise(asked(model.program, output))
    for sample in samples(case, seed, 30):
        if sample.scores is not None:
            assert sample.of(output) <= found.bound or is_close(sample.of(output), found.bound), (sample, found)
    scores = None if found.row is None else model.score(found.row)
    if found.exact and scores is not None and abs(found.value) < 1e300:
        name, _, part = output.partition(".")
        attained = scores.total if name == "total" else getattr(scores, f"{part}s")[name]
        assert is_close(float(attained), found.bound)
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
    found = maximise(question(f"def f(x): return {text}", Field("x", low=0, high=10)))
    assert found.bound == pytest.approx(high, rel=1e-6)
    assert found.value == pytest.approx(high, rel=1e-6)


def test_inputs_that_go_together_leave_a_bound_that_is_not_attained():
    found = maximise(question("def f(x): return (x - 5) * (x + 5) - x * x + 25", Field("x", low=0, high=10)))
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
    found = maximise(question(text, *fields))
    assert found == Maximum(1.0, {"mood": 1.0, "lit": 1.0, "level": 2.0, "ahead": math.inf}, 1.0)


@pytest.mark.parametrize("length", [2, 5, 6, 9])
def test_however_many_inputs_can_be_infinite_no_combination_of_them_is_left_out(length):
    text = "def f(x): return all(math.isinf(each) for each in x)"
    found = maximise(question(text, Field("x", length=length, low=0, infinite=True)))
    assert found.bound == 1.0
    assert found.value in ((1.0,) if length <= 6 else (1.0, 0.0))


def test_what_no_row_can_be_is_impossible():
    found = maximise(question("def f(x): return 1 / x", Field("x", values=(0,))))
    assert not found.possible
    assert found.row is None


def test_the_search_ends_once_enough_is_found():
    found = maximise(
        question("def f(x, y): return x + y", Field("x", low=0, high=9), Field("y", low=0, high=9)), enough=3
    )
    assert 3 < found.value <= 18
    assert found.bound == 18


def test_numbers_without_a_range_are_told_in_small_ones_where_that_makes_no_difference():
    found = maximise(question("def f(x, y): return min(x + y, 1)", Field("x"), Field("y", low=5000)))
    assert found.exact
    assert found.bound == 1
    assert abs(found.row["x"]) <= 1e6
    assert 5000 <= found.row["y"] <= 1e6


def test_a_total_without_bound_has_none():
    assert maximise(question("def f(x): return x", Field("x", low=0))).bound >= 1e300


def test_a_row_is_climbed_from_to_a_better_one():
    program = question("def f(x, y): return x - y", Field("x", low=0, high=3), Field("y", low=0, high=3))
    assert climb(program, {"x": 1.0, "y": 1.0}) == ({"x": 3.0, "y": 0.0}, 3.0)
    assert climb(program, {"x": 3.0, "y": 0.0}) == ({"x": 3.0, "y": 0.0}, 3.0)


LARGEST = 1.7976931348623157e308


@pytest.mark.parametrize(
    "part",
    [
        Interval(0, 1),
        Interval(-3, 8),
        Interval(0, LARGEST),
        Interval(-LARGEST, LARGEST),
        Interval(5e7, 6e9),
        (1.0, 2.0, 5.0),
        (0.0, 1.0),
    ],
)
def test_two_halves_are_the_whole(part):
    first, second = halve(part)
    assert (first[0], second[-1]) == (part[0], part[-1])
    if isinstance(part, Interval):
        assert first.high == second.low
        assert part.low < first.high < part.high
    else:
        assert first + second == part


def test_a_point_or_what_reaches_to_infinity_is_not_cut():
    assert halve(Interval(3, 3)) == []
    assert halve(Interval(1, math.inf)) == []
    assert halve(Interval(1, math.nextafter(1, 2))) == []


def test_the_nearest_value_of_a_part():
    assert nearest_value(Interval(0, 5), 9) == 5
    assert nearest_value(Interval(0, 5), 3) == 3
    assert nearest_value((1.0, 4.0, 6.0), 4.9) == 4
    assert nearest_value((math.inf,), 3) == math.inf
    assert nearest_value((0.0, math.inf), math.inf) == math.inf
    assert to_interval((1.0, 4.0, 6.0)) == Interval(1, 6)


@pytest.mark.parametrize(("length", "boxes"), [(0, 1), (1, 2), (3, 8), (MOST_INFINITE, 32), (MOST_INFINITE + 2, 32)])
def test_what_is_declared_is_one_box_for_every_way_to_be_infinite(length, boxes):
    fields = [Field("y", low=0, high=1), *([Field("x", length=length, low=0, infinite=True)] if length else [])]
    text = "def f(y, x): return y + sum(0 if math.isinf(each) else 1 for each in x)" if length else "def f(y): return y"
    found = list(list_boxes(asked(RewardModel(reward_from(text, *fields)).program, "total")))
    assert len(found) == boxes
    assert all(box["y"] == Interval(0, 1) for box in found)
    for name in (f"x[{at}]" for at in range(length)):
        assert any(box[name][-1] == math.inf for box in found)
        assert any(box[name][0] == 0 for box in found)


X, Y = Field("x", low=-5, high=5), Field("y", low=-5, high=5)
SIGNS = (n.Lt, n.Le, n.Gt, n.Ge)


def two():
    """Return a question about two inputs, and where they stand in it."""
    question = Question()
    return question, question.input("x", X), question.input("y", Y)


def test_a_step_bounds_a_difference_and_its_negative():
    question, x, y = two()
    change = question.minus(y, x)
    back = question.minus(x, y)
    question.require(question.compare(change, n.Le, question.number(2)))
    question.require(question.compare(change, n.Ge, question.number(-1)))
    program = question.program(question.plus(change, back))
    known = {repr(program.nodes[at]): interval for at, interval in find_given_intervals(program).items()}
    assert sorted(interval for text, interval in known.items() if text.startswith("Sub")) == [(-2, 1), (-1, 2)]


def test_an_order_bounds_a_difference():
    question, x, y = two()
    question.require(question.compare(x, n.Lt, y))
    program = question.program(question.minus(y, x))
    assert find_given_intervals(program)[program.outputs["asked"]] == Interval(0, float("inf"))
    assert maximise(question.program(question.minus(x, y))).bound == 0


@examples(0.25)
@given(data=st.data())
def test_no_row_that_keeps_to_what_is_given_is_left_out(data):
    question, x, y = two()
    numbers = st.sampled_from((-3.0, -1.0, 0.0, 0.5, 2.0))
    sides = [
        x,
        y,
        question.minus(x, y),
        question.minus(y, x),
        question.plus(x, y),
        *map(question.number, (-3.0, 0.0, 2.0)),
    ]
    for _ in range(data.draw(st.integers(1, 3))):
        left, right = data.draw(st.sampled_from(sides)), data.draw(st.sampled_from(sides))
        question.require(question.compare(left, data.draw(st.sampled_from(SIGNS)), right))
    asked = question.plus(*(question.times(data.draw(numbers), data.draw(st.sampled_from(sides))) for _ in range(3)))
    asked = question.minus(asked, data.draw(st.sampled_from(sides)))
    program = question.program(asked)
    found = maximise(program)
    chance = random.Random(0)
    for _ in range(60):
        row = {"x": round(chance.uniform(-5, 5), 1), "y": round(chance.uniform(-5, 5), 1)}
        worth = evaluate(program, {name: row[name] for name in program.inputs})
        assert worth <= found.bound or is_close(worth, found.bound), (row, worth, found)
