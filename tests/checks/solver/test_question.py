"""Questions: copies of programs side by side, and what is asked of them."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field, Reward, Task, term
from plaudit.checks.model import RewardModel
from plaudit.checks.solver.boxes import compile_question, evaluate
from plaudit.checks.solver.question import Question, split_by_infinity, splits_completely
from plaudit.language import nodes as n
from support.asking import asked, outputs, samples
from support.examples import examples
from support.written import readable, reward_from


def value(question, at, row):
    """Return what a position of a question is worth at a row; the row may hold more than is asked about.

    What intervals make of the row is never more: a zero has two signs there, and `atan2` another side for each.
    """
    program = question.program(at)
    given = {name: row[name] for name in program.inputs}
    found = compile_question(program)(given)
    assert evaluate(program, given) <= found or evaluate(program, given) == near(found)
    return found


def near(number):
    """Compare within a few last bits: of `atan2` and the like an interval is known, not the bit."""
    return pytest.approx(number, rel=1e-12, abs=1e-12)


@examples(0.1)
@given(case=readable(), seed=st.integers(0, 2**32), data=st.data())
def test_a_copy_is_worth_what_the_reward_gives_however_its_inputs_are_named_and_fixed(case, seed, data):
    program = RewardModel(case.reward).program
    for sample in samples(case, seed, 6, short=True):
        if sample.scores is None or math.inf in sample.row.values():
            continue  # inf - inf may be compared on the way, and then no interval says how that comes out
        names = {name: f"{name}, renamed" for name in data.draw(st.sets(st.sampled_from([*sample.row, "?"])))}
        fixed = {name: sample.row[name] for name in data.draw(st.sets(st.sampled_from([*sample.row, "?"]))) - {"?"}}
        question = Question()
        copy = question.copy(program, names, fixed)
        row = {names.get(name, name): number for name, number in sample.row.items() if name not in fixed}
        for output in outputs(case):
            assert value(question, copy[output], row) == near(sample.of(output)), output
        read = {node.name for node in program.nodes if isinstance(node, n.Input)}
        assert set(question.inputs) == {names.get(name, name) for name in read - fixed.keys()}


@examples(0.05)
@given(case=readable(), seed=st.integers(0, 2**32))
def test_two_copies_stand_side_by_side(case, seed):
    program = RewardModel(case.reward).program
    found = samples(case, seed, 8, short=True)
    scored = [sample for sample in found if sample.scores is not None and math.inf not in sample.row.values()]
    for one, other in pairwise(scored):
        question = Question()
        copies = [question.copy(program, {name: f"{name}, {at}" for name in program.inputs}) for at in (1, 2)]
        row = {f"{name}, {at}": number for at, each in ((1, one), (2, other)) for name, number in each.row.items()}
        apart = question.minus(copies[0]["total"], copies[1]["total"])
        assert value(question, apart, row) == near(one.of("total") - other.of("total"))


ZONES = reward_from(
    """
    def f(x, mood):
        if mood == "calm":
            return 1 / x
        return 2
    """,
    Field("x", low=-5, high=5),
    Field("mood", values=("calm", "wild")),
)


def test_a_row_that_cannot_be_scored_is_worth_nothing_at_all():
    program = asked(RewardModel(ZONES).program, "total")
    assert evaluate(program, {"x": 0.0, "mood": 0.0}) == -math.inf
    assert evaluate(program, {"x": 0.0, "mood": 1.0}) == 2
    question = Question()
    copy = question.copy(RewardModel(ZONES).program, scored=False)
    assert copy.guards
    assert value(question, question.negate(copy.guards[0]), {"x": 0.0, "mood": 0.0}) == 1


def test_a_category_that_is_fixed_decides_its_comparisons():
    question = Question()
    copy = question.copy(RewardModel(ZONES).program, fixed={"mood": 1.0})
    assert question.program(copy["total"]).inputs == {}
    assert isinstance(question.builder.nodes[copy["total"]], n.Const)


def test_what_is_given_of_inputs_that_are_not_asked_about_is_left_out():
    question = Question()
    x, y, z = (question.input(name, Field(name, low=0, high=1)) for name in "xyz")
    question.require(question.compare(y, n.Lt, z))
    assert set(question.program(x).inputs) == {"x"}
    assert set(question.program(y).inputs) == {"y", "z"}
    question.require(question.compare(x, n.Lt, y))
    assert set(question.program(x).inputs) == {"x", "y", "z"}  # through one another
    question.require(question.compare(question.number(1), n.Lt, question.number(0)))
    assert value(question, x, {"x": 0.1, "y": 0.2, "z": 0.3}) == -math.inf  # what can never be true always matters


def test_what_infinity_makes_impossible_always_matters():
    question = Question()
    x, y = (question.input(name, Field(name)) for name in "xy")
    far = question.plus(question.number(math.inf), y)
    question.require(question.builder.simplify(n.IsFinite(far)))
    assert value(question, x, {"x": 0.1, "y": 0.2}) == -math.inf


def test_sums_differences_and_multiples():
    question = Question()
    x, y = (question.input(name, Field(name, low=-9, high=9)) for name in "xy")
    row = {"x": 2.0, "y": -5.0}
    assert value(question, question.plus(x, y, x), row) == -1
    assert value(question, question.minus(x, y), row) == 7
    assert value(question, question.times(0.5, y), row) == -2.5
    assert value(question, question.distance(y, x), row) == 7
    assert question.builder.nodes[question.minus(x, x)] == n.Const(0.0)
    both = question.all([question.compare(x, n.Gt, y), question.compare(y, n.Lt, question.number(0))])
    assert value(question, question.builder.add(n.Number(both)), row) == 1


@pytest.mark.parametrize(("length", "variants"), [(1, 2), (2, 4), (3, 8), (4, 5), (9, 10)])
def test_a_question_is_asked_with_its_open_inputs_finite_and_infinite(length, variants):
    text = "def f(x): return sum(0.0 if math.isinf(each) else 1.0 for each in x)"
    program = asked(RewardModel(reward_from(text, Field("x", length=length, low=0, infinite=True))).program, "total")
    found = split_by_infinity(program)
    assert len(found) == variants
    assert splits_completely(program) is (length <= 3)
    assert not any(field.infinite for each in found for field in each.inputs.values())
    values = sorted(evaluate(each, dict.fromkeys(each.inputs, 0.5)) for each in found)
    assert values[-1] == length
    assert values[0] == (0 if length <= 3 else length - 1)


def test_a_rest_or_stand_in_at_infinity_is_no_obstacle():
    field = Field("x", low=0, infinite=True, missing=math.inf)
    reward = reward_from("def f(x): return 1 if math.isinf(x) else 0", field)
    program = asked(RewardModel(reward.with_task(Task(idle={"x": math.inf}))).program, "total")
    assert [evaluate(each, dict.fromkeys(each.inputs, 3.0)) for each in split_by_infinity(program)] == [0, 1]


def test_parameters_are_constants_of_a_question():
    @term(weight=2)
    def near(x, *, reach=3.0):
        return reach - x

    reward = Reward("reaching", version="1", terms=[near], fields=[Field("x", low=0, high=9)])
    question = Question()
    copy = question.copy(reward.with_params(near={"reach": 5.0}).program)
    assert value(question, copy["total"], {"x": 1.0}) == 8
