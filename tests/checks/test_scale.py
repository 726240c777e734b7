"""Large rewards: what is looked at grows with what is there and not with its combinations, and the time is kept."""

import tracemalloc
from itertools import count

import pytest

from plaudit import Field, Reward, Task, check, fact, term
from plaudit.checks.model import RewardModel
from plaudit.checks.rules import loops
from plaudit.checks.rules.registry import CheckContext
from plaudit.checks.rules.state_graph import MOST_CHOICES, StateGraph
from plaudit.checks.solver import boxes, deadline, solver
from plaudit.checks.solver.deadline import TIME_IS_UP
from plaudit.checks.solver.z3 import Z3Question, is_available


@term(weight=-0.0002, kind="penalty")
def torques(torque):
    return sum(each * each for each in torque)


@term(weight=-0.01, kind="penalty")
def jerks(prev, curr):
    return sum((after - before) ** 2 for before, after in zip(prev.action, curr.action, strict=True))


@term(weight=-0.05, kind="penalty")
def limits(joint):
    return sum(max(0.0, abs(each) - 1.2) for each in joint)


@term
def speed(velocity, command):
    return 1 - min(1.0, abs(command - velocity))


def quadruped(joints):
    """Return a walking reward over so many joints."""
    fields = [
        Field("torque", length=joints, low=-40, high=40),
        Field("action", length=joints, low=-1, high=1),
        Field("joint", length=joints, low=-1.5, high=1.5),
        Field("velocity", low=-3, high=3),
        Field("command", low=-1, high=1),
    ]
    terms, task = [torques, jerks, limits, speed], Task(states=["joint", "velocity", "command"])
    return Reward("quadruped", version="1", terms=terms, fields=fields, action="action", task=task)


@pytest.fixture
def rows_tried(monkeypatch):
    """Return a function that counts the rows and boxes that a piece of work looks at."""
    tried = count()
    bounded = boxes.bound_nodes_within
    monkeypatch.setattr(
        boxes, "bound_nodes_within", lambda *given, **named: (next(tried) and None) or bounded(*given, **named)
    )

    def measure(work):
        first = next(tried)
        work()
        return next(tried) - first

    return measure


def test_twice_the_joints_are_hardly_more_to_look_at(rows_tried):
    few, many = (rows_tried(lambda joints=joints: check(quadruped(joints))) for joints in (12, 24))
    assert many < 1.5 * few


def test_many_joints_leave_nothing_undecided():
    report = check(quadruped(12))
    assert report.undecided == ()
    assert report.failed == ()
    assert not report.by_code("loop-that-pays")


def test_that_no_lap_pays_takes_no_search_over_laps(monkeypatch):
    asked = []
    monkeypatch.setattr(loops, "_find_lap", lambda *given: asked.append(given))
    assert check(quadruped(12), only="loop-that-pays").findings == ()
    assert not asked


def test_a_step_that_pays_more_than_where_it_leads_is_no_proof():
    @term(weight=0.5)
    def gain(prev, curr):
        return max(0.0, curr.height - prev.height)

    fields = [Field("height", low=0, high=9)]
    (lap, *_) = check(Reward("r", version="1", terms=[gain], fields=fields), only="loop-that-pays")
    assert "a 2-step cycle" in lap.message


def test_where_nobody_can_stand_a_step_may_pay_all_the_same():
    @term
    def moved(prev, curr):
        return 2.0 - abs(curr.x - prev.x)

    @fact
    def never_still(prev, curr):
        return abs(curr.x - prev.x) >= 1

    def gains_nothing(*facts):
        fields, task = [Field("x", low=0, high=9)], Task(facts=facts)
        made = Reward("r", version="1", terms=[moved], fields=fields, task=task)
        context = CheckContext(RewardModel(made), solver.Solver())
        return loops._gains_nothing(context, context.model)

    assert gains_nothing()
    assert not gains_nothing(never_still)


def test_the_choices_of_a_step_are_not_all_made():
    @term
    def walked(prev, curr, action):
        return abs(curr.x - prev.x) - 0.01 * sum(each * each for each in action)

    fields = [Field("x", low=-5, high=5), Field("action", low=-1, high=1, length=14)]
    graph = StateGraph(RewardModel(Reward("walk", version="1", terms=[walked], fields=fields, action="action")))
    tracemalloc.start()
    assert graph.laps()
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(graph.options) <= MOST_CHOICES
    assert used < 50e6


def test_memory_does_not_grow_with_the_steps_between_states():
    made = quadruped(16)
    tracemalloc.start()
    check(made, z3=False)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 100e6


class Clock:
    """A clock on which every look at it takes a second."""

    def __init__(self):
        self.seconds = count()
        self.now = 0

    def __call__(self):
        self.now = next(self.seconds)
        return self.now


def test_no_question_is_asked_once_the_time_is_up(monkeypatch):
    clock, begun = Clock(), []
    monkeypatch.setattr(deadline, "monotonic", clock)
    start = solver.Solver._start_question

    def start_question(self):
        end = start(self)  # or TimeIsUp
        begun.append(clock.now)
        return end

    monkeypatch.setattr(solver.Solver, "_start_question", start_question)
    report = check(quadruped(6), timeout=100)
    assert begun
    assert max(begun) < 105
    assert TIME_IS_UP in report.skipped.values()
    assert clock.now < 200


@pytest.mark.skipif(not is_available(), reason="z3 is not installed")
def test_no_query_is_given_more_time_than_is_left(monkeypatch):
    given = []

    class Timed(Z3Question):
        def __init__(self, program, deadline):
            given.append(deadline.left)
            super().__init__(program, deadline)

    monkeypatch.setattr(solver, "Z3Question", Timed)

    @term
    def tangled(x, y, z):
        return x * y * z - y * z * x

    fields = [Field(name, low=-1, high=1) for name in "xyz"]
    check(Reward("r", version="1", terms=[tangled], fields=fields), timeout=2)
    assert given
    assert max(given) <= 2 / solver.QUESTIONS
