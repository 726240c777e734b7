"""The timeout of `bounds`, `prove` and `check` is the time of the whole call, and no question takes it all."""

import os
import signal
import threading
import time
from dataclasses import replace

import pytest

from plaudit import Field, Reward, Task, bounds, check, fact, incentives, prove, term
from plaudit.checks import model
from plaudit.checks.model import Contradiction, RewardModel, find_contradiction
from plaudit.checks.rules import RULES
from plaudit.checks.solver import deadline
from plaudit.checks.solver.deadline import TIME_IS_UP, Deadline
from plaudit.checks.solver.solver import Solver, TimeIsUp
from plaudit.checks.solver.z3 import Z3Question, is_available
from support.asking import asked
from support.written import plain

proving = pytest.mark.skipif(not is_available(), reason="z3 is not installed")

HARD = "1 if x{i}**7 * y{i} - z{i}**5 * x{i} + y{i}**3 * z{i} == {i}.2345 and x{i} * y{i} * z{i} == {end} else 2"
"""Whether it is ever 1, neither boxes nor z3 tell for a long time."""
MANY = 12


def hard_term(at, end=0.77):
    return term(name=f"hard{at}")(plain(f"def f(x{at}, y{at}, z{at}): return {HARD.format(i=at, end=end)}"))


def hard_reward(count, *more, version="1", end=0.77):
    fields = [Field(f"{axis}{at}", low=-9, high=9) for at in range(count) for axis in "xyz"]
    terms = [hard_term(at, end) for at in range(count)]
    others = [Field(name, low=-1, high=1) for name in "ab"] if more else []
    return Reward("hard", version=version, terms=[*terms, *more], fields=[*fields, *others])


@proving
@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(bounds, marks=pytest.mark.slow),
        check,
        pytest.param(incentives, marks=pytest.mark.slow),
        lambda one, **given: prove(one, hard_reward(MANY, version="2", end=0.78), **given),
    ],
    ids=["bounds", "check", "incentives", "prove"],
)
def test_many_hard_terms_take_no_longer_than_the_timeout(ask):
    """With half a second a question they took 8 to 35 seconds."""
    reward = hard_reward(MANY)
    began = time.monotonic()
    ask(reward, timeout=0.5)
    assert time.monotonic() - began < 5


@term
def easy(a, b):
    """Boxes alone do not see that it is 0, and z3 does at once."""
    return 3 * a * b - 2 * a * b - b * a


@proving
def test_what_is_hard_does_not_starve_what_comes_after_it():
    found = bounds(hard_reward(3, easy), timeout=2)
    assert (found.values["easy"].low, found.values["easy"].high) == (0, 0)
    assert found.values["easy"].exact


@proving
def test_what_was_not_decided_in_time_is_never_said_to_be_attained():
    found = bounds(hard_reward(3), timeout=0.3)
    for bound in (found.total, *found.values.values(), *found.scores.values()):
        assert not bound.exact
    assert found.total.low <= 3
    assert found.total.high == 6
    proof = prove(hard_reward(3), hard_reward(3, version="2", end=0.78), timeout=0.3)
    assert proof.verdict == "undecided"


@proving
def test_a_difference_that_comes_after_a_hard_term_is_found():
    @term(name="easy")
    def other(a, b):
        return 3 * a * b - 2 * a * b - b * a + (1 if a * b == 0.375 and a * a + b * b == 0.8125 else 0)

    proof = prove(hard_reward(3, easy), hard_reward(3, other, version="2", end=0.78), timeout=3)
    assert [each.term for each in proof.differences] == ["total", "easy"]


def test_with_no_time_at_all_bounds_are_those_of_intervals():
    reward = hard_reward(2, easy)
    found = bounds(reward, timeout=1e-9)
    assert (found.total.low, found.total.high, found.total.exact) == (-4.0, 10.0, False)
    assert prove(reward, hard_reward(2, version="2"), timeout=1e-9).verdict == "undecided"
    assert prove(reward, hard_reward(2, version="2"), timeout=1e-9).remarks == (
        f"Nothing could be proved: {TIME_IS_UP}.",
    )


def test_everything_is_asked_of_boxes_before_z3_is_asked(monkeypatch):
    monkeypatch.setattr("plaudit.checks.solver.solver.is_available", lambda: True)
    now, order = [0.0], []
    monkeypatch.setattr(deadline, "monotonic", lambda: now[0])

    def ask(key, solver):
        order.append((key, solver.proves, solver._start_question().left))
        now[0] += 1.0
        return "settled" if key == "quick" else "open"

    found = dict.fromkeys(["slow", "quick", "other"], "new")
    Solver(Deadline.after(18)).settle(found, ask, lambda answer: answer != "settled")
    assert order == [
        ("slow", False, 3.0),
        ("quick", False, 4.0),
        ("other", False, 7.0),
        ("slow", True, 7.5),
        ("other", True, 14.0),
    ]
    assert found == {"slow": "open", "quick": "settled", "other": "open"}


def test_what_there_is_no_time_to_ask_keeps_its_answer(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(deadline, "monotonic", lambda: now[0])

    def ask(key, solver):
        now[0] += 10.0
        return "found"

    found = dict.fromkeys("abc", "open")
    Solver(Deadline.after(5), z3=False).settle(found, ask, lambda answer: answer == "open")
    assert found == {"a": "found", "b": "open", "c": "open"}


def test_a_rule_leaves_half_of_the_time_to_those_that_follow(monkeypatch):
    now, given = [0.0], []
    monkeypatch.setattr(deadline, "monotonic", lambda: now[0])

    def burn(context):
        given.append(context.solver.deadline.left)
        now[0] = context.solver.deadline.at
        yield context.undecided("total", "whether", reason="it takes long")
        context.solver.check_clock()

    codes = list(RULES)[:3]
    rules = {code: replace(RULES[code], find=lambda context: burn(context)) for code in codes}
    monkeypatch.setattr("plaudit.checks.rules.RULES", rules)
    report = check(
        Reward("r", version="1", terms=[easy], fields=[Field(name) for name in "ab"]), only=codes, timeout=64
    )
    assert given == [32.0, 16.0, 8.0]
    assert [each.code for each in report.undecided if each.why == TIME_IS_UP] == codes
    assert not report.skipped


def test_a_contradiction_is_told_even_if_there_is_no_time_to_make_it_small(monkeypatch):
    @fact
    def low(a):
        return a < -2

    @fact
    def high(b):
        return b < 5

    fields = [Field(name, low=-1, high=1) for name in "ab"]
    made = RewardModel(Reward("r", version="1", terms=[easy], fields=fields, task=Task(facts=[low, high])))
    assert find_contradiction(made, Solver()) == Contradiction(("low",))
    find_step, calls = model._Declarations.find_step, []

    def find_first_step(self, names):
        calls.append(names)
        if len(calls) > 1:
            raise TimeIsUp
        return find_step(self, names)

    monkeypatch.setattr(model._Declarations, "find_step", find_first_step)
    assert find_contradiction(made, Solver()) == Contradiction(("low", "high"))


@proving
@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_ends_more_than_the_query_that_it_meets(monkeypatch):
    question = Z3Question(asked(RewardModel(hard_reward(1)).program, "total"), Deadline.after(600))
    solve = question._solver.check

    def interrupt_soon(*conditions):
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        return solve(*conditions)

    monkeypatch.setattr(question._solver, "check", interrupt_soon)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            question.solve(question.asked < 1.5)
            time.sleep(60)  # for a signal that comes late
    finally:
        signal.signal(signal.SIGINT, before)
