"""What is given of a question narrows its intervals, and never too far."""

import random

from hypothesis import given
from hypothesis import strategies as st

from asking import share
from plaudit import Field
from plaudit.checks.ask import value_of
from plaudit.checks.assumed import assumed
from plaudit.checks.boxes import close, highest
from plaudit.checks.question import Question
from plaudit.language import nodes as n
from plaudit.language.interval import Interval

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
    known = {repr(program.nodes[at]): interval for at, interval in assumed(program).items()}
    assert sorted(interval for text, interval in known.items() if text.startswith("Sub")) == [(-2, 1), (-1, 2)]


def test_an_order_bounds_a_difference():
    question, x, y = two()
    question.require(question.compare(x, n.Lt, y))
    program = question.program(question.minus(y, x))
    assert assumed(program)[program.outputs["asked"]] == Interval(0, float("inf"))
    assert highest(question.program(question.minus(x, y))).bound == 0


@share(0.5)
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
    found = highest(program)
    chance = random.Random(0)
    for _ in range(60):
        row = {"x": round(chance.uniform(-5, 5), 1), "y": round(chance.uniform(-5, 5), 1)}
        worth = value_of(program, {name: row[name] for name in program.inputs})
        assert worth <= found.bound or close(worth, found.bound), (row, worth, found)
