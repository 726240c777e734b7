"""Bounds hold every value that a reward gives; where they are called exact, they are attained."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError, Field, Reward, Seen, Task, fact, term
from plaudit.checks.bounds import Bound, Ranges, Span, bounds
from plaudit.checks.model import RewardModel
from plaudit.checks.solver.boxes import is_close
from plaudit.checks.solver.deadline import Deadline
from plaudit.checks.solver.solver import Solver
from plaudit.checks.solver.z3 import is_available
from support.asking import outputs, samples
from support.examples import examples
from support.samples import following
from support.written import readable, reward_from

PROVING = [False, True] if is_available() else [False]


def test_facts_narrow_what_can_happen():
    assert bounds(following).total == Bound(-123.0, 1.0)
    assert bounds(following, facts=True).total == Bound(-119.0, 1.0)  # who brakes hard has braked when it was close


def holds(bound, value):
    return bound.low <= value <= bound.high or is_close(value, bound.low) or is_close(value, bound.high)


def check_that_they_hold(case, seed, solver):
    """Assert that random rows lie within the bounds of everything, and that exact ends are attained."""
    model = RewardModel(case.reward)
    found = Ranges(model, solver, facts=False).bounds()
    named = {"total": found.total}
    named |= {f"{name}.value": bound for name, bound in found.values.items()}
    named |= {f"{name}.score": bound for name, bound in found.scores.items()}
    assert sorted(named) == sorted(outputs(case))
    for sample in samples(case, seed, 25):
        for output, bound in named.items():
            assert sample.scores is None or holds(bound, sample.of(output)), (output, bound, sample)
    if found.total.exact and math.isfinite(found.total.size):
        for row, end in ((found.total.lowest, found.total.low), (found.total.highest, found.total.high)):
            assert is_close(case.reward.compile("python")(row).total, end), (row, end)


@examples(0.06)
@given(case=readable(), seed=st.integers(0, 2**32))
def test_bounds_hold_without_z3(case, seed):
    check_that_they_hold(case, seed, Solver(z3=False))


@pytest.mark.skipif(not is_available(), reason="z3 is not installed")
@examples(0.03)
@given(case=readable(), seed=st.integers(0, 2**32))
def test_bounds_hold_with_z3(case, seed):
    check_that_they_hold(case, seed, Solver(Deadline.after(0.5)))


UNIT = Field("x", low=0, high=1)


def test_a_row_that_cannot_be_scored_attains_nothing():
    @term(gated=False)
    def pay(x):
        return x

    def opened(x):
        return 2.0 / x

    reward = Reward("r", version="1", terms=[pay], fields=[UNIT], gate=opened)
    tiny = Span(0.0, 1.0, {"x": 5e-324}, {"x": 1.0}, 0.0, 1.0, exact=True)  # 2 / 5e-324 is beyond every float
    total = tiny.bound(RewardModel(reward))
    assert (total.lowest, total.highest, total.exact) == (None, {"x": 1.0}, False)


def test_inputs_that_go_together_are_seen_through_by_z3_alone():
    reward = reward_from("def f(x): return 3 * x - 2 * x + (1 - x)", UNIT)
    without = Ranges(RewardModel(reward), Solver(z3=False)).span("total")
    assert not without.exact
    assert without.low < 1 < without.high
    if is_available():
        assert bounds(reward).total == Bound(1.0, 1.0)


def test_what_is_not_exact_says_so():
    assert str(Bound(-1.0, 2.5)) == "[-1, 2.5]"
    assert str(Bound(-1.0, 2.5, exact=False)) == "within [-1, 2.5]"
    assert str(Bound(-math.inf, math.inf)) == "[-inf, inf]"
    assert Bound(-3.0, 2.0).size == 3


def test_scores_lie_before_and_values_after_clamp_and_weight():
    @term(weight=-2, high=0.5)
    def effort(x):
        return 3 * x

    found = bounds(Reward("r", version="1", terms=[effort], fields=[UNIT], high=-0.25))
    assert found.scores["effort"] == Bound(0.0, 3.0)
    assert found.values["effort"] == Bound(-1.0, 0.0)
    assert found.total == Bound(-1.0, -0.25)


def test_a_terminal_term_is_worth_nothing_before_the_end():
    @term(terminal=True)
    def end(x):
        return 5 + x

    found = bounds(Reward("r", version="1", terms=[end], fields=[UNIT]))
    assert found.total == Bound(0.0, 6.0)
    assert found.total.highest == {"x": 1.0, "terminal": True}


def test_a_field_without_range_leaves_a_total_without_bound():
    assert bounds(reward_from("def f(x): return x", Field("x", low=2))).total == Bound(2.0, math.inf)
    assert bounds(reward_from("def f(x): return x", Field("x", low=2), high=9)).total == Bound(2.0, 9.0)
    assert bounds(reward_from("def f(x): return x * x", Field("x"))).total.low == 0


def test_a_range_that_was_only_seen_bounds_nothing():
    made, known = reward_from("def f(x): return x", Field("x", low=2)), [Field("x", high=5)]
    assert bounds(made.with_task(Task(fields=known))).total == Bound(2.0, 5.0)
    seen = Task(fields=known, seen={"fields.x": Seen(900, 900)})
    assert bounds(made.with_task(seen)).total == Bound(2.0, math.inf)


@pytest.mark.parametrize("outside", ["clip", "allow"])
def test_what_is_declared_counts_not_what_may_pass_the_door(outside):
    field = Field("x", low=0, high=1, outside=outside)
    assert bounds(reward_from("def f(x): return 2 * x", field)).total == Bound(0.0, 2.0)


def test_infinity_counts_where_it_is_allowed():
    text = "def f(x): return 7 if math.isinf(x) else -min(x, 3)"
    assert bounds(reward_from(text, Field("x", low=1, infinite=True))).total == Bound(-3.0, 7.0)
    assert bounds(reward_from(text, Field("x", low=1))).total == Bound(-3.0, -1.0)


def test_a_step_that_facts_rule_out_is_not_counted():
    @term
    def gain(prev, curr):
        return curr.level - prev.level

    task = Task(max_change={"level": 2}, monotone={"level": "up"})
    reward = Reward("r", version="1", terms=[gain], fields=[Field("level", low=0, high=9)], task=task)
    assert bounds(reward).total == Bound(-9.0, 9.0)
    assert bounds(reward, facts=True).total == Bound(0.0, 2.0)


def test_facts_that_contradict_each_other_leave_nothing():
    @term
    def pay(x):
        return x

    @fact
    def small(x):
        return x < 0.3

    @fact
    def large(x):
        return x > 0.7

    reward = Reward("r", version="1", terms=[pay], fields=[UNIT], task=Task(facts=[small, large]))
    with pytest.raises(DefinitionError, match="makes the facts 'small' and 'large' true at once"):
        bounds(reward, facts=True)
    assert bounds(reward).total == Bound(0.0, 1.0)


def test_only_a_reward_has_bounds():
    with pytest.raises(DefinitionError, match="bounds takes a Reward, not a Field"):
        bounds(Field("x"))
