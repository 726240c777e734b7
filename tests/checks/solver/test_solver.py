"""The solver: boxes first, z3 where they do not settle it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field
from plaudit.checks.model import RewardModel
from plaudit.checks.solver.boxes import evaluate
from plaudit.checks.solver.deadline import Deadline
from plaudit.checks.solver.question import Impossible, Question, Unknown, Witness
from plaudit.checks.solver.solver import Solver, simplify_row
from plaudit.checks.solver.z3 import is_available
from plaudit.language import nodes as n
from support.asking import asked, samples
from support.examples import examples
from support.written import readable, reward_from

proving = pytest.mark.skipif(not is_available(), reason="z3 is not installed")
UNIT, SIDE = Field("x", low=0, high=1), Field("y", low=0, high=1)
SOLVERS = [Solver(), Solver(z3=False)]


def put(text, *fields):
    """Return a question about the reward that gives `text`, and where its total stands in it."""
    names = ", ".join(field.name for field in fields)
    question = Question()
    copy = question.copy(RewardModel(reward_from(f"def f({names}): return {text}", *fields)).program)
    return question, copy["total"]


def is_one(question, total):
    return question.compare(total, n.Eq, question.number(1))


@pytest.mark.parametrize("solver", SOLVERS, ids=["z3", "boxes"])
def test_boxes_alone_settle_what_one_input_decides(solver):
    question, total = put("1 if 0.25 < x < 0.5 else 2 if x > 0.9 else 0", UNIT)
    row = solver.find_example(question, is_one(question, total)).row
    assert 0.25 < row["x"] < 0.5
    assert solver.find_example(question, question.compare(total, n.Gt, question.number(2))) == Impossible()
    assert solver.maximise(question, total).bound == 2
    assert solver.minimise(question, total).bound == 0
    assert solver.find_above(question, total, 1.5).row["x"] > 0.9
    assert solver.find_above(question, total, 2) == Impossible()


@proving
def test_z3_settles_what_takes_several_inputs_together():
    question, total = put("3 * x - 2 * x + (1 - x)", UNIT)
    above = question.compare(total, n.Gt, question.number(1.5))
    assert not isinstance(Solver(z3=False).find_example(question, above), Witness)
    assert Solver().maximise(question, total).exact
    assert Solver().maximise(question, total).bound == pytest.approx(1)
    assert Solver().minimise(question, total).bound == pytest.approx(1)
    assert Solver().find_above(question, total, 1.0) == Impossible()
    assert isinstance(Solver(z3=False).find_above(question, total, 1.0), Unknown)


@proving
def test_z3_says_that_what_is_given_can_never_be():
    question, total = put("x + y", UNIT, SIDE)
    question.require(question.compare(question.minus(question.times(3, total), question.times(2, total)), n.Gt, total))
    assert Solver(z3=False).maximise(question, total).possible
    assert not Solver().maximise(question, total).possible


@proving
def test_a_row_that_z3_proposes_is_run_before_it_is_believed():
    question, total = put("1 if math.exp(x) == 1.5 and y > x else 0", UNIT, SIDE)
    answer = Solver().find_example(question, is_one(question, total))
    assert isinstance(answer, Unknown) or evaluate(question.program(total), answer.row) == 1


@proving
def test_what_z3_does_not_know_is_never_called_impossible():
    question, total = put("1 if math.sin(x) * math.cos(y) > 0.2 and x + y < 0.7 and x - y > -0.1 else 0", UNIT, SIDE)
    assert Solver().find_example(question, is_one(question, total)) != Impossible()


@proving
def test_no_time_leaves_it_open():
    text = "x ** 7 * y - z ** 5 * x + y ** 3 * z == 1.2345 and x * y * z == 0.77 and x < y < z"
    question, total = put(text, *(Field(name, low=-9, high=9) for name in "xyz"))
    solver = Solver(Deadline.after(0.2), boxes=5)
    assert isinstance(solver.find_example(question, is_one(question, total)), Unknown)
    assert isinstance(solver.find_above(question, total), Unknown)
    assert not solver.maximise(question, total).exact


@pytest.mark.parametrize("solver", SOLVERS, ids=["z3", "boxes"])
def test_a_witness_is_told_in_numbers_that_people_can_read(solver):
    fields = [Field("x"), Field("y", low=3)]
    question, total = put("x + y", *fields)
    row = solver.find_above(question, total, 100).row
    assert row["x"] + row["y"] > 100
    assert all(abs(value) <= 1e6 for value in row.values())
    row = solver.find_example(question, question.compare(total, n.Lt, question.number(-100))).row
    assert row["x"] + row["y"] < -100
    assert all(abs(value) <= 1e6 for value in row.values())


@pytest.mark.parametrize("solver", SOLVERS, ids=["z3", "boxes"])
def test_what_lies_far_away_is_found_by_z3_and_left_open_without_it(solver):
    question, total = put("1 if x > 1e12 else 0", Field("x"))
    for answer in (solver.find_example(question, is_one(question, total)), solver.find_above(question, total, 0.5)):
        assert answer.row["x"] > 1e12 if solver.proves else isinstance(answer, Unknown)


@proving
def test_rounding_of_very_large_numbers_is_no_witness():
    question, total = put("(x - y) + (y - z) + (z - x)", Field("x"), Field("y"), Field("z"))
    assert Solver().find_above(question, total) == Impossible()
    assert isinstance(Solver(z3=False).find_above(question, total), Unknown)


@proving
@pytest.mark.parametrize("length", [3, 4])
def test_what_takes_several_inputs_at_infinity_is_not_called_impossible(length):
    text = "sum(1.0 if math.isinf(each) else 0.0 for each in x) - y + (y - 2 * y) + 2 * y"
    question, total = put(text, Field("x", length=length, low=0, infinite=True), SIDE)
    answer = Solver(boxes=1).find_example(question, question.compare(total, n.Gt, question.number(length - 0.5)))
    assert answer != Impossible()
    found = Solver(boxes=1).maximise(question, total)
    assert found.bound >= length


@pytest.mark.parametrize("solver", SOLVERS, ids=["z3", "boxes"])
def test_nothing_is_above_what_cannot_be(solver):
    question, total = put("1 / x", Field("x", values=(0,)))
    assert solver.find_above(question, total) == Impossible()
    assert not solver.maximise(question, total).possible


def test_only_what_is_given_counts():
    question, total = put("x - y", UNIT, SIDE)
    question.require(question.compare(question.input("x", UNIT), n.Le, question.input("y", SIDE)))
    for solver in SOLVERS if is_available() else SOLVERS[1:]:
        assert solver.find_above(question, total) == Impossible()
        assert solver.maximise(question, total).bound == 0


def test_the_value_at_a_row_is_exact_and_nothing_where_it_cannot_be_scored():
    program = asked(RewardModel(reward_from("def f(x): return 0.1 / x", Field("x", low=0, high=1))).program, "total")
    assert evaluate(program, {"x": 0.3}) == 0.1 / 0.3
    assert evaluate(program, {"x": 0.0}) == -math.inf


@examples(0.08)
@given(case=readable(), seed=st.integers(0, 2**32), boxes=st.sampled_from((1, 20)))
def test_what_happens_is_never_called_impossible(case, seed, boxes):
    program = RewardModel(case.reward).program
    solver = Solver(Deadline.after(600), boxes=boxes, questions=6000)
    for sample in samples(case, seed, 3, short=True):
        if sample.scores is None:
            continue
        question = Question()
        total = question.copy(program)["total"]
        limit = sample.of("total") - 1e-6 * max(1.0, abs(sample.of("total")))
        answer = solver.find_above(question, total, limit)
        assert answer != Impossible(), sample
        if isinstance(answer, Witness):
            assert evaluate(question.program(total), answer.row) > limit
        assert solver.find_example(question, question.compare(total, n.Gt, question.number(limit))) != Impossible(), (
            sample
        )
        assert solver.maximise(question, total).bound >= limit


@pytest.mark.parametrize(
    ("text", "given", "plain"),
    [
        ("3 - abs(x)", 5e-324, 0.0),
        ("1 if x > 40 else 0", 40.00000000000001, 41.0),
        ("1 if 40 < x < 40.5 else 0", 40.00000000000001, 40.1),
        ("1 if 40 < x < 40.02 else 0", 40.00000000000001, 40.01),
        ("x if x < 5 else 0", 4.999999999999999, 4.999),
        ("x * x", 100.0, 100.0),
        ("1 if x > 2 else 0", 17.0, 17.0),
        ("1 if x > -2 else 0", 17.0, 0.0),
        ("1 if x == 1 / 3 else 0", 1 / 3, 1 / 3),
    ],
)
def test_numbers_become_plain_where_that_costs_nothing_or_next_to_nothing(text, given, plain):
    program = asked(RewardModel(reward_from(f"def f(x): return {text}", Field("x", low=-9, high=100))).program, "total")
    row = simplify_row(program, {"x": given})
    assert row == {"x": plain}
    assert evaluate(program, row) >= evaluate(program, {"x": given}) * 0.999
