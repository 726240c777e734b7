"""What every rule asks with, and the words in which it answers."""

import math

import pytest

from plaudit import Field
from plaudit.checks import smt
from plaudit.checks.ask import Solver
from plaudit.checks.examination import Examination, number, unanswered
from plaudit.checks.rules import RULES
from plaudit.checks.subject import Subject
from written import reward_from

REWARD = reward_from("def f(x, y, z): return (x - y) + (y - z) + (z - x)", *(Field(n, low=0, high=1) for n in "xyz"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.3"),
        (12000.0, "12,000"),
        (-113.0, "-113"),
        (1e15, "1e+15"),
        (-0.0, "0"),
        (1e-7, "1e-07"),
        (math.inf, "inf"),
        (101187.34, "101,187"),
        (True, "1"),
    ],
)
def test_a_number_as_people_write_it(value, text):
    assert number(value) == text


def test_a_rough_span_is_kept_and_a_tight_one_asked_for_only_where_it_is_needed():
    examination = Examination(Subject(REWARD), Solver())
    rough = examination.span("total")
    assert not rough.exact
    assert examination.span("total") is rough
    assert rough.low < 0 < rough.high
    assert (rough.least, rough.most) == pytest.approx((0, 0))
    if smt.available():
        tight = examination.span("total", tight=True)
        assert (tight.low, tight.high) == pytest.approx((0, 0))
        assert examination.span("total", tight=True) is tight
    exact = Examination(Subject(reward_from("def f(x): return x", Field("x", low=0, high=1))), Solver())
    assert exact.span("total", tight=True) is not None
    assert exact.span("total").exact


def test_a_finding_is_as_grave_as_its_rule_unless_told_otherwise():
    examination = Examination(Subject(REWARD), Solver())
    usual = examination.finding("jump", "f", "It jumps.", "Smooth it.")
    assert usual.severity == RULES["jump"].severity == "advice"
    assert usual.place.text.startswith("def f(x, y, z)")
    assert examination.finding("jump", "total", "It jumps.", "Smooth it.", severity="warning").severity == "warning"


def test_why_a_question_was_left_open(monkeypatch):
    examination = Examination(Subject(REWARD), Solver(timeout=0.5))
    if smt.available():
        assert examination.undecided("jump", "f", "whether").why == "whether: no answer within 0.5 s a query"
    assert unanswered(Solver(z3=False)) == "z3 was not to be used" or not smt.available()
    monkeypatch.setattr("plaudit.checks.ask.available", lambda: False)
    monkeypatch.setattr("plaudit.checks.examination.available", lambda: False)
    assert examination.undecided("jump", "f").why == "z3 is not installed: pip install 'plaudit[prove]'"
