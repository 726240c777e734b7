"""Intervals hold every value that a node takes, and what is surely true is true."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import Field
from plaudit.errors import OutsideDomain
from plaudit.language import nodes as n
from plaudit.language.intervals import ANYTHING, Interval, bound_field, bound_nodes, join_intervals
from plaudit.language.static import analyse_program
from plaudit.testing.rows import as_inputs
from support.examples import examples
from support.strategies import rows
from support.written import readable, reward_from

ODD = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1e300, -1e300, 5e-324, 710.0, -0.99)


def holds(interval, value):
    """Return whether an interval holds a value; what may be NaN lies in ANYTHING."""
    return interval == ANYTHING if math.isnan(value) else interval.low <= value <= interval.high


def check(program, sample, evaluator, *, ranges):
    """Assert that what is known of `program` before any row is true of every row of `sample`."""
    found, sure = bound_nodes(program, ranges=ranges), analyse_program(program, ranges=ranges)
    partial = sorted(sure.defined)
    nodes = (*program.nodes, *(n.Defined(at) for at in partial))
    values_of = evaluator(nodes, program.inputs, program.params)
    for row in sample:
        values = values_of(*row, *program.params.values())
        for at, interval in enumerate(found):
            assert holds(interval, values[at]), (program.nodes[at], interval, values[at], row)
        for at in sure.holds:
            assert values[at] is True, (program.nodes[at], row)
        for at, defined in zip(partial, values[len(found) :], strict=True):
            assert defined, (program.nodes[at], row)


def in_range(program, sample, evaluator):
    """Return the rows that every declared range allows."""
    values_of = evaluator(program.nodes, program.inputs, program.params)
    for row in sample:
        values = values_of(*row, *program.params.values())
        if all(values[guard.node] for guard in program.ranges):
            yield row


@examples(0.4)
@given(case=readable(), seed=st.integers(0, 2**32))
def test_what_is_known_of_rows_in_range_is_true_of_them(evaluator, case, seed):
    compiled = case.reward.compile("python")
    sample = [compiled.convert_row(as_inputs(row)) for row in rows(case, seed, 12, bad=0)]
    for program in (case.reward.program, case.reward.program.bind()):
        allowed = list(in_range(program, sample, evaluator))
        check(program, allowed, evaluator, ranges=True)


def anything(field, chance):
    """Return what an array may hold where nothing is checked."""
    if field.kind == "flag":
        return chance.random() < 0.5
    if field.kind == "category":
        return chance.choice((-1, 0, 1, len(field.labels) - 1, len(field.labels), 99))
    return chance.choice((*ODD, chance.uniform(-5, 5)))


@examples(0.4)
@given(case=readable(), seed=st.integers(0, 2**32))
def test_what_is_known_without_ranges_is_true_of_any_numbers_at_all(evaluator, case, seed):
    chance = random.Random(seed)
    for program in (case.reward.program, case.reward.program.bind()):
        sample = [tuple(anything(field, chance) for field in program.inputs.values()) for _ in range(12)]
        check(program, sample, evaluator, ranges=False)


@pytest.mark.parametrize(
    ("parts", "low", "high"),
    [
        ({"low": 0, "high": 2}, 0.0, 2.0),
        ({"low": -1, "infinite": True}, -1.0, math.inf),
        ({"low": 0, "high": 9, "infinite": True}, 0.0, math.inf),
        ({"values": (3, -1, 2)}, -1.0, 3.0),
        ({"flag": True}, 0.0, 1.0),
        ({"values": ("a", "b", "c")}, 0.0, 2.0),
        ({"low": 0, "high": 1, "outside": "allow"}, -1.7976931348623157e308, 1.7976931348623157e308),
        ({}, -1.7976931348623157e308, 1.7976931348623157e308),
    ],
)
def test_a_field_s_interval_is_what_it_lets_in(parts, low, high):
    assert bound_field(Field("x", **parts)) == Interval(low, high)


@pytest.mark.parametrize("outside", ["clip", "allow"])
def test_an_infinite_field_without_a_checked_range_may_be_infinite(outside):
    field = Field("x", low=0, high=1, infinite=True, outside=outside)
    assert bound_field(field).high == math.inf
    reward = reward_from("def f(x): return math.floor(x)", field)
    if outside == "clip":
        assert reward.score(x=math.inf).total == 1.0
    else:
        with pytest.raises(OutsideDomain, match="takes an infinite number"):
            reward.score(x=math.inf)


UNIT = Field("x", low=0, high=1)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("2 * x - 1", -1, 1),
        ("-x", -1, 0),
        ("abs(x - 0.25)", 0, 0.75),
        ("1 / (x + 1)", 0.5, 1),
        ("math.sqrt(x)", 0, 1),
        ("math.exp(x)", 1, math.e),
        ("math.tanh(x)", 0, math.tanh(1)),
        ("math.acos(x / 2)", math.acos(0.5), math.acos(0)),
        ("math.acos(2 * x)", 0, math.acos(0)),
        ("min(x, 0.5)", 0, 0.5),
        ("max(x, 0.5)", 0.5, 1),
        ("x if x > 0.5 else -2", -2, 1),
        ("(3, 4, 5)[round(x)]", 3, 4),
        ("x > 0.5", 0, 1),
        ("math.floor(2.5 * x)", 0, 2),
        ("math.sin(9 * x)", -1, 1),
    ],
)
def test_bounds_are_as_tight_as_the_operations_allow(text, low, high):
    program = reward_from(f"def f(x): return {text}", UNIT).program
    found = bound_nodes(program)[program.outputs["total"]]
    assert found == pytest.approx(Interval(low, high))


def test_a_clamped_reward_lies_within_its_clamps():
    program = reward_from("def f(x): return 100 * x - 50", UNIT, low=-1, high=2).program
    assert bound_nodes(program)[program.outputs["total"]] == Interval(-1, 2)


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("1 / (x + 1)", True),
        ("1 / x", False),
        ("math.log(x + 0.5)", True),
        ("math.log(x)", False),
        ("math.sqrt(x)", True),
        ("math.sqrt(x - 0.5)", False),
        ("math.exp(x)", True),
        ("math.exp(1000 * x)", False),
        ("(1, 2)[round(x)]", True),
        ("(1, 2)[x]", False),
        ("(1, 2)[round(2 * x)]", False),
        ("math.floor(x)", True),
        ("7 % (x + 1)", True),
        ("7 // (x - 1)", False),
    ],
)
def test_an_operation_is_surely_defined_where_the_ranges_say_so(text, sure):
    program = reward_from(f"def f(x): return {text}", UNIT).program.bind()
    partial = {at for at, node in enumerate(program.nodes) if node.partial}
    assert (partial <= analyse_program(program).defined) is sure
    assert not partial & analyse_program(program, ranges=False).defined or "round" in text or "floor" in text


def test_the_smallest_interval_around_two():
    assert join_intervals(Interval(0, 1), Interval(-2, 0.5)) == Interval(-2, 1)
    assert Interval(0, 1).finite
    assert not Interval(0, math.inf).finite
    assert not ANYTHING.finite


@pytest.mark.parametrize("line", ["i = i + 0", "i = min(i, i)"])
def test_whether_an_index_is_whole_is_one_loop_too(line):
    lines = f"    {line}\n" * 1200
    reward = reward_from(f"def f(x):\n    i = x\n{lines}    return (1, 2, 3)[i]\n", Field("x", values=(0, 1, 2)))
    assert reward.score(x=2).total == 3.0
