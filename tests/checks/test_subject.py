"""A reward as the checker sees it: roles, facts about a step, and rows told to people."""

import math

import pytest

from plaudit import Field, Reward, fact, term
from plaudit.checks.ask import Solver, value_of
from plaudit.checks.question import Question
from plaudit.checks.subject import UNCLAMPED, Subject
from plaudit.language import nodes as n
from written import reward_from


@term
def closer(prev, curr, action, bumped):
    return prev.distance - curr.distance - 0.1 * action - bumped


@fact
def slow(prev, curr):
    return curr.distance <= prev.distance + 2


FIELDS = [
    Field("distance", low=0, high=10, step=3),
    Field("action", values=(0, 1, 2)),
    Field("bumped", flag=True),
]
REWARD = Reward("walk", version="1", terms=[closer], fields=FIELDS, action="action", facts=[slow])


def test_what_a_field_is_to_the_agent():
    subject = Subject(REWARD)
    roles = {name: subject.role(field) for name, field in REWARD.fields.items()}
    assert roles == {"distance": "state", "action": "action", "bumped": "event"}
    assert subject.quiet == {"bumped": 0.0}
    assert list(subject.ends()) == [("prev.distance", "curr.distance")]


def test_a_declared_role_goes_before_what_is_guessed():
    fields = [Field("distance", low=0, high=10, role="event"), *FIELDS[1:]]
    subject = Subject(Reward("walk", version="1", terms=[closer], fields=fields))
    assert subject.quiet.keys() == {"prev.distance", "curr.distance", "action", "bumped"}


def test_a_field_that_only_a_fact_reads_before_the_step_is_a_state():
    @term
    def near(distance):
        return -distance

    @fact
    def calm(prev, distance):
        return abs(distance - prev.distance) <= 1

    reward = Reward("r", version="1", terms=[near], fields=[Field("distance", low=0, high=9)], facts=[calm])
    subject = Subject(reward)
    assert set(subject.fields) == {"distance", "prev.distance"}
    assert subject.role(subject.fields["distance"]) == "state"
    assert list(subject.ends()) == [("prev.distance", "distance")]
    assert subject.about("distance") == ("calm",)


def test_facts_are_named_by_what_they_are_about():
    assert Subject(REWARD).about("curr.distance") == ("slow", "distance changes by at most 3 in a step")
    assert Subject(REWARD).about("action") == ()
    rising = Field("distance", low=0, monotone="up")
    reward = Reward("walk", version="1", terms=[closer], fields=[rising, *FIELDS[1:]])
    assert Subject(reward).about("prev.distance") == ("distance only rises",)
    falling = Field("distance", low=0, monotone="down")
    reward = Reward("walk", version="1", terms=[closer], fields=[falling, *FIELDS[1:]])
    assert Subject(reward).about("prev.distance") == ("distance only falls",)


def test_a_row_keeps_facts_steps_and_directions():
    question = Question()
    copy = Subject(REWARD).row(question)
    program = question.program(copy["total"])
    row = {"prev.distance": 5.0, "curr.distance": 6.0, "action": 0.0, "bumped": 0.0}
    assert value_of(program, row) == -1
    assert value_of(program, row | {"curr.distance": 7.5}) == -math.inf  # the fact
    assert value_of(program, row | {"curr.distance": 1.5}) == -math.inf  # the step
    assert value_of(program, row | {"curr.distance": 2.0}) == 3


def test_facts_hold_of_renamed_rows_too():
    question = Question()
    names = {"prev.distance": "s", "curr.distance": "t"}
    copy = Subject(REWARD).row(question, names=names, fixed={"bumped": 0.0, "action": 1.0})
    program = question.program(copy["total"])
    assert set(program.inputs) == {"s", "t"}
    assert value_of(program, {"s": 5.0, "t": 4.0}) == pytest.approx(0.9)
    assert value_of(program, {"s": 5.0, "t": 9.0}) == -math.inf


def test_a_step_that_is_fixed_at_one_end_keeps_to_what_is_declared():
    question = Question()
    copy = Subject(REWARD).row(question, fixed={"prev.distance": 5.0})
    assert Solver(z3=False).highest(question, copy["total"]).bound == 3


def test_the_sum_before_the_last_clamp_is_an_output():
    reward = Reward("walk", version="1", terms=[closer], fields=FIELDS, low=-1, high=1)
    program = Subject(reward).program
    assert isinstance(program.nodes[program.outputs["total"]], n.Clip | n.Min | n.Max)
    question = Question()
    assert Solver(z3=False).highest(question, question.copy(program)[UNCLAMPED]).bound == 10


def test_conditions_that_cannot_fail_are_left_out():
    safe = reward_from("def f(x): return 1 / (1 + x)", Field("x", low=0, high=1))
    unsafe = reward_from("def f(x): return 1 / x", Field("x", low=0, high=1))
    assert Subject(safe).program.domain == ()
    assert [guard.why for guard in Subject(unsafe).program.domain] == ["divides by zero"]


def test_a_row_is_told_with_what_it_really_gets():
    subject = Subject(REWARD)
    step = subject.step({"prev.distance": 5.0, "curr.distance": 4.0}, "closer")
    assert step.inputs == {"prev.distance": 5.0, "curr.distance": 4.0, "action": 0.0, "bumped": False}
    assert (step.total, step.note) == (1.0, "closer")
    assert subject.step({"action": 2.0}, only=frozenset(["action"])).about == ("action",)
    unsafe = Subject(reward_from("def f(x): return 1 / x", Field("x", low=0, high=1)))
    assert unsafe.step({"x": 0.0}).total is None


def test_a_row_that_stands_alone_is_told_in_plain_numbers():
    subject = Subject(reward_from("def f(x): return 1 if x > 40 else 0", Field("x", low=0)))
    assert subject.step({"x": 3.7e205}, plain=True).inputs == {"x": 100.0}
    assert subject.step({"x": 40.00000001}, plain=True).inputs == {"x": 100.0}
    assert subject.step({"x": 17.123456}, plain=True).inputs == {"x": 0.0}
    linear = Subject(reward_from("def f(x): return x", Field("x", low=0)))
    assert linear.step({"x": 17.123456}, plain=True).inputs == {"x": 17.123456}


def test_where_a_term_is_defined():
    place = Subject(REWARD).where("closer")
    assert place.file.endswith("test_subject.py")
    assert place.text == "def closer(prev, curr, action, bumped):"
    loaded = Reward.from_json(REWARD.to_json())
    assert Subject(loaded).where("closer") is None
    assert Subject(REWARD).where("total") is None


def test_what_depends_on_what():
    @term(weight=0)
    def silent(x):
        return x

    @term
    def loud(y):
        return y

    fields = [Field("x", low=0, high=1), Field("y", low=0, high=1)]
    subject = Subject(Reward("r", version="1", terms=[silent, loud], fields=fields))
    assert subject.reads_score["silent"] == {"x"}
    assert subject.reads["loud"] == {"y"}
    assert "y" in subject.reads["total"]
