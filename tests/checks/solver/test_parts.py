"""Sums are looked at part by part, parts that are alike once, and both give what the whole gives."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field
from plaudit.checks.model import RewardModel
from plaudit.checks.solver import boxes, solver
from plaudit.checks.solver.boxes import is_close, maximise
from plaudit.checks.solver.parts import list_parts, maximise_by_parts
from plaudit.checks.solver.question import Question
from plaudit.checks.solver.solver import Solver
from support.asking import asked, outputs, samples
from support.examples import examples
from support.written import readable, reward_from

VECTOR = Field("v", length=12, low=-1, high=2)
XYZ = [Field(name, low=0, high=4) for name in "xyz"]


def question(text, *fields):
    return asked(RewardModel(reward_from(text, *fields)).program, "total")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x - y * 2 + abs(z)", [{"x"}, {"y"}, {"z"}]),
        ("x * y + z", [{"x", "y"}, {"z"}]),
        ("-(x + y) / 3 - z", [{"x"}, {"y"}, {"z"}]),
        ("(x - y) * (y - z)", [{"x", "y", "z"}]),
        ("max(x, y) + z - 5", [{"x", "y"}, {"z"}, set()]),
    ],
)
def test_what_shares_no_input_is_apart(text, parts):
    made = question(f"def f(x, y, z): return {text}", *XYZ)
    assert [set(part.inputs) for part in list_parts(made)] == parts


@pytest.mark.parametrize(
    ("text", "high"),
    [
        ("sum(e * e for e in v)", 48.0),
        ("-sum(abs(e - 1) for e in v)", 0.0),
        ("min(3.0, sum(v))", 3.0),
        ("-max(0.0, 5 - sum(v))", 0.0),
        ("math.exp(-sum(e * e for e in v))", 1.0),
        ("1 - math.sqrt(sum(e * e for e in v))", 1.0),
    ],
)
def test_entries_that_are_treated_alike_are_one_question(text, high, monkeypatch):
    program = question(f"import math\ndef f(v): return {text}", VECTOR)
    searched = []
    monkeypatch.setattr(
        solver, "maximise", lambda part, *end, **how: searched.append(part) or maximise(part, *end, **how)
    )
    ask = Question()
    copy = ask.copy(program)
    ask.require(copy["given"])
    found = Solver(z3=False).maximise(ask, copy["asked"])
    assert (found.value, found.exact) == (pytest.approx(high), True)
    assert [len(part.inputs) for part in searched if part.inputs] == [1]


def test_what_is_given_keeps_inputs_together():
    ask = Question()
    x, y = (ask.input(name, XYZ[0]) for name in "xy")
    ask.require(ask.compare(ask.plus(x, y), boxes.n.Le, ask.number(3.0)))
    program = ask.program(ask.plus(x, y))
    assert len(list_parts(program)) == 1
    assert maximise_by_parts(program, maximise).bound == pytest.approx(3.0)


def test_a_part_that_cannot_be_leaves_nothing():
    ask = Question()
    x, y = (ask.input(name, XYZ[0]) for name in "xy")
    ask.require(ask.compare(x, boxes.n.Gt, ask.number(9.0)))
    assert maximise_by_parts(ask.program(ask.plus(x, y)), maximise).bound == -math.inf


@examples(0.1)
@given(case=readable(), seed=st.integers(0, 2**32), data=st.data())
def test_nothing_is_higher_than_the_parts_together(case, seed, data):
    model = RewardModel(case.reward)
    output = data.draw(st.sampled_from(outputs(case)))
    found = maximise_by_parts(asked(model.program, output), maximise)
    for sample in samples(case, seed, 30):
        if sample.scores is not None:
            assert sample.of(output) <= found.bound or is_close(sample.of(output), found.bound), (sample, found)
